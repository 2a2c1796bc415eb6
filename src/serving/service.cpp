// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/service.hpp"

#include "data/cache/cache_watch.hpp"
#include "producer/setting_values.hpp"
#include "serving/cache_report.hpp"
#include "serving/linger_clock.hpp"

#include <fmt/format.h>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/memory_left.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace batchcast::inline v0_1::serving {
namespace {

constexpr int look_ms = 100;
constexpr int end_look_ms = 5;  // once the command is told to end
constexpr int farewell_ms = 500;
// The whole end is to take less than a second.
constexpr double patience_s = 0.5;

/// Before its last epoch was made.
bool was_ended(StreamState state) {
  return state == StreamState::stopped || state == StreamState::failed;
}

bool observes(const ConsumerInfo& consumer) { return consumer.state == ConsumerState::observing; }

/// The ranks of a group are one trainer.
std::size_t trainers_of(const ProducerStats& stream) {
  std::size_t trainers = 0;
  std::set<std::string> groups;
  for (const ConsumerInfo& consumer : stream.consumers) {
    if (observes(consumer)) continue;
    if (consumer.group.world == 0 || groups.insert(consumer.group.name).second) ++trainers;
  }
  return trainers;
}

/// "  ranks 1, 3 of `resnet` are missing"; empty where no group waits for any.
std::string forming_text(const ProducerStats& stream) {
  constexpr std::size_t named_max = 4;
  if (stream.forming.empty()) return {};
  const FormingGroup& group = stream.forming.front();
  std::string text = group.missing.size() == 1 ? "  rank" : "  ranks";
  for (std::size_t i = 0; i < std::min(group.missing.size(), named_max); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", group.missing[i]);
  }
  return text + fmt::format("{} of `{}` {} missing", group.missing.size() > named_max ? ", …" : "",
                            printable(group.name), group.missing.size() == 1 ? "is" : "are");
}

/// Of the consumers that gate the producer, the one furthest behind; null if none gates it.
const ConsumerInfo* slowest_of(const ProducerStats& stream) {
  const ConsumerInfo* slowest = nullptr;
  for (const ConsumerInfo& consumer : stream.consumers) {
    if (consumer.pace != Pace::lockstep || consumer.state == ConsumerState::paused ||
        observes(consumer)) {
      continue;
    }
    if (slowest == nullptr || consumer.lag > slowest->lag) slowest = &consumer;
  }
  return slowest;
}

std::string limit_text(const ProducerStats& stream, const FeederStats& feeder) {
  const ConsumerInfo* slowest = slowest_of(stream);
  switch (feeder.bottleneck) {
    case Bottleneck::none:
      return "";
    case Bottleneck::reading:
      return "  limited by reading";
    case Bottleneck::making:
      return "  limited by decoding";
    case Bottleneck::consumers:
      break;
  }
  if (slowest == nullptr) return trainers_of(stream) == 0 ? "" : "  no trainer asks for more";
  if (stream.waits_for == WaitsFor::demand) return "  as far ahead as it may be (--ahead)";
  const bool moves =
      slowest->state != ConsumerState::stopped && slowest->state != ConsumerState::stalled;
  return fmt::format("  limited by {} ({} behind{})", slowest->name, count_text(slowest->lag),
                     moves ? "" : fmt::format(", {}", name_of(slowest->state)));
}

/// Of a stream at rest, which consumers it waits for; empty where it goes on.
std::string waiting_text(const ProducerStats& stream, const FeederStats& feeder,
                         std::uint32_t wait_for) {
  if (stream.samples_per_second > 0) return {};
  const std::size_t trainers = trainers_of(stream);
  if (stream.state == StreamState::starting && trainers < wait_for) {
    return text("  waits for {} (--wait-for {}; a group counts as one)",
                counted(wait_for - trainers, trainers == 0 ? "consumer" : "more consumer"),
                wait_for);
  }
  // In its first second no rate is known yet.
  const bool rests = feeder.workers == 0 || feeder.bottleneck == Bottleneck::consumers;
  if (trainers != 0 || stream.published == 0 || !rests) return {};
  const std::uint64_t ready = std::min(stream.published, stream.rings.front().capacity);
  return text("  waits for a consumer, {} made", counted(ready, "sample"));
}

/// What the stream does, or what it waits for.
std::string work_text(const ProducerStats& stream, const FeederStats& feeder,
                      std::optional<std::uint64_t> left_in_epoch) {
  std::string text =
      "  " + counted(static_cast<std::uint64_t>(stream.samples_per_second), "sample") + "/s";
  if (left_in_epoch) {
    text += left_text(static_cast<double>(*left_in_epoch) / stream.samples_per_second);
  }
  text += "  " + counted(trainers_of(stream), "consumer") + limit_text(stream, feeder);
  if (feeder.workers != 0) text += "  " + counted(feeder.workers, "worker");
  return text;
}

/// Of a stream whose last epoch is made: who still reads.
std::string draining_text(const ProducerStats& stream) {
  const std::size_t trainers = trainers_of(stream);
  std::string text = "  every epoch is made";
  if (trainers == 0) {
    const std::uint64_t ready = std::min(stream.published, stream.rings.front().capacity);
    return text + "  waits for a consumer, " + counted(ready, "sample") + " in memory";
  }
  text += "  " + counted(trainers, "consumer");
  if (const ConsumerInfo* const slowest = slowest_of(stream); slowest && slowest->lag != 0) {
    text += fmt::format("  {} has {} to read", slowest->name, counted(slowest->lag, "sample"));
  }
  return text;
}

}  // namespace

std::string progress_text(const Progress& progress) {
  const ProducerStats& stream = progress.stream;
  const std::uint64_t per_epoch = progress.samples_per_epoch;
  std::string bad = bad_samples_text(progress.bad_samples, progress.stand_ins);
  if (!bad.empty()) bad = "  " + bad;
  if (stream.state == StreamState::draining) {
    return std::string(name_of(stream.state)) + draining_text(stream) + bad;
  }
  std::string text = fmt::format("{}  epoch {}", name_of(stream.state), stream.epoch);
  std::optional<std::uint64_t> left_in_epoch;
  if (per_epoch == 0) {
    text += "  " + counted(stream.published, "sample");
  } else {
    std::uint64_t into_epoch = stream.published % per_epoch;
    // Where nothing follows, the last epoch is whole rather than the next one empty.
    if (into_epoch == 0 && stream.published != 0 && stream.epoch * per_epoch < stream.published) {
      into_epoch = per_epoch;
    }
    text += " " + bar_text(into_epoch, per_epoch);
    left_in_epoch = per_epoch - into_epoch;
  }
  const std::string waiting = waiting_text(stream, progress.feeder, progress.wait_for);
  text += waiting.empty() ? work_text(stream, progress.feeder, left_in_epoch) : waiting;
  return text + forming_text(stream) + cache_note(progress.cache) + bad;
}

Service::Service(const Parts& parts)
    : asked_to_end_(parts.asked_to_end),
      producer_(parts.producer),
      dataset_(parts.dataset),
      wait_for_(parts.wait_for),
      idle_exit_s_(parts.idle_exit_s),
      wish_(parts.wish) {
  if (parts.talks) progress_.emplace();
  add_settings();
}

Service::~Service() {
  for (const char* name : {"idle_exit", "workers"}) producer_.remove_setting(name);
}

void Service::add_settings() {
  producer_.add_setting({"workers", {}, {}});  // the feeder's, once it is there
  producer_.add_setting({"idle_exit",
                         [this] {
                           const auto seconds = idle_exit_s();
                           return seconds ? detail::seconds_text(*seconds) : std::string("none");
                         },
                         [this](const std::string& value) {
                           constexpr double longest_s = 1e9;
                           std::optional<double> seconds;
                           if (value != "none")
                             seconds = detail::seconds_setting("idle_exit", value, 0, longest_s);
                           const std::lock_guard lock(noting_);
                           idle_exit_s_ = seconds;
                         }});
}

std::optional<double> Service::idle_exit_s() const {
  const std::lock_guard lock(noting_);
  return idle_exit_s_;
}

void Service::wait_for_a_job() {
  while (!asked_ && !made_way_) {
    const ProducerStats stats = producer_.stats();
    if (was_ended(stats.state) || trainers_of(stats) != 0) return;
    look();
    show({});
  }
}

bool Service::makes_way() {
  if (wish_ == nullptr || !wish_->is_there()) return false;
  tell("its samples are laid out again for the job of the trainer that said hello");
  made_way_ = true;
  producer_.make_way("its samples are laid out again");
  return true;
}

bool Service::produce(const FeederOptions& options) {
  if (dataset_.grid()) wait_for_a_job();
  if (made_way_ || was_ended(producer_.state())) return true;
  feeder_ = started_feeder(options);
  warn_of_idle_exit();
  std::uint64_t ended_ns = 0;
  while (!ended()) {
    look();
    const FeederStats stats = feeder_->stats();
    note(stats);
    show(stats);
    watch_cache();
    if (!ended_in_vain(ended_ns)) continue;
    if (progress_) progress_->finish();
    return false;
  }
  watch_cache();
  note({});
  feeder_.reset();
  return true;
}

FeederStats Service::feeder_stats() const {
  const std::lock_guard lock(noting_);
  return noted_;
}

void Service::note(const FeederStats& stats) {
  const std::lock_guard lock(noting_);
  noted_ = stats;
}

/// Prints a separate line, above that of the progress.
void Service::tell(const std::string& line) {
  if (!progress_) return;
  progress_->finish();
  say(line + "\n");
}

/// Looks once a second whether the cache still pays. Says once that it keeps nothing more.
void Service::watch_cache() {
  if (told_of_cache_) return;
  CacheStats cache = dataset_.cache_stats();
  if (!cache.exists) return;
  const std::uint64_t now = now_ns();
  const bool is_due = seconds_from_ns(now - cache_seen_ns_) >= 1;
  if (is_due && cache.stopped.empty() && cache.is_in_memory) {
    cache_seen_ns_ = now;
    cache.stopped =
        detail::loss_of(cache, memory_left().bytes(), dataset_.maker().samples_per_epoch());
    if (!cache.stopped.empty()) dataset_.pipeline()->stop_caching(cache.stopped);
  }
  if (cache.stopped.empty()) return;
  told_of_cache_ = true;
  tell(text("the cache keeps nothing more: {}", cache.stopped));
}

std::unique_ptr<Feeder> Service::started_feeder(const FeederOptions& options) const {
  try {
    return std::make_unique<Feeder>(producer_, dataset_.maker(), options);
  } catch (...) {
    // Else the producer's end would wait for consumers where all samples were made by then.
    producer_.stop("its workers could not be started");
    throw;
  }
}

bool Service::ended() const {
  try {
    return feeder_->wait(0);
  } catch (...) {
    // The door server tells consumers that are just coming why the stream failed.
    std::this_thread::sleep_for(std::chrono::milliseconds(farewell_ms));
    throw;
  }
}

bool Service::ended_in_vain(std::uint64_t& since_ns) const {
  if (made_way_ && !asked_) return false;  // what is being made now would be waited for anyway
  const std::uint64_t now = now_ns();
  if (since_ns != 0) return seconds_from_ns(now - since_ns) > patience_s;
  if (asked_ || was_ended(producer_.state())) since_ns = now;
  return false;
}

bool Service::linger(double linger_s) {
  LingerClock clock(linger_s);
  const ProducerStats made = producer_.stats();
  const bool is_held_back = made.state == StreamState::starting;  // by --wait-for
  if (!was_ended(made.state) && trainers_of(made) == 0 && (is_held_back || linger_s != 0)) {
    tell(
        fmt::format("every epoch is made and waits in memory for consumers ({}, "
                    "`batchcast stop {}`)",
                    is_held_back ? "--wait-for" : "--linger", producer_.stream()));
  }
  for (;;) {
    const StreamState state = producer_.state();
    if (was_ended(state) || asked_ || made_way_) return false;
    if (producer_.finish(look_ms)) return true;
    look();
    show({});
    if (!clock.is_over(state)) continue;
    producer_.stop("its producer ended");
    return producer_.state() == StreamState::finished;
  }
}

void Service::look() {
  if (asked_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(end_look_ms));
    return;
  }
  const std::string why = asked_to_end_(made_way_ ? end_look_ms : look_ms);
  if (why.empty()) {
    if (!made_way_ && !makes_way()) end_if_idle();
    return;
  }
  asked_ = true;
  producer_.stop(why);
}

void Service::warn_of_idle_exit() {
  const std::uint32_t to_come = producer_.stats().consumers_to_come;
  const std::optional<double> idle_exit_s = this->idle_exit_s();
  if (!idle_exit_s || to_come == 0) return;
  tell(
      fmt::format("--idle-exit counts from now on, also while the {} of --wait-for {} to come: "
                  "the stream ends unless a consumer attaches within {:g} s",
                  counted(to_come, "consumer"), to_come == 1 ? "is" : "are", *idle_exit_s));
}

void Service::end_if_idle() {
  const std::optional<double> idle_exit_s = this->idle_exit_s();
  if (!idle_exit_s) return;
  const std::string why = fmt::format("no consumer was attached for {:g} s", *idle_exit_s);
  const std::uint32_t to_come = wait_for_ == 0 ? 0 : producer_.stats().consumers_to_come;
  const std::string others =
      to_come == 0 ? "" : text(", with {} of --wait-for still to come", to_come);
  if (!producer_.stop_if_unattended(*idle_exit_s, text("{} (--idle-exit){}", why, others))) return;
  tell(text("{}: ending, as --idle-exit asks", why));
}

void Service::show(const FeederStats& stats) {
  if (!progress_ || !progress_->due()) return;
  progress_->show(progress_text({producer_.stats(), stats, dataset_.maker().samples_per_epoch(),
                                 dataset_.bad_samples(), wait_for_, dataset_.stand_ins(),
                                 dataset_.cache_stats()}));
}

}  // namespace batchcast::inline v0_1::serving

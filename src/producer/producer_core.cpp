// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/producer_core.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include "control/zmq_threads.hpp"
#include "life/life_files.hpp"
#include "producer/awaited.hpp"
#include "producer/producer_settings.hpp"
#include "producer/statistics.hpp"
#include "producer/take_name.hpp"

#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

LogCallback log_of(const ProducerOptions& options) {
  return [log = options.log, about = text("stream `{}`: ", options.stream)](
             LogLevel level, std::string_view text) { report(log, level, text, about); };
}

StreamDirectory::Options directory_options(const ProducerOptions& options) {
  StreamDirectory::Options directory;
  directory.stream = options.stream;
  directory.base = options.directory;
  directory.allow_uids = options.allow_uids;
  directory.log = options.log;
  return directory;
}

/// Where its trainers go on with the next producer if this one is killed.
std::optional<LifeBook> life_of(const BoardHead& head, const std::string& directory,
                                const ProducerOptions& options, const LogCallback& log) {
  if (head.pure == 0 || head.samples_per_epoch == 0 || is_none(head.identity)) {
    remove_lives(directory);
    return std::nullopt;
  }
  Life life;
  life.identity = to_hex(head.identity);
  life.incarnation = to_hex(head.incarnation);
  life.pid = head.producer_pid;
  life.started = started_here(options.started_with);
  if (options.grid) life.grid = options.grid->to_json();
  return std::optional<LifeBook>(std::in_place, directory, std::move(life), log);
}

}  // namespace

ProducerCore::ProducerCore(ProducerOptions options, const DeviceRingMaker& devices)
    : options_(checked(std::move(options))),
      log_(log_of(options_)),
      began_ns_(now_ns()),
      exceptions_(std::uncaught_exceptions()),
      directory_(take_name(directory_options(options_))),
      rings_(
          options_, log_,
          [this](ConsumerKey key, const std::string& reason) { tell_evicted(key, reason); },
          devices,
          [directory = directory_.paths().directory] { return who_reads_on_gpus(directory); }),
      life_(life_of(rings_.host().board().head(), directory_.paths().directory, options_, log_)),
      reception_({options_, rings_, rate_, log_, life_ ? &*life_ : nullptr}),
      tracing_(rings_),
      commands_(*this) {
  if (life_) {
    settings_.go_on(
        life_->settings(),
        [this](const auto& values, std::uint64_t change) { life_->keep_settings(values, change); },
        log_);
  } else {
    settings_.go_on({}, {}, log_);
  }
  add_producer_settings(settings_, rings_, options_);
  constexpr unsigned own_threads = 3;  // bc-door, bc-control, bc-messages
  rehearse_threads(own_threads + zmq_threads, zmq_bytes,
                   text("the producer of stream `{}`", options_.stream));
  try {
    open_control();
    // The door comes last. A door that answers says that the stream is served, and consumers may
    // come in and rely on the rest.
    open_door();
  } catch (...) {
    take_down();  // a command may be under way
    throw;
  }
}

void ProducerCore::open_control() {
  ControlServer::Options control;
  control.control_path = directory_.paths().control;
  control.events_path = directory_.paths().events;
  control.handle = [this](std::string_view command) { return commands_.answer(command); };
  control.statistics = [this] { return commands_.statistics(); };
  control.owns_paths = [this] { return directory_.intact(); };
  control.log = options_.log;
  control_ = std::make_unique<ControlServer>(std::move(control));
}

void ProducerCore::open_door() {
  DoorServer::Options door;
  door.layout_version = layout_version;
  door.log = options_.log;
  door_server_ = std::make_unique<DoorServer>(directory_, reception_, std::move(door));
  door_.store(door_server_.get());
}

ProducerCore::~ProducerCore() { take_down(); }

void ProducerCore::take_down() noexcept {
  // While the rest is taken down, no consumer may come in and no command be answered. Mirrors may
  // evict to the last.
  control_.reset();
  if (door_server_) door_server_->stop();
  rings_.end_mirrors();
  door_.store(nullptr);
  door_server_.reset();
  if (life_ && ended_) life_->end();
}

void ProducerCore::tell_evicted(ConsumerKey key, const std::string& reason) {
  log_(LogLevel::warning, text("evicted a consumer: {}", reason));
  if (DoorServer* door = door_.load()) door->evict(key, reason);
}

bool ProducerCore::evict(std::string_view consumer, const std::string& reason) {
  check_process();  // the consumer is the parent's
  const auto key = rings_.evict(consumer);
  if (!key) return false;
  if (DoorServer* door = door_.load()) door->evict(*key, reason);
  return true;
}

ProducerStats ProducerCore::stats() const {
  check_process();  // a thread of the parent may have held a lock when it forked
  ProducerStats stats = statistics_of(rings_, rate_.per_second(), stopped_.load());
  stats.forming = reception_.forming();
  stats.uptime_seconds = seconds_from_ns(now_ns() - began_ns_);
  const std::lock_guard lock(reporting_);
  if (making_) stats.making = making_();
  return stats;
}

StreamState ProducerCore::state() const {
  check_process();
  return state_of(rings_, stopped_.load());
}

void ProducerCore::report_making(std::function<MakingStats()> report) {
  if (in_forked_child()) return;  // the parent may have held the lock as it forked
  const std::lock_guard lock(reporting_);
  making_ = std::move(report);
}

std::optional<LoanContents> ProducerCore::loan(std::uint64_t samples_max, int timeout_ms) {
  check_process();
  if (samples_max == 0) throw InvalidArgument("batchcast: a loan of 0 samples.");
  LoanContents loan;
  switch (rings_.heads().lend(samples_max, timeout_ms, loan)) {
    case Claim::granted:
      return loan;
    case Claim::timed_out:
      break;
    case Claim::ended:
      over_.store(true, std::memory_order_relaxed);
      break;
  }
  return std::nullopt;
}

void ProducerCore::check_process() const {
  if (!in_forked_child()) return;
  throw Forked(text(
      "batchcast: this process was forked from the producer of stream `{}`, and cannot serve it.",
      options_.stream));
}

bool ProducerCore::finish() {
  constexpr int look_ms = 50;
  if (finish(0)) return true;
  // `wait_for` holds it back.
  while (rings_.host().writer().state() == StreamState::starting) {
    if (finish(look_ms)) return true;
  }
  return finish(options_.linger_ms);
}

bool ProducerCore::finish(int linger_ms) {
  check_process();
  rings_.finish();
  over_.store(true, std::memory_order_relaxed);
  return rings_.drain(Deadline(linger_ms), stopped_);
}

void ProducerCore::stop(const std::string& reason) noexcept {
  if (in_forked_child()) return;  // the stream is the parent's, which still runs
  stopped_.store(true);
  rings_.stop(reason);
  over_.store(true, std::memory_order_relaxed);
}

void ProducerCore::give_up_name(const std::string& reason) noexcept {
  if (in_forked_child()) return;
  stop(reason);
  const std::lock_guard lock(giving_up_);
  control_->stop();
  door_server_->stop();
  note_end();
  if (life_) life_->end();
  directory_.leave();
}

void ProducerCore::make_way(const std::string& reason) noexcept {
  if (in_forked_child()) return;
  const std::lock_guard lock(giving_up_);
  // No trainer hears that the stream ended: another producer goes on with it.
  control_->stop();
  door_server_->stop();
  stop(reason);
  ended_ = true;
  if (life_) life_->end();
  directory_.leave();
}

bool ProducerCore::stop_if_unattended(std::uint64_t for_ns, const std::string& reason) noexcept {
  const bool is_awaited = reception_.has_waiting_ranks() || reception_.awaits_members();
  if (in_forked_child() || is_awaited) return false;
  if (!rings_.host().writer().stop_if_unattended(for_ns, reason)) return false;
  stopped_.store(true);
  const std::lock_guard lock(noting_);
  if (unattended_.empty()) unattended_ = reason;
  return true;
}

void ProducerCore::end() noexcept {
  RingWriter& writer = rings_.host().writer();
  const bool unwinds = std::uncaught_exceptions() > exceptions_;
  try {
    const StreamState state = writer.state();
    const bool made = state == StreamState::draining || state == StreamState::finished;
    if (made || (!has_ended(state) && writer.all_made())) {
      finish_at_end(unwinds);
    } else if (!has_ended(state)) {
      cut_short(unwinds, "before its last epoch");
    }
    note_end();
  } catch (const std::exception& error) {
    log_(LogLevel::error, text("could not end the stream in order: {}", error.what()));
  }
}

void ProducerCore::note_end() {
  ended_ = true;
  const RingWriter& writer = rings_.host().writer();
  const auto refusal = writer.refusal_of_newcomers();
  if (writer.state() == StreamState::failed) {
    if (refusal) directory_.note_failure(refusal->text);
    return;
  }
  directory_.forget_log();
  if (!refusal) return;
  // Of a stream that came to its end and was not read, the writer has no reason.
  const bool is_unread = refusal->reason != NotAdmitted::Reason::finished && writer.all_made();
  if (!is_unread) return directory_.note_end(refusal->text);
  const std::lock_guard lock(noting_);
  directory_.note_end(unattended_.empty() ? "its last epoch was made" : unattended_);
}

void ProducerCore::finish_at_end(bool unwinds) {
  constexpr int silent_ms = 2'000;
  // The thread that waits for the exception may hold the batches that would be waited for.
  const int linger_ms = unwinds ? 0 : options_.linger_ms;
  const bool may_be_long = linger_ms < 0 || linger_ms > silent_ms;
  if (!finish(may_be_long ? silent_ms : linger_ms) && may_be_long && !stopped_.load()) {
    log_(LogLevel::warning, awaited_text(stats(), options_.stream));
    static_cast<void>(finish(linger_ms < 0 ? linger_ms : linger_ms - silent_ms));
  }
  // `wait_for` held back the first publication to the last.
  if (!has_ended(rings_.host().writer().state())) {
    cut_short(unwinds, "before the consumers that it waited for had come");
  }
}

void ProducerCore::cut_short(bool unwinds, const std::string& when) noexcept {
  if (unwinds) {
    rings_.fail("the producer ended with an exception");
  } else {
    rings_.stop(text("the producer ended {}", when));
  }
}

}  // namespace batchcast::inline v0_1::detail

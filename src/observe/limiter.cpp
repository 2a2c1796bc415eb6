// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/limiter.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace batchcast::inline v0_1::observe {
namespace {

// A trainer that waits less than this share of its time has its samples when it asks.
constexpr double hardly_waits = 0.1;
// Differences between trainers below this are noise.
constexpr double notable = 0.05;
// Workers that wait more than this share of their time could make more.
constexpr double workers_rest = 0.5;

const Trainer* find(const Stream& stream, std::uint64_t id) noexcept {
  for (const Trainer& trainer : stream.trainers) {
    if (trainer.id == id) return &trainer;
  }
  return nullptr;
}

/// The earlier look, where the same producer gave it; else one at its beginning.
const Stream& beginning_of(const Stream& before, const Stream& now) noexcept {
  static const Stream none;
  const bool is_same = before.pid == now.pid && before.uptime_seconds <= now.uptime_seconds;
  return is_same ? before : none;
}

double time_between(const Stream& before, const Stream& now) noexcept {
  return now.uptime_seconds - before.uptime_seconds;
}

double growth(double before, double now) noexcept { return now > before ? now - before : 0; }

bool reads(const Trainer& trainer) noexcept {
  return trainer.state == "running" || trainer.state == "skipping" || trainer.state == "stalled" ||
         trainer.state == "stopped";
}

std::string percent(double share) {
  return text("{}%", static_cast<std::uint64_t>(std::lround(100 * share)));
}

/// A trainer between two looks.
struct Pace {
  const Trainer* trainer = nullptr;
  double wait_share = 0;
  double waited_for = 0;       ///< seconds
  double busy_per_sample = 0;  ///< seconds of the trainer's work; 0 where it had no sample
};

Pace pace_of(const Stream& before, const Stream& now, const Trainer& trainer) {
  Pace pace{&trainer, wait_share_of(before, now, trainer), 0, 0};
  const Trainer* const earlier = find(before, trainer.id);
  const Trainer none;
  const Trainer& from = earlier != nullptr ? *earlier : none;
  pace.waited_for = growth(from.waited_for_seconds, trainer.waited_for_seconds);
  const double samples =
      trainer.samples > from.samples ? static_cast<double>(trainer.samples - from.samples) : 0;
  if (samples > 0) {
    pace.busy_per_sample = time_between(before, now) * (1 - pace.wait_share) / samples;
  }
  return pace;
}

Limit ended(const Stream& now) {
  if (now.state == "draining") {
    return {Limiter::ended, "", "every epoch is made; trainers read what is left"};
  }
  return {Limiter::ended, "", text("the stream is {}", now.state)};
}

Limit stands_still(const Stream& now, const Trainer& trainer) {
  if (trainer.state == "stopped") {
    return {Limiter::trainer, trainer.name,
            text("`{}` is stopped, as by SIGSTOP: `kill -CONT {}` resumes it", trainer.name,
                 trainer.pid)};
  }
  return {Limiter::trainer, trainer.name,
          text("`{}` asks for no batch and holds the others up: `batchcast evict {} {}`",
               trainer.name, now.name, trainer.name)};
}

/// The trainer that waits least, and how much longer it takes for a sample than the others.
Limit limited_by_trainers(const std::vector<Pace>& paces) {
  const Pace& slowest =
      *std::max_element(paces.begin(), paces.end(), [](const Pace& a, const Pace& b) {
        if (a.waited_for != b.waited_for) return a.waited_for < b.waited_for;
        return a.wait_share > b.wait_share;
      });
  double others = 0;
  double others_wait = 0;
  std::size_t count = 0;
  for (const Pace& one : paces) {
    if (&one == &slowest || one.busy_per_sample <= 0) continue;
    others += one.busy_per_sample;
    others_wait += one.wait_share;
    ++count;
  }
  if (count != 0 && slowest.busy_per_sample > 0) {
    others /= static_cast<double>(count);
    others_wait /= static_cast<double>(count);
    const double longer = slowest.busy_per_sample / others - 1;
    if (longer > notable && others_wait > notable) {
      return {Limiter::trainer, slowest.trainer->name,
              text("`{}` takes {} longer than the others, who wait for it", slowest.trainer->name,
                   percent(longer))};
    }
  }
  if (paces.size() == 1) {
    return {Limiter::trainers, "",
            text("`{}` limits: its samples are ready when it asks", slowest.trainer->name)};
  }
  return {Limiter::trainers, "", "the trainers limit: their samples are ready when they ask"};
}

/// What workers did between two looks.
struct Work {
  double reading = 0;
  double making = 0;
  double waiting = 0;
  double decoding = 0;  ///< of making

  [[nodiscard]] double all() const noexcept { return reading + making + waiting; }
};

Work work_of(const Stream& before, const Stream& now) {
  const Making none;
  const Making& making = *now.making;
  const Making& from = before.making ? *before.making : none;
  return {growth(from.reading_seconds, making.reading_seconds),
          growth(from.making_seconds, making.making_seconds),
          growth(from.waiting_seconds, making.waiting_seconds),
          growth(from.decoding_seconds.value_or(0), making.decoding_seconds.value_or(0))};
}

/// Whole processors that were idle.
std::uint64_t idle_count(const Stream& now, double idle_processors) noexcept {
  const auto processors = static_cast<double>(now.processors);
  return static_cast<std::uint64_t>(std::min(std::floor(idle_processors + 0.25), processors));
}

/// What spares the processors work. Only images are decoded, kept, and made on GPUs.
std::string sparing_text(const Making& making, Limiter by) {
  if (!making.decoding_seconds) return "";
  const bool keeps_more = by == Limiter::decoding && !making.has_cache;
  return text(": {}`--finish-on-gpu` leaves the end of each image to a GPU",
              keeps_more ? "`--cache` spares decoding, " : "");
}

std::string processors_text(const Stream& now, double idle_processors, Limiter by) {
  if (idle_processors < 0) return "";
  const Making& making = *now.making;
  const std::uint64_t count = idle_count(now, idle_processors);
  if (count == 0) return text("; no processor is idle{}", sparing_text(making, by));
  const std::string are =
      text("{} of {} processors {} idle", count, now.processors, count == 1 ? "is" : "are");
  if (making.workers_auto) return text("; {}, and the producer adds workers by itself", are);
  return text("; {}: `batchcast set {} workers={}`", are, now.name, making.workers + count);
}

/// Both sides wait: samples go through the ring in turns.
Limit limited_by_room(const Stream& now, const Work& work, double idle_processors) {
  if (now.waits_for == "demand") {
    return {
        Limiter::demand, "",
        text("as far ahead as the stream may be: `batchcast set {} ahead=N` changes it", now.name)};
  }
  std::string words = text("workers wait for room {} of their time, and trainers for samples",
                           percent(work.waiting / work.all()));
  if (idle_processors >= 0 && idle_count(now, idle_processors) == 0) {
    words += "; no processor is idle to run both";
  } else {
    words += ": a larger ring (`--memory`) or smaller batches let both go on";
  }
  return {Limiter::room, "", words};
}

Limit limited_by_producer(const Stream& before, const Stream& now, double idle_processors) {
  const Work work = work_of(before, now);
  if (work.all() <= 0) return {};  // their numbers are those of a moment ago
  if (work.waiting > workers_rest * work.all()) return limited_by_room(now, work, idle_processors);
  if (work.reading > work.making) {
    const double share = work.reading / (work.reading + work.making);
    return {Limiter::reading, "",
            text("reading limits: workers wait {} of their time for the source", percent(share))};
  }
  const bool decodes = work.decoding > work.making / 2;
  const Limiter by = decodes ? Limiter::decoding : Limiter::making;
  return {by, "",
          text("{}{}", decodes ? "decoding limits" : "making samples limits",
               processors_text(now, idle_processors, by))};
}

}  // namespace

std::string_view name_of(Limiter limiter) noexcept {
  constexpr std::array<std::string_view, limiters> names = {
      "nothing",  "ended",   "to_come", "demand",   "room",
      "trainers", "trainer", "reading", "decoding", "making"};
  const auto index = static_cast<std::size_t>(limiter);
  return index < names.size() ? names[index] : "?";
}

std::optional<double> rate_of(const Stream& earlier_look, const Stream& now,
                              const Trainer& trainer) {
  const Stream& before = beginning_of(earlier_look, now);
  const double seconds = time_between(before, now);
  if (seconds <= 0) return std::nullopt;
  const Trainer* const earlier = find(before, trainer.id);
  const std::uint64_t from = earlier != nullptr ? earlier->samples : 0;
  return trainer.samples > from ? static_cast<double>(trainer.samples - from) / seconds : 0;
}

double wait_share_of(const Stream& earlier_look, const Stream& now, const Trainer& trainer) {
  const Stream& before = beginning_of(earlier_look, now);
  const double seconds = time_between(before, now);
  if (seconds <= 0) return 0;
  const Trainer* const earlier = find(before, trainer.id);
  const Trainer none;
  const Trainer& from = earlier != nullptr ? *earlier : none;
  // A wait is counted once it ends.
  const bool waits_now = trainer.samples <= from.samples && earlier != nullptr &&
                         trainer.lag < std::max<std::uint64_t>(trainer.batch_size, 1);
  if (waits_now) return 1;
  return std::min(1.0, growth(from.wait_seconds, trainer.wait_seconds) / seconds);
}

double waited_for_share_of(const Stream& earlier_look, const Stream& now, const Trainer& trainer) {
  const Stream& before = beginning_of(earlier_look, now);
  const double seconds = time_between(before, now);
  if (seconds <= 0) return 0;
  const Trainer* const earlier = find(before, trainer.id);
  const double from = earlier != nullptr ? earlier->waited_for_seconds : 0;
  return std::min(1.0, growth(from, trainer.waited_for_seconds) / seconds);
}

Limit limit_of(const Stream& earlier_look, const Stream& now, double idle_processors) {
  const Stream& before = beginning_of(earlier_look, now);
  if (now.state != "running" && now.state != "starting") return ended(now);
  if (now.consumers_to_come != 0) {
    return {Limiter::to_come, "",
            text("waits for {} more {}, as --wait-for says", now.consumers_to_come,
                 now.consumers_to_come == 1 ? "trainer" : "trainers")};
  }
  std::vector<Pace> paces;
  for (const Trainer& trainer : now.trainers) {
    if (!reads(trainer)) continue;
    if (trainer.state == "stopped" || trainer.state == "stalled") return stands_still(now, trainer);
    paces.push_back(pace_of(before, now, trainer));
  }
  if (paces.empty()) return {Limiter::demand, "", "no trainer asks for samples"};
  if (time_between(before, now) <= 0) return {};
  const bool all_wait = std::all_of(paces.begin(), paces.end(),
                                    [](const Pace& one) { return one.wait_share >= hardly_waits; });
  if (!all_wait) return limited_by_trainers(paces);
  if (now.making) return limited_by_producer(before, now, idle_processors);
  return {Limiter::reading, "", "the program that makes the samples limits: all trainers wait"};
}

std::optional<double> separate_cpu_seconds(const Stream& stream) noexcept {
  if (!stream.making || stream.samples == 0) return std::nullopt;
  return stream.making->cpu_seconds * static_cast<double>(stream.delivered) /
         static_cast<double>(stream.samples);
}

std::optional<double> saved_cpu_seconds(const Stream& stream) noexcept {
  const auto separate = separate_cpu_seconds(stream);
  if (!separate) return std::nullopt;
  return std::max(0.0, *separate - stream.making->cpu_seconds);
}

}  // namespace batchcast::inline v0_1::observe

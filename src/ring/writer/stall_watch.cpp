// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/stall_watch.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <vector>

namespace batchcast::inline v0_1 {
namespace {

// A consumer that has held the stream up for this share of the stall time-out is shown as stalled.
constexpr std::uint64_t shown_as_stalled_share = 12;

std::string whole_seconds(std::uint64_t ns) {
  return text("{} s", static_cast<std::uint64_t>(seconds_from_ns(ns)));
}

/// For two ranks of a group that have released equally much. A rank that waits for the other has
/// taken its part already, or ended the epoch.
bool is_behind(const ConsumerRecord& one, const ConsumerRecord& other) {
  const std::uint64_t taken = ordered::get(one.desk->cursor);
  const std::uint64_t taken_by_other = ordered::get(other.desk->cursor);
  if (taken != taken_by_other) return taken < taken_by_other;
  return ordered::load_reading(*one.desk) != 0 && ordered::load_reading(*other.desk) == 0;
}

bool are_of_one_group(const ConsumerRecord& one, const ConsumerRecord& other) {
  return one.group.world != 0 && one.group.name == other.group.name;
}

}  // namespace

std::size_t StallWatch::slowest_trainer() const {
  const std::vector<ConsumerRecord>& records = state_.consumers.records();
  std::size_t slowest = ConsumerTable::none;
  std::uint64_t lowest = limits::position_max;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ConsumerRecord& one = records[i];
    if (one.paused || one.mirrors || one.pace != Pace::lockstep) continue;
    const auto position = state_.consumers.position_of(one);
    if (!position || *position > lowest) continue;
    const bool is_tie = slowest != ConsumerTable::none && *position == lowest;
    const bool ties_behind =
        is_tie && are_of_one_group(one, records[slowest]) && is_behind(one, records[slowest]);
    if (!is_tie || ties_behind) lowest = *position, slowest = i;
  }
  return slowest;
}

/// Whether the consumer, or its group, is the only trainer.
bool StallWatch::is_alone(const ConsumerRecord& consumer) const {
  const std::vector<ConsumerRecord>& records = state_.consumers.records();
  return std::all_of(records.begin(), records.end(), [&](const ConsumerRecord& one) {
    return !one.is_trainer() || &one == &consumer || are_of_one_group(one, consumer);
  });
}

std::optional<StallWatch::Stall> StallWatch::look() {
  const std::size_t at = slowest_trainer();
  // While the stream waits for consumers, those that have come cannot continue.
  const bool found = at != ConsumerTable::none && !state_.outcome.is_over() &&
                     !state_.attendance.first_publication_waits();
  const ConsumerRecord* consumer = found ? &state_.consumers.records()[at] : nullptr;
  const std::uint64_t next = state_.tickets.next();
  const bool ring_is_full =
      found && (state_.wake.waits_for_rows() ||
                saturating_add(consumer->released_min, state_.tickets.capacity()) <= next);
  // With several consumers, one that lags keeps no other from the samples that are made.
  const bool is_alone_at_limit =
      found && state_.gate.is_limited_by_demand() && !state_.gate.is_open() && is_alone(*consumer);
  if (!ring_is_full && !is_alone_at_limit) {
    consumer_id_ = progress_ = since_ns_ = reported_ns_ = 0;
    return std::nullopt;
  }
  const std::uint64_t now = now_ns();
  const std::uint64_t progress =
      ring_is_full ? consumer->released_min : ordered::get(consumer->desk->cursor);
  if (consumer_id_ != consumer->consumer_id || progress_ != progress) {
    consumer_id_ = consumer->consumer_id;
    progress_ = progress;
    since_ns_ = reported_ns_ = now;
    return std::nullopt;
  }
  if (now - reported_ns_ < state_.options.stall_timeout_ms * 1'000'000) return std::nullopt;
  reported_ns_ = now;
  return Stall{at, text_of(*consumer, now)};
}

std::string StallWatch::text_of(const ConsumerRecord& consumer, std::uint64_t now) const {
  const Desk& desk = *consumer.desk;
  const std::string held = text("{} has held the stream up for {}: it ", consumer.title(),
                                whole_seconds(now - since_ns_));
  // The desk keeps this value when the batch comes back.
  const std::uint64_t since = ordered::get(desk.oldest_lease_since_ns);
  if (ordered::get(desk.leases_held) == 0) {
    const std::string asked =
        text("{}does not ask for its next batch, at position {}", held, consumer.released_min);
    if (since == 0) return asked;  // it never had one
    return text("{}, and got its last one {} ago", asked,
                whole_seconds(saturating_sub(now, since)));
  }
  return text("{}holds a batch from position {} since {}", held, consumer.released_min,
              whole_seconds(saturating_sub(now, since)));
}

bool StallWatch::shows(const ConsumerRecord& consumer) const noexcept {
  const std::uint64_t shown_after_ns =
      state_.options.stall_timeout_ms * 1'000'000 / shown_as_stalled_share;
  return consumer_id_ == consumer.consumer_id &&
         (reported_ns_ != since_ns_ || saturating_sub(now_ns(), since_ns_) >= shown_after_ns);
}

}  // namespace batchcast::inline v0_1

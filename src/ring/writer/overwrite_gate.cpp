// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/overwrite_gate.hpp"

#include <algorithm>

namespace batchcast::inline v0_1 {

OverwriteGate::OverwriteGate(const WriterOptions& options, const EpochLedger& ledger,
                             const TicketQueue& tickets, const ConsumerTable& consumers,
                             const TrainerAttendance& attendance) noexcept
    : options_(options),
      ledger_(ledger),
      tickets_(tickets),
      consumers_(consumers),
      attendance_(attendance),
      demand_base_(options.start) {}

OverwriteGate::Positions OverwriteGate::positions() const {
  Positions all;
  const std::vector<ConsumerRecord>& records = consumers_.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ConsumerRecord& one = records[i];
    if (one.paused) continue;
    const auto position = consumers_.position_of(one);
    if (!position) {
      all.any_skips = true;
      continue;
    }
    if (one.pace == Pace::free) {
      if (all.foremost_free == none || *position > all.foremost_free_position) {
        all.foremost_free_position = *position, all.foremost_free = i;
      }
    } else if (all.slowest == none || *position < all.slowest_position) {
      all.slowest_position = *position, all.slowest = i;
    }
    // A consumer that keeps batches waits for the samples after them. Its desk is believed only as
    // far as the ring reaches, which no desk can change.
    const std::uint64_t had = std::clamp(ordered::get(one.desk->cursor), *position,
                                         saturating_add(*position, tickets_.capacity()));
    if (all.foremost == none || had > all.foremost_received)
      all.foremost_received = had, all.foremost = i;
  }
  return all;
}

void OverwriteGate::refresh() {
  const Positions all = positions();
  slowest_ = all.slowest;
  waits_for_ = all.slowest != none ? all.slowest : all.foremost_free;
  limit_distance_ = tickets_.capacity();
  std::uint64_t limit = ring_limit(all);
  limited_by_demand_ = all.slowest == none;
  const std::uint64_t ahead = ahead_limit(all);
  if (ahead < limit) {
    limit = ahead;
    limited_by_demand_ = true;
    waits_for_ = all.foremost;
    if (const ConsumerRecord* one = waits_for())
      limit_distance_ = saturating_sub(limit, one->released_min);
  }
  // A consumer may stand beyond what is published; two samples must still not share a place. Nor
  // may the ledger forget epochs that are not published.
  const std::uint64_t published = tickets_.published();
  limit_ = std::min({limit, saturating_add(published, tickets_.capacity()), ledger_.stream_end(),
                     ledger_.table_limit(published)});
  if (!options_.row_tables.empty()) find_kept(all);
}

/// What the limit above keeps, for rows. A consumer that is beyond what is published keeps nothing
/// of it, but what is being made must not be overwritten.
void OverwriteGate::find_kept(const Positions& all) {
  kept_known_ = true;
  kept_for_ = all.slowest != none ? all.slowest : all.foremost_free;
  if (all.slowest != none) {
    kept_ = all.slowest_position;
  } else if (all.any_skips || options_.free_running) {
    kept_ = limits::position_max;
    kept_for_ = none;
  } else if (all.foremost_free != none) {
    kept_ = all.foremost_free_position;
  } else {
    kept_ = demand_base_;
    if (const auto from = rewind_start()) kept_ = std::min(kept_, *from);
  }
  if (tickets_.published() < kept_) {
    kept_ = tickets_.published();
    kept_for_ = none;
  }
}

/// Without a consumer that reads: where the next one would begin.
std::optional<std::uint64_t> OverwriteGate::rewind_start() const {
  std::optional<std::uint64_t> from;
  for (const ConsumerRecord& one : consumers_.records()) {
    const bool is_between_loops = one.is_trainer() && !one.fresh;  // its next one begins here
    if (is_between_loops) from = std::max(from.value_or(0), one.released_min);
  }
  return from ? std::nullopt : attendance_.rewind_start(tickets_.oldest_held());
}

std::uint64_t OverwriteGate::ring_limit(const Positions& all) {
  const std::uint64_t capacity = tickets_.capacity();
  if (all.slowest != none) {
    raise_demand_base(all.slowest_position);
    return std::min(saturating_add(all.slowest_position, capacity),
                    ledger_.table_limit(all.slowest_position));
  }
  if (all.any_skips || options_.free_running) return limits::position_max;
  if (all.foremost_free != none) {
    raise_demand_base(all.foremost_free_position);
    return saturating_add(all.foremost_free_position, capacity);
  }
  return saturating_add(demand_base_, capacity);
}

std::uint64_t OverwriteGate::ahead_limit(const Positions& all) const {
  if (all.any_skips || options_.free_running) return limits::position_max;
  std::optional<std::uint64_t> from;
  std::uint64_t held = limits::position_max;
  if (all.foremost != none) {
    from = all.foremost_received;
  } else {
    for (const ConsumerRecord& one : consumers_.records()) {
      const bool is_between_loops = one.is_trainer() && !one.fresh;  // its next one begins here
      if (is_between_loops) from = std::max(from.value_or(0), one.released_min);
    }
    if (!from) {
      from = attendance_.rewind_start(tickets_.oldest_held());
      // The next consumer begins there, so the sample is kept.
      if (from) held = saturating_add(*from, tickets_.capacity());
    }
  }
  if (!from) return limits::position_max;
  return options_.ahead == 0 ? held : std::min(held, ledger_.ahead_of(*from, options_.ahead));
}

void OverwriteGate::forget_consumers() noexcept {
  slowest_ = waits_for_ = kept_for_ = none;
  close();
}

void OverwriteGate::raise_demand_base(std::uint64_t position) noexcept {
  demand_base_ = std::max(demand_base_, std::min(position, tickets_.published()));
}

void OverwriteGate::restart(std::uint64_t position) noexcept {
  demand_base_ = position;
  close();
}

std::uint64_t OverwriteGate::wake_at() const noexcept {
  return std::max(waits_for()->released_min + 1,
                  saturating_sub(tickets_.next() + 1, limit_distance_));
}

std::uint64_t OverwriteGate::jump_target() const noexcept {
  if (!options_.jumps || !ledger_.length_known() || attendance_.first_publication_waits()) {
    return no_jump;
  }
  std::uint64_t lowest = limits::position_max;  // without a consumer: beyond every stream's end
  for (const ConsumerRecord& consumer : consumers_.records()) {
    // It may be older than what the desk says: to stand still is the safe mistake.
    if (!consumer.paused) lowest = std::min(lowest, consumer.released_min);
  }
  const bool is_due = lowest > tickets_.claimed() && lowest < ledger_.stream_end();
  return is_due ? lowest : no_jump;
}

}  // namespace batchcast::inline v0_1

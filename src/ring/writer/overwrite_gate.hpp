// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/consumer_table.hpp"
#include "ring/writer/trainer_attendance.hpp"
#include "ring/writer/writer_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1 {

/// The limit below which positions may be handed out. It protects every sample that a lockstep
/// consumer may still read, and stops where consumers ask for no more. It remembers the limit until
/// `refresh` finds another. Belongs to the RingWriter, under its admission lock.
class OverwriteGate {
 public:
  /// All of these must outlive the gate.
  OverwriteGate(const WriterOptions& options, const EpochLedger& ledger, const TicketQueue& tickets,
                const ConsumerTable& consumers, const TrainerAttendance& attendance) noexcept;

  /// Whether the next position may be handed out.
  [[nodiscard]] bool is_open() const noexcept { return tickets_.next() < limit_; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  /// Finds the limit, and the consumer that sets it. Desks have been validated just before.
  void refresh();
  /// Closes the gate: `refresh` has to find the limit again before a position is handed out.
  void close() noexcept {
    limit_ = 0;
    kept_known_ = false;
  }
  /// The same after a consumer was removed or paused.
  void forget_consumers() noexcept;

  /// Without consumers, demand counts from at least this position, as far as it is published.
  void raise_demand_base(std::uint64_t position) noexcept;
  /// Continues the stream at `position`.
  void restart(std::uint64_t position) noexcept;

  /// The lowest position that must stay in the ring, with its rows. Believe it once
  /// `is_kept_known`, or after `refresh`.
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_; }
  [[nodiscard]] bool is_kept_known() const noexcept { return kept_known_; }
  /// The consumer for which it must; null where none is the reason.
  [[nodiscard]] const ConsumerRecord* kept_for() const noexcept { return record(kept_for_); }

  /// The slowest consumer in lockstep that is not paused; null without one.
  [[nodiscard]] const ConsumerRecord* slowest() const noexcept { return record(slowest_); }
  /// The consumer that sets the limit; null where no consumer does.
  [[nodiscard]] const ConsumerRecord* waits_for() const noexcept { return record(waits_for_); }
  /// There may be room for another sample once the consumer of `waits_for` has released everything
  /// below this position.
  [[nodiscard]] std::uint64_t wake_at() const noexcept;
  /// How far the limit lies beyond what the consumer of `waits_for` has released.
  [[nodiscard]] std::uint64_t limit_distance() const noexcept { return limit_distance_; }
  /// Whether the limit is where consumers ask for no more; otherwise it is where the ring is full.
  [[nodiscard]] bool is_limited_by_demand() const noexcept { return limited_by_demand_; }

  /// If every consumer stands beyond what is claimed, the position of the lowest: the stream
  /// continues there, and leaves out the samples between. It goes by what the desks said when they
  /// were validated last.
  [[nodiscard]] std::uint64_t jump_target() const noexcept;
  static constexpr std::uint64_t no_jump = limits::position_max;

 private:
  static constexpr std::size_t none = ConsumerTable::none;

  /// Where the consumers that are not paused stand. Indices are those of the table's records.
  struct Positions {
    std::size_t slowest = none;  ///< in lockstep
    std::uint64_t slowest_position = limits::position_max;
    std::size_t foremost_free = none;
    std::uint64_t foremost_free_position = 0;
    std::size_t foremost = none;          ///< of any pace
    std::uint64_t foremost_received = 0;  ///< it has had the samples below this position
    bool any_skips = false;               ///< to an epoch's end that is not known
  };

  [[nodiscard]] const ConsumerRecord* record(std::size_t at) const noexcept {
    return at != none ? &consumers_.records()[at] : nullptr;
  }
  [[nodiscard]] Positions positions() const;
  [[nodiscard]] std::uint64_t ring_limit(const Positions& all);
  [[nodiscard]] std::uint64_t ahead_limit(const Positions& all) const;
  [[nodiscard]] std::optional<std::uint64_t> rewind_start() const;
  void find_kept(const Positions& all);

  const WriterOptions& options_;
  const EpochLedger& ledger_;
  const TicketQueue& tickets_;
  const ConsumerTable& consumers_;
  const TrainerAttendance& attendance_;
  std::uint64_t limit_ = 0;  ///< below it positions may be handed out
  std::uint64_t demand_base_;
  std::size_t slowest_ = none;
  std::size_t waits_for_ = none;
  std::uint64_t kept_ = 0;
  std::size_t kept_for_ = none;
  bool kept_known_ = false;
  std::uint64_t limit_distance_ = 0;
  bool limited_by_demand_ = false;
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/spinner.hpp>
#include "ring/writer/consumer_admission.hpp"
#include "ring/writer/publisher.hpp"
#include "ring/writer/space_claimer.hpp"
#include "ring/writer/writer_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace batchcast::inline v0_1 {

/// Gives the samples of tickets rows: ticket after ticket, in the order of their positions. It
/// waits for earlier tickets, and for room before a ticket's first sample. Where a later sample
/// does not fit, the ticket ends before it
/// (docs/decisions/0034-rows-of-samples-lie-without-gaps.md).
class RowClaimer {
 public:
  /// All of these must outlive this.
  RowClaimer(WriterState& state, ConsumerAdmission& admission, Publisher& publisher,
             SpaceClaimer& claimer)
      : state_(state),
        admission_(admission),
        publisher_(publisher),
        claimer_(claimer),
        spinner_(state.options.spin_ns) {}

  /// Does `RingWriter::take_rows`. Takes the admission lock itself.
  [[nodiscard]] std::uint64_t take(Ticket& ticket, std::size_t axis, std::uint64_t index,
                                   std::span<const std::uint64_t> lengths, int timeout_ms,
                                   std::span<const std::uint64_t> first = {});
  /// Whether a call would not have to wait for an earlier ticket.
  [[nodiscard]] bool has_turn(const Ticket& ticket);
  /// The rows that a ticket's position has although the stream went back and left the ticket out.
  [[nodiscard]] std::optional<RowRange> left_rows(const Ticket& ticket, std::size_t axis,
                                                  std::uint64_t position);

 private:
  using Lock = std::unique_lock<Mutex>;

  /// What a sample without rows asks for.
  struct Wanted {
    std::uint64_t position = 0;
    std::size_t axis = 0;
    std::uint64_t rows = 0;
    std::span<const std::uint64_t> all = {};  ///< its rows by axis, where they are known
  };
  /// What the thread sleeps on besides the producer's own word.
  struct DeskWatch {
    std::shared_ptr<Desk> desk;  ///< null where no consumer is in the way
    std::uint32_t release_sequence = 0;
    std::uint64_t consumer_id = 0;
    std::uint64_t wake_at = 0;
  };

  void check(const Ticket& ticket, std::size_t axis, std::uint64_t index,
             std::span<const std::uint64_t> lengths) const;
  [[nodiscard]] bool is_over(Ticket& ticket) const noexcept;
  [[nodiscard]] bool wait_for_turn(Lock& lock, Ticket& ticket, std::uint64_t deadline_ns);
  [[nodiscard]] bool wait_for_room(Lock& lock, const Wanted& wanted, Ticket& ticket,
                                   std::uint64_t deadline_ns);
  [[nodiscard]] bool sleep_for_room(Lock& lock, const Wanted& wanted, std::uint64_t deadline_ns);
  [[nodiscard]] bool fits(const Wanted& wanted) const noexcept;
  [[nodiscard]] bool fits_now(const Wanted& wanted);
  [[nodiscard]] std::uint64_t room_at(const Wanted& wanted, std::uint64_t more) const noexcept;
  void announce(Lock& lock, const Wanted& wanted);
  [[nodiscard]] std::uint64_t known_rows(const Wanted& wanted, std::size_t axis) const noexcept;
  void withdraw() noexcept;
  void look_and_sleep(Lock& lock, const Wanted& wanted, int most_ms);
  [[nodiscard]] bool room_came_while_looking(Lock& lock, const Wanted& wanted);
  [[nodiscard]] DeskWatch announce_sleep(const Wanted& wanted);
  [[nodiscard]] bool need_not_sleep(const DeskWatch& watch, const Wanted& wanted);
  void sleep(Lock& lock, const DeskWatch& watch, std::uint32_t own_value, int most_ms);
  void tell_evictions(Lock& lock);

  WriterState& state_;
  ConsumerAdmission& admission_;
  Publisher& publisher_;
  SpaceClaimer& claimer_;  ///< reports stalls
  Spinner spinner_;        ///< of the one thread that has the turn
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/cursor.hpp>
#include "ring/writer/epoch_ledger.hpp"
#include "ring/writer/row_arenas.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace batchcast::inline v0_1 {

/// A run of positions of one epoch, handed out to be filled.
struct Ticket {
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t epoch_start = 0;
};

/// Which positions are handed out, filled and published. Tickets are granted in the order of their
/// positions, filled in any order, and published in order. It writes `claimed`, `published` and
/// `valid_from` on the board. Belongs to the RingWriter, under its admission lock.
class TicketQueue {
 public:
  /// `ledger` and `rows` must outlive the queue.
  TicketQueue(Board board, EpochLedger& ledger, RowArenas& rows, std::uint64_t start) noexcept;

  /// Next position to hand out.
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
  [[nodiscard]] std::uint64_t claimed() const noexcept { return claimed_; }
  [[nodiscard]] std::uint64_t published() const noexcept { return published_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  /// Lowest position whose sample the ring still has.
  [[nodiscard]] std::uint64_t oldest_held() const noexcept {
    return batchcast::oldest_held(kept_from(), valid_from_);
  }
  /// Where the last jump went to, or where the stream began: no position after it is left out.
  [[nodiscard]] std::uint64_t run_start() const noexcept { return valid_from_; }
  /// The number of samples published, without positions that were jumped over.
  [[nodiscard]] std::uint64_t samples_published() const noexcept;

  /// No sample that was granted and not given back is still to come.
  [[nodiscard]] bool all_filled() const noexcept;
  /// No ticket is granted or waits to be published.
  [[nodiscard]] bool is_empty() const noexcept { return tickets_.empty() && !has_returned(); }
  /// The stream went back while a ticket beyond was out: its holder may still write to the ring.
  [[nodiscard]] bool has_abandoned() const noexcept { return !abandoned_.empty(); }

  /// Grants at least one position from `next` on, below `limit`, which is above, within one epoch.
  void grant(std::uint64_t samples_max, std::uint64_t limit, Ticket& ticket);

  // Rows of tickets, where the stream has axes.

  /// The ticket ends at `end` from now on. The samples after it go back, without their rows.
  void shorten(Ticket& ticket, std::uint64_t end);
  /// Samples that `shorten` took from a ticket are to be granted again, before all others.
  [[nodiscard]] bool has_returned() const noexcept { return returned_.start != returned_.end; }
  void grant_returned(std::uint64_t samples_max, Ticket& ticket);
  /// This thread asks for the ticket's rows. If another thread took the ticket, nothing is known of
  /// who uses it.
  void note_taker(const Ticket& ticket) noexcept;
  /// The first position from `from` on, before the ticket, that this thread has to give rows.
  [[nodiscard]] std::optional<std::uint64_t> own_before(const Ticket& ticket,
                                                        std::uint64_t from) const noexcept;
  /// The end of the ticket that has this position, if it is filled.
  [[nodiscard]] std::optional<std::uint64_t> filled_from(std::uint64_t position) const noexcept;
  /// Rows were taken: tells readers what they overwrite.
  void note_rows() noexcept { store_claimed(); }

  /// The ticket's samples are complete.
  void fill(const Ticket& ticket, const Receipt& receipt) noexcept;
  /// Takes the newest ticket's positions back. False if it is not the newest.
  [[nodiscard]] bool take_back(const Ticket& ticket) noexcept;

  /// The result of `pass_filled`.
  struct Passed {
    bool samples = false;    ///< `published` moved
    bool epoch_end = false;  ///< an epoch's end was announced
  };
  /// Moves `published` over the oldest tickets that are filled. `store_published` has to follow.
  [[nodiscard]] Passed pass_filled() noexcept;
  /// Shows readers what `pass_filled` passed.
  void store_published() noexcept { ordered::publish(board_.progress(), published_); }

  /// The stream goes back: samples of tickets that are out now will not be published.
  void abandon_all();
  [[nodiscard]] bool is_abandoned(const Ticket& ticket) const noexcept;
  /// True, once, for each ticket that `abandon_all` found unfilled.
  [[nodiscard]] bool take_abandoned(const Ticket& ticket) noexcept;

  /// Continues at `target`, forwards or back, without the positions between. No ticket is out.
  void jump(std::uint64_t target) noexcept;
  /// The same for a ring that is filled from another one, which knows the epoch of `position`.
  void restart(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start) noexcept;

 private:
  struct Outstanding {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool filled = false;
    Receipt receipt;
    ThreadId owner;  ///< where the stream has axes: the only thread that used it
  };
  /// Samples that a ticket lost.
  struct Returned {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    ThreadId owner = {};  ///< of the ticket
  };

  void claim_from(std::uint64_t position) noexcept;
  void store_claimed() noexcept { ordered::claim(board_.progress(), claimed_, kept_from()); }
  [[nodiscard]] std::uint64_t kept_from() const noexcept {
    const std::uint64_t kept = saturating_sub(claimed_, capacity_);
    return rows_.none() ? kept : std::max(kept, rows_.kept_from());
  }
  [[nodiscard]] Outstanding& outstanding(const Ticket& ticket) noexcept;
  void fill_in(Ticket& ticket, std::uint64_t position, std::uint64_t size) const noexcept;

  Board board_;
  EpochLedger& ledger_;
  RowArenas& rows_;
  const std::uint64_t start_;
  const std::uint64_t capacity_;
  std::deque<Outstanding> tickets_;       ///< granted and not published yet, by position
  Returned returned_;                     ///< one range: only the ticket whose turn it is loses any
  std::vector<std::uint64_t> abandoned_;  ///< starts of tickets left out by a step back
  std::uint64_t next_;
  std::uint64_t claimed_;       ///< all below it may be being written
  std::uint64_t published_;     ///< all below it may be read
  std::uint64_t valid_from_;    ///< positions below it were jumped over at least in part
  std::uint64_t left_out_ = 0;  ///< samples jumped over, modulo 2^64 where the stream went back
};

}  // namespace batchcast::inline v0_1

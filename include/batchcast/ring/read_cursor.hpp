// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/row_place.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/row_table.hpp>
#include <batchcast/ring/spinner.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// Where a reader of a ring stands in the stream: its position, that position's epoch and its end,
/// and the sleep until more has come. A consumer has one (RingReader), and so has a mirror
/// (MirrorSource). It does not release samples: that is the LeaseTable's work.
///
/// Belongs to the reader's thread; any may call `state` and `revoked`. Board and desk outlive it.
class ReadCursor {
 public:
  /// What holds for the position, and which call leaves the phase for which other one. From any
  /// phase, `move_to` and `begin_at` go where the producer placed the reader.
  enum class Phase {
    /// Between epochs, and the epoch of the position is not known. `find_epoch` leaves it for
    /// `between`, once the board tells.
    unplaced,
    /// Between epochs: the sample at the position will be the first one read of `epoch`.
    /// `begin_epoch` leaves it for `reading`.
    between,
    /// Between epochs: the reader skips the rest of `epoch`, whose end was not known then.
    /// `end_skip` leaves it for `between` of the next epoch, once the producer announced that end.
    skipping,
    /// In `epoch`, and not beyond its end. `end_epoch` and `leave_unbegun` leave it for `between`,
    /// `skip` for `skipping`. `miss` leaves it for `missed` where the epoch's end is not known.
    reading,
    /// In `epoch` or beyond it: samples were missed, and its end may have been one of them.
    /// `find_missed_end` leaves it for `unplaced` if it was, else for `reading`.
    missed,
  };

  /// As `wanted`: no position is awaited, only the stream's end or an epoch's end.
  static constexpr std::uint64_t endless = limits::position_max;

  /// `spin_ns`: looks at most this long before it sleeps.
  ReadCursor(BoardView board, Desk& desk, std::uint64_t spin_ns);

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] bool between_epochs() const noexcept {
    return phase_ != Phase::reading && phase_ != Phase::missed;
  }
  /// The position of the sample to be read next.
  [[nodiscard]] std::uint64_t position() const noexcept { return place_.position; }
  /// The row of that sample to be read next; the rows before it were. 0 but with a window.
  [[nodiscard]] std::uint64_t row() const noexcept { return place_.row; }
  [[nodiscard]] RowPlace place() const noexcept { return place_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint64_t epoch_start() const noexcept { return epoch_start_; }
  /// The end of `epoch`, as far as the last look knows it.
  [[nodiscard]] const std::optional<std::uint64_t>& epoch_end() const noexcept {
    return epoch_end_;
  }
  [[nodiscard]] bool at_epoch_end() const noexcept {
    return epoch_end_ && place_.position >= *epoch_end_;
  }
  [[nodiscard]] bool epochs_have_one_length() const noexcept { return samples_per_epoch_ != 0; }

  // ---- one look at the board

  /// Read it before what it may be the end of.
  [[nodiscard]] StreamState state() const noexcept {
    return ordered::load_state(board_.progress());
  }
  /// Why the stream stopped or failed.
  [[nodiscard]] std::string state_text() const;
  [[nodiscard]] std::uint64_t published() const noexcept {
    return ordered::load_published(board_.progress());
  }
  /// In `reading`: what is published, and after that whether the epoch's end is known. In the other
  /// order, an end and the next epoch's first samples that come in between would seem to be of one
  /// epoch.
  [[nodiscard]] std::uint64_t look() noexcept {
    const std::uint64_t there = published();
    look_for_end();
    return there;
  }
  void look_for_end() noexcept;
  /// The end of any epoch, as far as the board tells it now.
  [[nodiscard]] std::optional<std::uint64_t> end_of(std::uint64_t epoch) const noexcept;
  /// Whether the reader was evicted: what was read before this call may be torn.
  [[nodiscard]] bool revoked() const noexcept {
    return ordered::load_consumer_id_after_reading(entry_) != consumer_id_;
  }

  /// For a rank: call it before reading its group's news. A later change ends the next sleep.
  void note_group() noexcept { group_seen_ = ordered::load_word(entry_.group_sequence); }

  // ---- rows

  /// What else ends a sleep: rows of an axis, or an announcement after the one that was seen.
  struct RowWish {
    std::uint32_t axis_plus_one = 0;  ///< 0: no rows
    std::uint64_t row = 0;
    std::optional<std::uint64_t> seen = {};
  };
  /// Which position waits for rows now.
  [[nodiscard]] RowWait row_wait() const noexcept;
  /// Its rows on an axis; `rows_unknown` where they are not known. Nothing if it is another by now.
  [[nodiscard]] std::optional<RowRange> waiting_rows(const RowWait& wait,
                                                     std::size_t axis) const noexcept;

  // ---- moving on

  /// Goes between epochs at that place. `skipping`, if not 0: the epoch + 1 that is being skipped.
  void move_to(RowPlace place, std::uint64_t skipping);
  /// Goes into an epoch of which the caller knows where it starts.
  void begin_at(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start) noexcept;
  /// The caller will learn where it continues: `begin_at`.
  void unplace() noexcept { phase_ = Phase::unplaced; }
  /// Counts a batch of `samples` as read, and goes to the place behind it. In a group that is
  /// behind those of the other ranks too.
  void take(std::uint64_t samples, RowPlace next) noexcept {
    place_ = next;
    ordered::set(desk_.cursor, place_.position);
    ordered::count(desk_.samples, samples);
    ordered::count(desk_.batches);
  }
  /// Moves without reading the samples in between. `phase` stays.
  void jump(std::uint64_t position) noexcept;

  [[nodiscard]] bool find_epoch();
  void begin_epoch() noexcept;
  void end_epoch() noexcept;
  /// The position does not change: no sample of the epoch exists yet.
  void leave_unbegun() noexcept { phase_ = Phase::between; }
  void skip() noexcept { phase_ = Phase::skipping; }
  /// True once the end is announced. Then the position is that end.
  [[nodiscard]] bool end_skip() noexcept;
  void miss(std::uint64_t position) noexcept;
  /// Whether the missed samples include the end of the epoch.
  [[nodiscard]] bool find_missed_end() noexcept;

  // ---- waiting

  /// Looks for a while and then sleeps, at most `timeout_ms`, until something changes. That is:
  /// `published` is at least `wanted`, the stream has ended in another state than `seen`, or the
  /// awaited end of an epoch is announced. It may also be an eviction, news about the reader's
  /// group, or `rung`, if given, being set. Counts as a wait on the desk.
  Woken wait(std::uint64_t wanted, StreamState seen, int timeout_ms,
             const std::atomic<bool>* rung = nullptr) {
    return wait(wanted, RowWish(), seen, timeout_ms, rung);
  }
  Woken wait(std::uint64_t wanted, const RowWish& rows, StreamState seen, int timeout_ms,
             const std::atomic<bool>* rung = nullptr);
  /// The same without the look, and not counted.
  Woken sleep(std::uint64_t wanted, StreamState seen, int timeout_ms,
              const std::atomic<bool>* rung = nullptr) {
    return sleep(wanted, RowWish(), seen, timeout_ms, rung);
  }
  Woken sleep(std::uint64_t wanted, const RowWish& rows, StreamState seen, int timeout_ms,
              const std::atomic<bool>* rung = nullptr);

 private:
  [[nodiscard]] std::optional<std::uint64_t> announced_end(std::uint64_t epoch) const noexcept;
  [[nodiscard]] bool awaits_end() const noexcept;
  [[nodiscard]] bool rows_have_come(const RowWish& rows) const noexcept;
  [[nodiscard]] bool group_has_news() const noexcept {
    return ordered::load_word(entry_.group_sequence) != group_seen_;
  }

  BoardView board_;
  Desk& desk_;
  const ConsumerEntry& entry_;
  const std::uint64_t consumer_id_;
  const std::uint64_t samples_per_epoch_;
  Phase phase_ = Phase::unplaced;
  RowPlace place_;
  std::uint64_t epoch_ = 0;
  std::uint64_t epoch_start_ = 0;
  std::optional<std::uint64_t> epoch_end_;
  std::uint32_t group_seen_ = 0;
  bool wanted_rows_ = false;  ///< the desk says so
  Spinner spinner_;
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/read_cursor.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/inline.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE ReadCursor::ReadCursor(BoardView board, Desk& desk, std::uint64_t spin_ns)
    : board_(board),
      desk_(desk),
      entry_(board.consumer(desk.index)),
      consumer_id_(desk.consumer_id),
      samples_per_epoch_(board.head().samples_per_epoch),
      spinner_(spin_ns) {}

BATCHCAST_INLINE std::string ReadCursor::state_text() const {
  const auto& text = board_.progress().state_text;
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

BATCHCAST_INLINE void ReadCursor::move_to(RowPlace place, std::uint64_t skipping) {
  jump(place.position);
  place_ = place;
  epoch_end_.reset();
  if (skipping != 0) {
    phase_ = Phase::skipping;
    epoch_ = skipping - 1;
    return;
  }
  phase_ = Phase::unplaced;
  // The epoch may be a later one: `find_epoch` is asked again before any sample is read.
  if (!find_epoch()) epoch_ = ordered::load_announced(board_.progress());
}

BATCHCAST_INLINE void ReadCursor::begin_at(std::uint64_t position, std::uint64_t epoch,
                                           std::uint64_t epoch_start) noexcept {
  jump(position);
  epoch_ = epoch;
  epoch_start_ = epoch_start;
  begin_epoch();
}

BATCHCAST_INLINE void ReadCursor::jump(std::uint64_t position) noexcept {
  place_ = {position, 0};
  ordered::set(desk_.cursor, position);
}

BATCHCAST_INLINE bool ReadCursor::find_epoch() {
  if (samples_per_epoch_ != 0) {
    epoch_ = place_.position / samples_per_epoch_;
    epoch_start_ = epoch_ * samples_per_epoch_;
    phase_ = Phase::between;
    return true;
  }
  const std::uint64_t there = published();  // before the ends, as in `look`
  const std::uint64_t announced = ordered::load_announced(board_.progress());
  std::uint64_t epoch = announced;
  std::uint64_t start = board_.head().first_position;
  if (announced > 0) {
    const auto end = announced_end(announced - 1);
    if (!end) return false;  // it was just replaced: the next look finds a newer one
    start = *end;
  }
  while (epoch > 0 && start > place_.position) {
    --epoch;
    start = ordered::get(board_.epoch(epoch).start);
    if (ordered::get_acquire(board_.epoch(epoch).epoch_plus_one) != epoch + 1) return false;
  }
  const bool current = epoch == announced;
  // The current epoch may end before this position. If the sample there is published, it did not.
  if (current && place_.position != start && there <= place_.position) return false;
  epoch_ = epoch;
  epoch_start_ = start;
  phase_ = Phase::between;
  return true;
}

BATCHCAST_INLINE void ReadCursor::begin_epoch() noexcept {
  phase_ = Phase::reading;
  epoch_end_.reset();
}

BATCHCAST_INLINE void ReadCursor::end_epoch() noexcept {
  ++epoch_;
  epoch_start_ = place_.position;
  epoch_end_.reset();
  phase_ = Phase::between;
}

BATCHCAST_INLINE bool ReadCursor::end_skip() noexcept {
  const auto end = announced_end(epoch_);
  if (!end) return false;
  jump(*end);
  end_epoch();
  return true;
}

BATCHCAST_INLINE void ReadCursor::miss(std::uint64_t position) noexcept {
  if (samples_per_epoch_ == 0 && !epoch_end_) phase_ = Phase::missed;
  jump(position);
}

BATCHCAST_INLINE bool ReadCursor::find_missed_end() noexcept {
  const bool announced = ordered::load_announced(board_.progress()) > epoch_;
  const auto end = announced_end(epoch_);
  // An end announced and gone from the board was replaced by that of a much later epoch.
  const bool passed = announced && !(end && *end > place_.position);
  phase_ = passed ? Phase::unplaced : Phase::reading;
  return passed;
}

BATCHCAST_INLINE std::optional<std::uint64_t> ReadCursor::announced_end(
    std::uint64_t epoch) const noexcept {
  if (ordered::load_announced(board_.progress()) <= epoch) return std::nullopt;
  const EpochEntry& entry = board_.epoch(epoch);
  if (ordered::get_acquire(entry.epoch_plus_one) != epoch + 1) return std::nullopt;
  const std::uint64_t end = ordered::get_acquire(entry.end);
  if (ordered::get(entry.epoch_plus_one) != epoch + 1) return std::nullopt;
  return end;
}

BATCHCAST_INLINE void ReadCursor::look_for_end() noexcept {
  if (!epoch_end_) epoch_end_ = end_of(epoch_);
}

BATCHCAST_INLINE std::optional<std::uint64_t> ReadCursor::end_of(
    std::uint64_t epoch) const noexcept {
  if (samples_per_epoch_ != 0) return (epoch + 1) * samples_per_epoch_;
  return announced_end(epoch);
}

BATCHCAST_INLINE bool ReadCursor::awaits_end() const noexcept {
  return samples_per_epoch_ == 0 && phase_ != Phase::unplaced && !epoch_end_;
}

BATCHCAST_INLINE RowWait ReadCursor::row_wait() const noexcept {
  const BoardProgress& progress = board_.progress();
  for (;;) {
    RowWait wait;
    wait.sequence = ordered::load_row_wait(progress);
    wait.position = ordered::get_acquire(progress.row_wait_position);
    if (ordered::is_row_wait(progress, wait.sequence)) return wait;
    // A producer that died, or was stopped, while it wrote leaves it so: there is none.
    if ((wait.sequence & 1) != 0) return {wait.sequence, limits::position_max};
  }
}

BATCHCAST_INLINE std::optional<RowRange> ReadCursor::waiting_rows(const RowWait& wait,
                                                                  std::size_t axis) const noexcept {
  const AxisEntry& entry = board_.axis(axis);
  const RowRange rows{ordered::get(entry.waiting_first), ordered::get(entry.waiting_rows)};
  if (!ordered::is_row_wait(board_.progress(), wait.sequence)) return std::nullopt;
  return rows;
}

BATCHCAST_INLINE bool ReadCursor::rows_have_come(const RowWish& rows) const noexcept {
  if (rows.axis_plus_one != 0 &&
      ordered::load_published_rows(board_.axis(rows.axis_plus_one - 1)) >= rows.row) {
    return true;
  }
  return rows.seen && ordered::load_row_wait(board_.progress()) != *rows.seen;
}

BATCHCAST_INLINE Woken ReadCursor::wait(std::uint64_t wanted, const RowWish& rows, StreamState seen,
                                        int timeout_ms, const std::atomic<bool>* rung) {
  const std::uint64_t started_ns = now_ns();
  const bool found = spinner_.look([&] {
    return published() >= wanted || group_has_news() || (rung != nullptr && rung->load()) ||
           rows_have_come(rows);
  });
  const Woken woken = found ? Woken::value_changed : sleep(wanted, rows, seen, timeout_ms, rung);
  ordered::count(desk_.waits);
  ordered::count(desk_.wait_ns, now_ns() - started_ns);
  return woken;
}

BATCHCAST_INLINE Woken ReadCursor::sleep(std::uint64_t wanted, const RowWish& rows,
                                         StreamState seen, int timeout_ms,
                                         const std::atomic<bool>* rung) {
  const BoardProgress& progress = board_.progress();
  const std::uint64_t announced = ordered::load_announced(progress);
  const std::uint32_t slept_at = ordered::load_word(entry_.wake_word);
  // The writer wakes no sleeper when the stream begins, nor for the ends of epochs of one length.
  const auto has_come = [&] {
    const StreamState state = ordered::load_state(progress);
    return ordered::look_again_published(progress) >= wanted ||
           (state != seen && detail::has_ended(state)) ||
           (samples_per_epoch_ == 0 && ordered::load_announced(progress) != announced) ||
           group_has_news() || (rung != nullptr && rung->load()) || rows_have_come(rows) ||
           revoked();
  };
  // An end that was announced after the caller's look and before this one would wake no sleeper.
  if (awaits_end() && announced > epoch_) return Woken::value_changed;
  Woken woken = Woken::value_changed;
  if (rows.axis_plus_one != 0 || wanted_rows_) {
    wanted_rows_ = rows.axis_plus_one != 0;
    ordered::consumer_wants_row(desk_, rows.axis_plus_one, rows.row);
  }
  ordered::consumer_sleeps_until(desk_, wanted);
  if (!has_come()) {
    const auto in_vain = [&] {
      return woken == Woken::timed_out && has_come() &&
             ordered::load_word(entry_.wake_word) == slept_at;
    };
    woken = futex_wait(entry_.wake_word, slept_at, timeout_ms);
    // The producer may be between its store and its wake-up: that gets one more sleep's time.
    if (in_vain()) {
      woken = futex_wait(entry_.wake_word, slept_at, limits::sleep_ms_max / 2);
      if (in_vain()) ordered::count(desk_.late_wakeups);
    }
  }
  ordered::consumer_wakes(desk_);
  return woken;
}

}  // namespace batchcast::inline v0_1

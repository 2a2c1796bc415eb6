// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/seam.hpp>
#include <batchcast/ring/layout.hpp>

#include <atomic>
#include <cstdint>

// The memory orders of the words on board and desks, and the arithmetic of the ring's window.
// Nothing else in the project names a std::memory_order for these words. docs/protocol.md explains
// each pair; tests/model checks them. Two fences for sample bytes stand elsewhere. A resampler ends
// its non-temporal stores before the sample can be published (src/data/resample/vertical.cpp). A
// trainer's first write into a batch orders its flag before its copy (private_chunks.ipp).
//
// The functions are templates over the words: tests/relacy calls them with words that know what
// each order allows.
namespace batchcast::inline v0_1 {

/// a + b, at most limits::position_max: a hostile or saturated position cannot wrap the gate.
[[nodiscard]] constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
  return a >= limits::position_max || b >= limits::position_max - a ? limits::position_max : a + b;
}

/// a − b, at least 0.
[[nodiscard]] constexpr std::uint64_t saturating_sub(std::uint64_t a, std::uint64_t b) noexcept {
  return a > b ? a - b : 0;
}

/// Lowest position whose sample cannot have been overwritten yet.
[[nodiscard]] constexpr std::uint64_t oldest_held(std::uint64_t kept_from,
                                                  std::uint64_t valid_from) noexcept {
  return kept_from > valid_from ? kept_from : valid_from;
}

namespace ordered {

// ---- producer: samples

/// Call it before the first byte of any sample below `end`, and of any of its rows, is written.
/// `kept_from`: no byte from that position on is overwritten by then. The fence keeps those bytes
/// after the stores, so that a reader who saw one of them also sees the claim.
inline void claim(auto& board, std::uint64_t end, std::uint64_t kept_from) noexcept {
  board.claimed.store(end, std::memory_order_relaxed);
  board.kept_from.store(kept_from, std::memory_order_relaxed);
  release_fence();
}

/// Call it after every byte below `end` is in place. seq_cst: it is the store half of the wake-up
/// handshake, whose other half is `consumer_waits_for`.
inline void publish(auto& board, std::uint64_t end) noexcept {
  board.published.store(end, std::memory_order_seq_cst);
}

/// Call it after `publish`: whether this consumer sleeps until `published` or less.
[[nodiscard]] inline bool consumer_waits_for(const auto& desk, std::uint64_t published) noexcept {
  return desk.sleeping.load(std::memory_order_seq_cst) != 0 &&
         desk.wake_at.load(std::memory_order_seq_cst) <= published;
}

/// The same where the consumer sleeps until it has rows: those of an axis, by its number.
[[nodiscard]] inline bool consumer_waits_for_rows(const auto& desk, const auto* axes,
                                                  std::size_t count) noexcept {
  if (desk.sleeping.load(std::memory_order_seq_cst) == 0) return false;
  const std::uint32_t axis = desk.wake_axis.load(std::memory_order_seq_cst);
  return axis != 0 && axis <= count &&
         desk.wake_at_row.load(std::memory_order_seq_cst) <=
             axes[axis - 1].published_rows.load(std::memory_order_relaxed);
}

[[nodiscard]] inline bool consumer_sleeps(const auto& desk) noexcept {
  return desk.sleeping.load(std::memory_order_seq_cst) != 0;
}

/// Epochs below `count` have their ends on the board. These are complete before this call, and
/// before `published` passes them. It is a store half of the wake-up handshake, like `publish`.
inline void announce(auto& board, std::uint64_t count) noexcept {
  board.epochs_announced.store(count, std::memory_order_seq_cst);
}
[[nodiscard]] inline std::uint64_t load_announced(const auto& board) noexcept {
  return board.epochs_announced.load(std::memory_order_seq_cst);
}

// ---- producer: space

/// What a consumer released. Read it before `published`, since it is checked against that.
[[nodiscard]] inline std::uint64_t load_released(const auto& desk) noexcept {
  return desk.released.load(std::memory_order_acquire);
}
[[nodiscard]] inline std::uint64_t load_skipping(const auto& desk) noexcept {
  return desk.skipping.load(std::memory_order_acquire);
}
[[nodiscard]] inline std::uint32_t load_word(const auto& word) noexcept {
  return word.load(std::memory_order_seq_cst);
}

/// Announces the sleep; the caller looks again at the desk's word and the gate before it sleeps.
inline void producer_sleeps(auto& board, std::uint64_t consumer_id, std::uint64_t wanted) noexcept {
  board.wake_at.store(wanted, std::memory_order_relaxed);
  board.sleeping_on.store(consumer_id, std::memory_order_seq_cst);
}
inline void producer_wakes(auto& board) noexcept {
  board.sleeping_on.store(0, std::memory_order_relaxed);
}

/// The same for the thread that waits for rows.
inline void producer_sleeps_for_rows(auto& board, std::uint64_t consumer_id,
                                     std::uint64_t wanted) noexcept {
  board.rows_wake_at.store(wanted, std::memory_order_relaxed);
  board.rows_sleeping_on.store(consumer_id, std::memory_order_seq_cst);
}
inline void producer_wakes_for_rows(auto& board) noexcept {
  board.rows_sleeping_on.store(0, std::memory_order_relaxed);
}

// ---- producer: which position waits for rows

/// The words of the axes follow. Afterwards `end_row_wait`.
inline void begin_row_wait(auto& board) noexcept {
  board.row_wait_sequence.store(board.row_wait_sequence.load(std::memory_order_relaxed) + 1,
                                std::memory_order_relaxed);
  release_fence();
}
/// seq_cst: it is the store half of a wake-up handshake, as `publish` is.
inline void end_row_wait(auto& board, std::uint64_t position) noexcept {
  board.row_wait_position.store(position, std::memory_order_release);
  board.row_wait_sequence.store(board.row_wait_sequence.load(std::memory_order_relaxed) + 1,
                                std::memory_order_seq_cst);
}
[[nodiscard]] inline std::uint64_t load_row_wait(const auto& board) noexcept {
  return board.row_wait_sequence.load(std::memory_order_seq_cst);
}
/// After the words were read: they are of that announcement.
[[nodiscard]] inline bool is_row_wait(const auto& board, std::uint64_t sequence) noexcept {
  acquire_fence();
  return (sequence & 1) == 0 && board.row_wait_sequence.load(std::memory_order_relaxed) == sequence;
}

// ---- consumer: samples

[[nodiscard]] inline std::uint64_t load_published(const auto& board) noexcept {
  return board.published.load(std::memory_order_acquire);
}
/// The consumer_id of the consumer whose samples the producer waits for now; 0: none.
[[nodiscard]] inline std::uint64_t load_sleeping_on(const auto& board) noexcept {
  return board.sleeping_on.load(std::memory_order_relaxed);
}
/// The second look of a consumer that has announced its sleep.
[[nodiscard]] inline std::uint64_t look_again_published(const auto& board) noexcept {
  return board.published.load(std::memory_order_seq_cst);
}

inline void consumer_sleeps_until(auto& desk, std::uint64_t wanted) noexcept {
  desk.wake_at.store(wanted, std::memory_order_seq_cst);
  desk.sleeping.store(1, std::memory_order_seq_cst);
}
/// Before `consumer_sleeps_until`: it also wakes at that row.
inline void consumer_wants_row(auto& desk, std::uint32_t axis_plus_one,
                               std::uint64_t row) noexcept {
  desk.wake_at_row.store(row, std::memory_order_seq_cst);
  desk.wake_axis.store(axis_plus_one, std::memory_order_seq_cst);
}
[[nodiscard]] inline std::uint64_t load_published_rows(const auto& axis) noexcept {
  return axis.published_rows.load(std::memory_order_seq_cst);
}
inline void consumer_wakes(auto& desk) noexcept {
  desk.sleeping.store(0, std::memory_order_relaxed);
}

/// Call it after samples were read or copied: any overwriting of them came after this claim.
[[nodiscard]] inline std::uint64_t load_kept_from_after_reading(const auto& board) noexcept {
  acquire_fence();
  return board.kept_from.load(std::memory_order_relaxed);
}
[[nodiscard]] inline std::uint64_t load_kept_from(const auto& board) noexcept {
  return board.kept_from.load(std::memory_order_acquire);
}
[[nodiscard]] inline std::uint64_t load_claimed(const auto& board) noexcept {
  return board.claimed.load(std::memory_order_acquire);
}

/// Call it after samples were read: whose desk this entry is. Any other consumer_id than the
/// caller's means that it was evicted, and that what it read may be torn.
[[nodiscard]] inline std::uint64_t load_consumer_id_after_reading(const auto& entry) noexcept {
  acquire_fence();
  return entry.consumer_id.load(std::memory_order_seq_cst);
}

// ---- consumer: space

/// Whether one of the producer's threads sleeps until this consumer has released that much.
[[nodiscard]] inline bool producer_waits_for(const auto& board, std::uint64_t consumer_id,
                                             std::uint64_t position) noexcept {
  return (board.sleeping_on.load(std::memory_order_seq_cst) == consumer_id &&
          board.wake_at.load(std::memory_order_seq_cst) <= position) ||
         (board.rows_sleeping_on.load(std::memory_order_seq_cst) == consumer_id &&
          board.rows_wake_at.load(std::memory_order_seq_cst) <= position);
}
[[nodiscard]] inline bool producer_waits_for(const auto& board,
                                             std::uint64_t consumer_id) noexcept {
  return board.sleeping_on.load(std::memory_order_seq_cst) == consumer_id ||
         board.rows_sleeping_on.load(std::memory_order_seq_cst) == consumer_id;
}

/// Releases everything below `position`. Returns true if the producer sleeps for just that: wake it
/// on the desk's word. The RMW is the store half of the handshake. It changes the word in any case,
/// so that a producer that is about to sleep on the old value does not.
[[nodiscard]] inline bool release(auto& desk, const auto& board, std::uint64_t consumer_id,
                                  std::uint64_t position) noexcept {
  desk.released.store(position, std::memory_order_release);
  desk.release_sequence.fetch_add(1, std::memory_order_seq_cst);
  return producer_waits_for(board, consumer_id, position);
}

/// Skips the rest of an epoch whose end is not known yet (`released` stays where it is).
[[nodiscard]] inline bool skip_epoch(auto& desk, const auto& board, std::uint64_t consumer_id,
                                     std::uint64_t epoch) noexcept {
  desk.skipping.store(epoch + 1, std::memory_order_release);
  desk.release_sequence.fetch_add(1, std::memory_order_seq_cst);
  return producer_waits_for(board, consumer_id);
}

/// The epoch's end is known. `released` comes first, so that the producer sees one of the two.
[[nodiscard]] inline bool end_skip(auto& desk, const auto& board, std::uint64_t consumer_id,
                                   std::uint64_t end) noexcept {
  desk.released.store(end, std::memory_order_release);
  desk.skipping.store(0, std::memory_order_release);
  desk.release_sequence.fetch_add(1, std::memory_order_seq_cst);
  return producer_waits_for(board, consumer_id);
}

// ---- groups of ranks

/// For the producer: a rank is gone, so its group gets no batch of epochs from `from` on. It is
/// stored before the other ranks' `begun` is read. If a rank begins an epoch meanwhile, one of the
/// two sees the other's store.
inline void lose_rank(auto& entry, std::uint64_t lost, std::uint64_t from) noexcept {
  entry.lost_from.store(from, std::memory_order_relaxed);
  entry.group_lost.store(lost, std::memory_order_seq_cst);
}
[[nodiscard]] inline std::uint64_t load_reading(const auto& desk) noexcept {
  return desk.reading.load(std::memory_order_seq_cst);
}
/// For a consumer: it is stored before the consumer looks again at the state of its group.
inline void set_reading(auto& desk, std::uint64_t epoch_plus_one) noexcept {
  desk.reading.store(epoch_plus_one, std::memory_order_seq_cst);
}
[[nodiscard]] inline std::uint64_t load_lost(const auto& entry) noexcept {
  return entry.group_lost.load(std::memory_order_seq_cst);
}

// ---- both: eviction, states, counters

/// Takes the consumer's number away. Only then may the producer overwrite what it held.
inline void revoke(auto& entry) noexcept {
  entry.consumer_id.store(0, std::memory_order_seq_cst);
  release_fence();
}

inline void store_state(auto& board, StreamState state) noexcept {
  board.state.store(static_cast<std::uint32_t>(state), std::memory_order_seq_cst);
}
[[nodiscard]] inline StreamState load_state(const auto& board) noexcept {
  return static_cast<StreamState>(board.state.load(std::memory_order_seq_cst));
}

/// Changes a word that others may sleep on; wake them afterwards.
inline void bump(auto& word) noexcept { word.fetch_add(1, std::memory_order_seq_cst); }

inline void count(auto& counter, std::uint64_t add = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + add, std::memory_order_relaxed);
}
template <class Word>
void set(Word& word, typename Word::value_type value) noexcept {
  word.store(value, std::memory_order_relaxed);
}
template <class Word>
[[nodiscard]] typename Word::value_type get(const Word& word) noexcept {
  return word.load(std::memory_order_relaxed);
}
template <class Word>
[[nodiscard]] typename Word::value_type get_acquire(const Word& word) noexcept {
  return word.load(std::memory_order_acquire);
}
template <class Word>
void set_release(Word& word, typename Word::value_type value) noexcept {
  word.store(value, std::memory_order_release);
}

}  // namespace ordered
}  // namespace batchcast::inline v0_1

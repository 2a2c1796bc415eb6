// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/identity.hpp>
#include <batchcast/core/layout_version.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/seam.hpp>
#include <batchcast/core/states.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The shared bytes: what lies where in the board and in a desk. docs/ring-format.md is their spec.
// Only the producer writes the board; consumers map it read-only. Each desk has one consumer, which
// writes it, and the producer treats it as hostile. The producer writes it before the consumer sees
// it, and while it is paused. A change here needs a new layout_version.
namespace batchcast::inline v0_1 {

inline constexpr std::array<char, 8> board_magic = {'b', 'c', 'b', 'o', 'a', 'r', 'd', '2'};
inline constexpr std::array<char, 8> desk_magic = {'b', 'c', 'd', 'e', 's', 'k', '0', '2'};
inline constexpr std::size_t cache_line_bytes = 64;

using Shared64 = SharedWord<std::uint64_t>;
using Shared32 = SharedWord<std::uint32_t>;
static_assert(Shared64::is_always_lock_free && sizeof(Shared64) == 8);
static_assert(Shared32::is_always_lock_free && sizeof(Shared32) == 4);

/// One field: its spec, and how it lies in its segment.
struct FieldEntry {
  std::uint64_t capacity;       ///< samples in the circular array: positions are taken modulo it
  std::uint64_t stride_bytes;   ///< from one sample to the next
  std::uint64_t sample_bytes;   ///< of which this many carry data
  std::uint64_t segment_bytes;  ///< of one of the two mappings
  std::uint32_t dtype;
  std::uint32_t rank;                                       ///< dimensions of one sample
  std::array<std::int64_t, limits::dimensions_max> shape;   ///< zeros from `rank` on
  std::array<char, limits::field_name_bytes_max + 1> name;  ///< filled up with NULs
  std::uint64_t axis;  ///< 0: none; else its number + 1. Then a row stands for a sample above
  std::uint64_t reserved[2];
};
static_assert(sizeof(FieldEntry) == 192 && std::has_unique_object_representations_v<FieldEntry>);
static_assert(offsetof(FieldEntry, dtype) == 32 && offsetof(FieldEntry, shape) == 40 &&
              offsetof(FieldEntry, name) == 104);

/// What is fixed when the board is made.
struct BoardHead {
  std::array<char, 8> magic;
  std::uint32_t layout_version;
  std::uint32_t field_count;
  std::uint64_t board_bytes;
  std::array<std::uint8_t, 16> incarnation;  ///< random; another producer run is another stream
  std::uint64_t capacity;                    ///< C: the window that the ring promises
  std::uint64_t samples_per_epoch;  ///< N, or 0 where epochs end when they are announced to
  std::uint64_t epochs;             ///< 0: endless
  std::uint64_t created_at_ns;
  std::uint32_t producer_pid;
  std::uint32_t consumers_max;
  detail::Identity identity;                  ///< of the recipe, where pure; zeros: none
  std::uint64_t recipe_offset, recipe_bytes;  ///< JSON, empty for a stream without one
  std::uint64_t consumers_offset;             ///< ConsumerEntry[consumers_max]
  std::uint64_t epochs_offset;                ///< EpochEntry[limits::epochs_on_board]
  std::uint64_t pure;                         ///< 1 where the recipe determines every byte
  std::uint64_t first_position;               ///< of the stream
  std::uint64_t axis_count;
  std::uint64_t axes_offset;  ///< AxisEntry[axis_count]
  std::uint64_t reserved[5];
};
static_assert(sizeof(BoardHead) == 200 && std::has_unique_object_representations_v<BoardHead>);
static_assert(offsetof(BoardHead, capacity) == 40 && offsetof(BoardHead, producer_pid) == 72 &&
              offsetof(BoardHead, identity) == 80 && offsetof(BoardHead, recipe_offset) == 96);

/// The words that change. Each word that another process polls lies alone in a cache line.
struct BoardProgress {
  alignas(cache_line_bytes) Shared64 published;  ///< all below it may be read
  alignas(cache_line_bytes) Shared64 claimed;    ///< all below it may be being written; never falls
  Shared64 kept_from;  ///< no byte of positions from there on is being overwritten
  alignas(cache_line_bytes) Shared64 epochs_announced;  ///< epochs 0 … n-1 have their ends known
  Shared64 valid_from;  ///< positions below it were jumped over at least in part: not in the ring
  alignas(cache_line_bytes) Shared64
      sleeping_on;            ///< 0: awake; else the consumer_id whose desk it waits for
  Shared64 wake_at;           ///< wake me when that desk's `released` reaches it
  Shared64 rows_sleeping_on;  ///< the same of the thread that waits for rows
  Shared64 rows_wake_at;
  alignas(cache_line_bytes) Shared32 state;        ///< StreamState
  Shared32 outcome;                                ///< StreamState that draining will end in
  Shared64 end_position;                           ///< of the stream, once draining
  Shared32 consumers_to_come;                      ///< that the first publication waits for
  alignas(cache_line_bytes) Shared64 space_waits;  ///< counters of the producer
  Shared64 space_wait_ns;
  Shared64 late_wakeups;
  Shared64 bad_samples;
  std::array<char, limits::state_text_bytes_max> state_text;  ///< complete before `state` says so
  alignas(cache_line_bytes) Shared64 row_wait_sequence;       ///< odd while what follows is written
  Shared64 row_wait_position;  ///< the position whose rows do not fit; position_max: none
};
static_assert(offsetof(BoardProgress, claimed) == 64 &&
              offsetof(BoardProgress, epochs_announced) == 128 &&
              offsetof(BoardProgress, sleeping_on) == 192 &&
              offsetof(BoardProgress, state) == 256 &&
              offsetof(BoardProgress, consumers_to_come) == 272 &&
              offsetof(BoardProgress, space_waits) == 320 &&
              offsetof(BoardProgress, state_text) == 352 &&
              offsetof(BoardProgress, rows_sleeping_on) == 208 &&
              offsetof(BoardProgress, row_wait_sequence) == 2432 && sizeof(BoardProgress) == 2496);

/// One axis, and how many of its rows the ring holds.
struct AxisEntry {
  std::array<char, limits::field_name_bytes_max + 1> name;
  std::uint64_t rows;            ///< A: the arena, which every field on the axis holds at least
  std::uint64_t table_capacity;  ///< RowEntry: positions are taken modulo it
  std::uint64_t table_bytes;     ///< of the table's segment
  std::uint64_t reserved[5];
  alignas(cache_line_bytes) Shared64 published_rows;  ///< rows of positions below `published`
  Shared64 taken_to;  ///< positions below it have their rows, for the producer
  // Of the position that waits for rows (BoardProgress::row_wait_position).
  Shared64 waiting_first;  ///< where its rows begin
  Shared64 waiting_rows;   ///< how many it has; rows_unknown: not known yet
};
static_assert(sizeof(AxisEntry) == 192 && offsetof(AxisEntry, rows) == 64 &&
              offsetof(AxisEntry, published_rows) == 128);
inline constexpr std::uint64_t rows_unknown = ~std::uint64_t{0};

/// The rows of one position on one axis: an axis's table has them at position % table_capacity.
struct RowEntry {
  Shared64 first;
  Shared64 rows;
};
static_assert(sizeof(RowEntry) == 16);

/// The end of one epoch and what its producer vouches for. Epoch e stands at index
/// e % limits::epochs_on_board; `epoch_plus_one` says whose it is, and is stored last.
struct EpochEntry {
  Shared64 epoch_plus_one;
  Shared64 start;
  Shared64 end;
  Shared64 receipt_count;
  Shared64 receipt_hash;
  Shared64 receipt_known;  ///< 0 where some of its positions were jumped over
  std::uint64_t reserved[2];
};
static_assert(sizeof(EpochEntry) == 64);

/// One consumer, as the producer knows it.
struct ConsumerEntry {
  Shared64
      consumer_id;  ///< unique number of the consumer here; 0: none. Changes when it is evicted.
  Shared64 admitted_at;
  Shared32 pid;
  Shared32 pace;
  Shared32 paused;  ///< between epochs with `let_go`: does not gate
  Shared32 moves;   ///< changes when the consumer is asked to join another ring of the stream
  std::array<char, limits::consumer_name_bytes_max + 1> name;
  std::array<char, limits::consumer_name_bytes_max + 1> group;  ///< of ranks; empty: none
  std::uint32_t rank;                                           ///< below world
  std::uint32_t world;                                          ///< 0: no group
  std::uint32_t tail;                                           ///< Tail; of a rank
  std::uint32_t padding[5];
  alignas(cache_line_bytes) Shared32 wake_word;  ///< bumped to wake it
  // For a rank: the state of its group.
  Shared32 group_sequence;  ///< changes with each of the following
  Shared64 group_lost;      ///< 0, or a rank that is gone: LostRank::word
  Shared64 lost_from;       ///< the first epoch that is no longer available because of that
  Shared64 epochs_met;      ///< each rank has ended all epochs below this one
  Shared64 group_receipt;   ///< GroupReceipt of the last epoch below `epochs_met`
  Shared64 ends_epoch;      ///< epoch + 1 of one that a rank left early; 0: none
  Shared64 ends_at;         ///< where it left: no rank begins a batch of that epoch here or beyond
  Shared64 ends_at_row;     ///< inside the sample there
};
static_assert(offsetof(ConsumerEntry, name) == 32 && offsetof(ConsumerEntry, group) == 96 &&
              offsetof(ConsumerEntry, rank) == 160 && offsetof(ConsumerEntry, wake_word) == 192 &&
              offsetof(ConsumerEntry, group_lost) == 200 &&
              offsetof(ConsumerEntry, epochs_met) == 216 &&
              offsetof(ConsumerEntry, ends_at) == 240 &&
              offsetof(ConsumerEntry, ends_at_row) == 248 && sizeof(ConsumerEntry) == 256);

/// How the receipts of all ranks of a group together compare with the producer's.
enum class GroupReceipt : std::uint8_t { unknown, matched, mismatched };

/// One consumer's desk, in a memfd for it alone.
struct Desk {
  std::array<char, 8> magic;
  std::uint32_t layout_version;
  std::uint32_t index;
  std::uint64_t consumer_id;
  alignas(cache_line_bytes) Shared64 released;  ///< all below it may be overwritten
  Shared32 release_sequence;                    ///< changes with every release
  alignas(cache_line_bytes) Shared32 sleeping;
  Shared32 batch_size;
  Shared64 wake_at;      ///< wake me when `published` reaches it
  Shared64 skipping;     ///< e + 1: skips epoch e up to its end, which is not known yet
  Shared64 wake_at_row;  ///< or wake me when `published_rows` reaches it,
  Shared32 wake_axis;    ///< of this axis: its number + 1. 0: none
  alignas(cache_line_bytes) Shared64 cursor;  ///< next position to deliver
  Shared64 samples;
  Shared64 batches;
  Shared64 waits;
  Shared64 wait_ns;
  Shared64 late_wakeups;
  Shared64 leases_held;
  Shared64 oldest_lease_since_ns;
  alignas(cache_line_bytes) Shared64 epochs_matched;
  Shared64 epochs_mismatched;
  Shared64 epochs_unknown;
  Shared64 skipped;       ///< samples that `free` pace lost to the producer
  Shared64 reading;       ///< of a rank: epoch + 1 that it has begun, 0 between epochs
  Shared64 oversized;     ///< samples with more rows than the consumer's budget
  Shared64 dropped_rows;  ///< that are in no run, with a window
  std::uint32_t reserved[2];
};
static_assert(offsetof(Desk, released) == 64 && offsetof(Desk, sleeping) == 128 &&
              offsetof(Desk, cursor) == 192 && offsetof(Desk, epochs_matched) == 256 &&
              offsetof(Desk, reading) == 288 && offsetof(Desk, wake_at_row) == 152 &&
              offsetof(Desk, oversized) == 296 && offsetof(Desk, dropped_rows) == 304 &&
              sizeof(Desk) == 320);

inline constexpr std::size_t progress_offset = 256;
inline constexpr std::size_t fields_offset = progress_offset + sizeof(BoardProgress) +
                                             cache_line_bytes -
                                             sizeof(BoardProgress) % cache_line_bytes;
inline constexpr std::size_t desk_bytes_min = sizeof(Desk);
static_assert(sizeof(BoardHead) <= progress_offset && progress_offset % cache_line_bytes == 0);
static_assert(fields_offset % cache_line_bytes == 0);

}  // namespace batchcast::inline v0_1

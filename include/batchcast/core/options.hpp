// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The choices that options of trainers, of producers and of the command line offer. Their defaults
// are in ConsumerOptions and ProducerOptions, and here in brackets.
namespace batchcast::inline v0_1 {

// ---- Chosen by a trainer.

/// Whether the producer waits for a consumer. [lockstep]
enum class Pace : std::uint8_t {
  lockstep,  ///< the producer waits: the consumer gets every sample, without a copy
  free,      ///< it does not: batches are copies, and the consumer misses overwritten samples
};

/// Where a consumer begins. [rewind]
enum class Join : std::uint8_t {
  rewind,      ///< start of the current epoch if a ring holds it or a head opens, else of the next
  next_epoch,  ///< the first epoch of which no sample was made yet
  now,         ///< the newest position: a partial first epoch
  at,          ///< a cursor from a checkpoint
};

/// Whether the producer waits for a consumer between its loops too. [hold]
enum class BetweenEpochs : std::uint8_t {
  hold,    ///< it waits: the consumer keeps its place
  let_go,  ///< it waits only inside a loop; every loop joins again (test and validation streams)
};

/// What happens to the samples at an epoch's end that do not fill a batch. In a group of ranks that
/// is the batch of all its ranks together. [keep]
enum class Tail : std::uint8_t {
  keep,  ///< a short batch; each rank gets as many as the others, the few left over are dropped
  drop,  ///< no batch
  pad,   ///< a full batch, a copy: the samples are repeated from their first on (Batch::padding)
};

/// Which memory a batch shows. [shared]
enum class Access : std::uint8_t {
  shared,        ///< the ring's own, read-only, no copy
  private_copy,  ///< a copy, private to this consumer and writable
};

/// As many rows of one axis as a batch may have.
struct Budget {
  std::string axis = {};
  std::uint64_t rows = 0;  ///< 0: no budget

  [[nodiscard]] bool is_set() const noexcept { return rows != 0 || !axis.empty(); }
  friend bool operator==(const Budget&, const Budget&) = default;
};

/// Batches of one length, cut through samples: as many runs of as many consecutive rows of one
/// axis.
struct Window {
  std::string axis = {};
  std::uint64_t rows = 0;   ///< of a run. 0: no window
  std::uint64_t runs = 1;   ///< of a batch
  std::uint64_t extra = 0;  ///< rows that each run shows besides: those that follow it

  [[nodiscard]] bool is_set() const noexcept { return rows != 0 || !axis.empty() || extra != 0; }
  friend bool operator==(const Window&, const Window&) = default;
};

/// What a consumer with a budget does about a sample that has more rows by itself. [error]
enum class Oversize : std::uint8_t {
  error,     ///< `next` throws; the consumer stays where it is
  alone,     ///< a batch of that sample alone, with all of its rows
  truncate,  ///< a batch of that sample alone, with as many of its first rows as the budget has
  drop,      ///< it is left out
};

/// What a consumer at `free` pace does about samples that the ring no longer has. [skip]
enum class OnMiss : std::uint8_t { skip, error };

/// What a consumer does when its producer dies in the middle of a stream that can be made again.
/// [wait]
enum class OnProducerGone : std::uint8_t {
  wait,   ///< it waits for the next producer, and goes on with exactly its next sample
  error,  ///< `next` throws ProducerGone
};

// ---- Chosen for a producer.

/// What the producer does about a consumer that keeps the others waiting. [report]
enum class OnStall : std::uint8_t {
  report,     ///< it is reported, if it makes no progress for `stall_timeout_ms`
  evict,      ///< it is evicted then
  own_place,  ///< it is reported then; one that is slow gets a head, and the others go on
};

/// Whether a ring lies in huge pages. [automatic: above 4 GiB, where the system has them]
enum class HugePages : std::uint8_t { automatic, off, transparent, explicit_pages };

// ---- Told by a producer.

/// Why a producer makes no samples at present.
enum class WaitsFor : std::uint8_t {
  nothing,    ///< it does make samples
  space,      ///< the ring is full: its slowest consumer has to release samples
  demand,     ///< it is as far ahead of its consumers as it may be, or no consumer asks for samples
  consumers,  ///< fewer than `wait_for` have come
};

// ---- Names, as the command line and messages write them.

[[nodiscard]] std::string_view name_of(Pace) noexcept;
[[nodiscard]] std::string_view name_of(Join) noexcept;
[[nodiscard]] std::string_view name_of(BetweenEpochs) noexcept;
[[nodiscard]] std::string_view name_of(Tail) noexcept;
[[nodiscard]] std::string_view name_of(Access) noexcept;
[[nodiscard]] std::string_view name_of(Oversize) noexcept;
[[nodiscard]] std::string_view name_of(OnMiss) noexcept;
[[nodiscard]] std::string_view name_of(OnProducerGone) noexcept;
[[nodiscard]] std::string_view name_of(OnStall) noexcept;
[[nodiscard]] std::string_view name_of(HugePages) noexcept;
[[nodiscard]] std::string_view name_of(WaitsFor) noexcept;

[[nodiscard]] std::optional<Pace> parse_pace(std::string_view) noexcept;
[[nodiscard]] std::optional<Oversize> parse_oversize(std::string_view) noexcept;
[[nodiscard]] std::optional<Join> parse_join(std::string_view) noexcept;
[[nodiscard]] std::optional<BetweenEpochs> parse_between_epochs(std::string_view) noexcept;

}  // namespace batchcast::inline v0_1

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
  rewind,      ///< start of the current epoch if the ring still holds it, else of the next one
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

/// What a consumer at `free` pace does about samples that the ring no longer has. [skip]
enum class OnMiss : std::uint8_t { skip, error };

// ---- Chosen for a producer.

/// What the producer does about a consumer that makes no progress for `stall_timeout_ms`. [report]
enum class OnStall : std::uint8_t { report, evict };

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
[[nodiscard]] std::string_view name_of(OnMiss) noexcept;
[[nodiscard]] std::string_view name_of(OnStall) noexcept;
[[nodiscard]] std::string_view name_of(HugePages) noexcept;
[[nodiscard]] std::string_view name_of(WaitsFor) noexcept;

[[nodiscard]] std::optional<Pace> parse_pace(std::string_view) noexcept;
[[nodiscard]] std::optional<Join> parse_join(std::string_view) noexcept;
[[nodiscard]] std::optional<BetweenEpochs> parse_between_epochs(std::string_view) noexcept;

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What a trainer and a producer choose between. Shared by ring, control, both ends and the command
// line.
namespace batchcast::inline v0_1 {

/// How a consumer and the producer pace each other.
enum class Pace : std::uint8_t {
  lockstep,  ///< gates the producer: gets every sample, without a copy
  free,      ///< never gates: its batches are copied, and what the ring no longer has is missed
};

/// Where a consumer begins.
enum class Join : std::uint8_t {
  rewind,      ///< start of the current epoch if the ring still holds it, else of the next one
  next_epoch,  ///< the first epoch of which nothing was made yet
  now,         ///< the newest position: a partial first epoch
  at,          ///< a cursor from a checkpoint
};

/// What a consumer does to the producer between its loops.
enum class BetweenEpochs : std::uint8_t {
  hold,    ///< keeps its place and gates
  let_go,  ///< gates only inside a loop; every loop joins anew (test and validation streams)
};

/// The samples at an epoch's end that do not fill a batch.
enum class Tail : std::uint8_t { keep, drop };

/// Whose memory a batch shows.
enum class Access : std::uint8_t {
  shared,        ///< the ring's own, read-only, no copy
  private_copy,  ///< a copy of this consumer's own, writable
};

/// What a `free` consumer does about samples that the ring no longer has.
enum class OnMiss : std::uint8_t { skip, error };

/// What the producer does about a consumer that makes no progress for its stall time-out.
enum class OnStall : std::uint8_t { report, evict };

/// What a producer waits for that makes no samples at present.
enum class WaitsFor : std::uint8_t {
  nothing,  ///< it does not wait
  space,    ///< the ring is full: its slowest consumer has to let go of samples
  demand,   ///< it is as far ahead of its consumers as it may be, or no consumer asks for samples
};

/// Whether a ring lies in huge pages. `automatic`: above 4 GiB, where the system has them.
enum class HugePages : std::uint8_t { automatic, off, transparent, explicit_pages };

[[nodiscard]] std::string_view name_of(Pace) noexcept;
[[nodiscard]] std::string_view name_of(Join) noexcept;
[[nodiscard]] std::string_view name_of(BetweenEpochs) noexcept;
[[nodiscard]] std::string_view name_of(Tail) noexcept;
[[nodiscard]] std::string_view name_of(Access) noexcept;
[[nodiscard]] std::string_view name_of(OnMiss) noexcept;
[[nodiscard]] std::string_view name_of(OnStall) noexcept;
[[nodiscard]] std::string_view name_of(WaitsFor) noexcept;

[[nodiscard]] std::optional<Pace> parse_pace(std::string_view) noexcept;
[[nodiscard]] std::optional<Join> parse_join(std::string_view) noexcept;
[[nodiscard]] std::optional<BetweenEpochs> parse_between_epochs(std::string_view) noexcept;

}  // namespace batchcast::inline v0_1

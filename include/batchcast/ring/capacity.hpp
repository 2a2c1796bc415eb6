// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/schema.hpp>

#include <cstdint>
#include <vector>

// How much memory a ring takes for a given number of samples; src/ring/ring_plan.hpp plans the
// ring.
namespace batchcast::inline v0_1 {

struct FieldPlan {
  std::uint64_t capacity = 0;      ///< samples in the circular array; a whole number of granules
  std::uint64_t stride_bytes = 0;  ///< from one sample to the next
  std::uint64_t sample_bytes = 0;

  [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return capacity * stride_bytes; }
  [[nodiscard]] bool padded() const noexcept { return stride_bytes != sample_bytes; }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t position) const noexcept {
    return position % capacity * stride_bytes;
  }
};

/// A ring may lose 1 / lost_part of its memory to rounding; beyond that, its samples are padded.
inline constexpr std::uint64_t lost_part = 10;
/// The same on a GPU, whose granules are large. What a shorter ring does not take stays free there,
/// and contiguous batches spare each trainer a copy.
inline constexpr std::uint64_t lost_part_on_device = 2;

/// The smallest size from which on `plan_ring` always gives at least `samples`.
[[nodiscard]] std::uint64_t memory_for(const Schema& schema, std::uint64_t samples,
                                       std::uint64_t granularity,
                                       std::uint64_t lost_parts = lost_part);

}  // namespace batchcast::inline v0_1

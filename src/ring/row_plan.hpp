// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/ring_plan.hpp"

#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1 {

/// What is wanted of one axis, in the order of `axes_of`.
struct AxisWish {
  double rows_per_sample = 0;  ///< the mean, which divides the memory
  std::uint64_t rows = 0;      ///< in the ring, instead of by the mean; 0: by the mean
};

/// `plan_ring` for a schema with axes: as many samples, and rows of their mean number, as fit. Rows
/// are never padded, and neither are samples unless nothing fits otherwise. Throws InvalidArgument,
/// with the bytes that it takes, if not even one sample fits.
[[nodiscard]] RingPlan plan_ring_of_rows(const Schema& schema, const std::vector<AxisWish>& axes,
                                         std::uint64_t memory_bytes, std::uint64_t granularity);

/// The memory with which that plan has at least `rows` of each axis, in the same order. A number
/// that is wished of an axis is raised to that.
[[nodiscard]] std::uint64_t memory_for_rows(const Schema& schema, std::vector<AxisWish> axes,
                                            const std::vector<std::uint64_t>& rows,
                                            std::uint64_t granularity);

}  // namespace batchcast::inline v0_1

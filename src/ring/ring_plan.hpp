// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/board.hpp>
#include <batchcast/ring/capacity.hpp>

#include <cstdint>
#include <vector>

// How many samples fit into how much memory, and where each lies.
namespace batchcast::inline v0_1 {

struct RingPlan {
  std::uint64_t capacity = 0;  ///< C: what every field holds at least
  std::uint64_t granularity = 0;
  std::vector<FieldPlan> fields;    ///< of one on an axis, rows stand for samples
  std::vector<AxisSpec> axes = {};  ///< with their tables

  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    std::uint64_t total = 0;
    for (const FieldPlan& field : fields) total += field.segment_bytes();
    for (const AxisSpec& axis : axes) total += axis.table_bytes;
    return total;
  }
};

/// The largest ring that takes at most `memory_bytes`. Each field's array is rounded up to the
/// granularity, a power of two. Where rounding loses more than 1 / `lost_parts` of the memory,
/// strides are padded. The padding is as little as brings the loss within that limit, or as near as
/// possible. `schema` has sample_id last and passed `check_schema`. Throws InvalidArgument, with
/// the bytes that it takes, if not even one sample fits.
[[nodiscard]] RingPlan plan_ring(const Schema& schema, std::uint64_t memory_bytes,
                                 std::uint64_t granularity, std::uint64_t lost_parts = lost_part);

}  // namespace batchcast::inline v0_1

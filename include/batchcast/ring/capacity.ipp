// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/capacity.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/granules.hpp>

#include <algorithm>
#include <bit>
#include <vector>

namespace batchcast::inline v0_1 {
BATCHCAST_INLINE std::uint64_t memory_for(const Schema& schema, std::uint64_t samples,
                                          std::uint64_t granularity, std::uint64_t lost_parts) {
  BATCHCAST_ASSERT(std::has_single_bit(granularity) && !schema.empty());
  const std::vector<FieldPlan> fields = detail::capacity::unpadded(schema);
  std::uint64_t used = 0;
  for (const FieldPlan& field : fields)
    used = detail::capacity::sum(used, detail::capacity::product(samples, field.sample_bytes));
  // With the samples and the part that may be lost, a plan that stays unpadded holds them as well.
  const std::uint64_t unless_padded = detail::capacity::sum(used, used / (lost_parts - 1) + 1);
  return std::min(
      detail::capacity::bytes_of(fields, samples, granularity),
      std::max(detail::capacity::smallest_bytes(fields, samples, granularity), unless_padded));
}

}  // namespace batchcast::inline v0_1

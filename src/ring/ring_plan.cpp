// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "ring/ring_plan.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/granules.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>

namespace batchcast::inline v0_1 {
namespace detail::capacity {
namespace {

/// The largest capacity whose ring takes at most `memory` bytes; 0 if none does.
std::uint64_t largest_capacity(const std::vector<FieldPlan>& fields, std::uint64_t memory,
                               std::uint64_t granularity) noexcept {
  std::uint64_t fits = 0;
  std::uint64_t beyond = sum(memory, 1);
  while (beyond - fits > 1) {
    const std::uint64_t middle = fits + (beyond - fits) / 2;
    (bytes_of(fields, middle, granularity) <= memory ? fits : beyond) = middle;
  }
  return fits;
}

/// Bytes of `memory` that hold no sample of the window of `capacity`.
std::uint64_t lost_bytes(const std::vector<FieldPlan>& fields, std::uint64_t memory,
                         std::uint64_t capacity) noexcept {
  std::uint64_t used = 0;
  for (const FieldPlan& field : fields) {
    used = sum(used, product(capacity, field.sample_bytes));
  }
  return memory - used;
}

/// Takes padding back as far as the loss stays at most `lost` bytes.
void pad_less(RingPlan& plan, std::uint64_t memory, std::uint64_t lost) {
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    std::vector<FieldPlan> fields = plan.fields;
    const std::uint64_t padded = fields[i].stride_bytes;
    for (fields[i].stride_bytes = fields[i].sample_bytes; fields[i].stride_bytes < padded;) {
      const std::uint64_t capacity = largest_capacity(fields, memory, plan.granularity);
      if (capacity != 0 && lost_bytes(fields, memory, capacity) <= lost) {
        plan.capacity = capacity;
        plan.fields = fields;
        break;
      }
      const std::uint64_t power = std::uint64_t{1} << std::countr_zero(fields[i].stride_bytes);
      fields[i].stride_bytes = rounded_up(fields[i].stride_bytes, power * 2);
    }
  }
}

}  // namespace
}  // namespace detail::capacity

RingPlan plan_ring(const Schema& schema, std::uint64_t memory_bytes, std::uint64_t granularity,
                   std::uint64_t lost_parts) {
  BATCHCAST_ASSERT(std::has_single_bit(granularity) && !schema.empty() && lost_parts > 1);
  const std::uint64_t memory = std::min(memory_bytes, detail::capacity::too_much - 1);
  RingPlan plan;
  plan.granularity = granularity;
  plan.fields = detail::capacity::unpadded(schema);
  plan.capacity = detail::capacity::largest_capacity(plan.fields, memory, granularity);
  // It takes the best of no and ever more padding. Each step costs little and may win much.
  std::vector<FieldPlan> candidate = plan.fields;
  std::uint64_t lost = detail::capacity::lost_bytes(candidate, memory, plan.capacity);
  while (lost > memory / lost_parts && detail::capacity::pad_once(candidate, granularity)) {
    const std::uint64_t capacity =
        detail::capacity::largest_capacity(candidate, memory, granularity);
    if (capacity <= plan.capacity) continue;
    plan.capacity = capacity;
    plan.fields = candidate;
    lost = detail::capacity::lost_bytes(candidate, memory, capacity);
  }
  if (plan.capacity == 0) {
    const std::uint64_t least =
        detail::capacity::smallest_bytes(detail::capacity::unpadded(schema), 1, granularity);
    throw InvalidArgument(
        text("batchcast: one sample of this schema takes a ring of {} (whole pages of {} for each "
             "field), and memory is {}. Give it more: --memory {}.",
             bytes_text(least), bytes_text(granularity), bytes_text(memory_bytes),
             memory_argument(least)));
  }
  detail::capacity::pad_less(plan, memory, std::max(lost, memory / lost_parts));
  for (FieldPlan& field : plan.fields) {
    field.capacity = detail::capacity::rounded_up(
        plan.capacity, detail::capacity::unit_of(field.stride_bytes, granularity));
  }
  return plan;
}

}  // namespace batchcast::inline v0_1

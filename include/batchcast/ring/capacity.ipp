// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/capacity.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace batchcast::inline v0_1 {
namespace detail::capacity {

inline constexpr std::uint64_t too_much = limits::position_max;

inline std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) || result > too_much ? too_much : result;
}
inline std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a >= too_much || b >= too_much - a ? too_much : a + b;
}

/// Samples in the smallest whole number of granules; a granule is a power of two.
inline std::uint64_t unit_of(std::uint64_t stride, std::uint64_t granularity) noexcept {
  return granularity >> std::min(std::countr_zero(stride), std::countr_zero(granularity));
}

inline std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return product(value / unit + (value % unit != 0 ? 1 : 0), unit);
}

inline std::uint64_t bytes_of(const std::vector<FieldPlan>& fields, std::uint64_t capacity,
                              std::uint64_t granularity) noexcept {
  std::uint64_t total = 0;
  for (const FieldPlan& field : fields) {
    const std::uint64_t samples = rounded_up(capacity, unit_of(field.stride_bytes, granularity));
    total = sum(total, product(samples, field.stride_bytes));
  }
  return total;
}

/// The largest capacity whose ring takes at most `memory` bytes; 0 if none does.
inline std::uint64_t largest_capacity(const std::vector<FieldPlan>& fields, std::uint64_t memory,
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
inline std::uint64_t lost_bytes(const std::vector<FieldPlan>& fields, std::uint64_t memory,
                                std::uint64_t capacity) noexcept {
  std::uint64_t used = 0;
  for (const FieldPlan& field : fields) {
    used = sum(used, product(capacity, field.sample_bytes));
  }
  return memory - used;
}

/// Pads the field whose rounding may cost most to the next stride that a larger power of two
/// divides: its rounding unit halves at least. False once no field's rounding costs anything.
inline bool pad_once(std::vector<FieldPlan>& fields, std::uint64_t granularity) noexcept {
  FieldPlan* worst = nullptr;
  std::uint64_t worst_bytes = 0;
  for (FieldPlan& field : fields) {
    const std::uint64_t unit = unit_of(field.stride_bytes, granularity);
    const std::uint64_t bytes = product(unit, field.stride_bytes);
    if (unit == 1 || bytes <= worst_bytes) continue;
    worst = &field;
    worst_bytes = bytes;
  }
  if (worst == nullptr) return false;
  const std::uint64_t power = std::uint64_t{1} << std::countr_zero(worst->stride_bytes);
  worst->stride_bytes = rounded_up(worst->stride_bytes, power * 2);
  return true;
}

/// Takes back what padding turns out not to be needed for at most `lost` bytes of loss.
inline void pad_less(RingPlan& plan, std::uint64_t memory, std::uint64_t lost) {
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

inline std::vector<FieldPlan> unpadded(const Schema& schema) {
  std::vector<FieldPlan> fields;
  for (const FieldSpec& field : schema) {
    fields.push_back({0, field.byte_count(), field.byte_count()});
  }
  return fields;
}

/// The least that any padding makes of it.
inline std::uint64_t smallest_bytes(std::vector<FieldPlan> fields, std::uint64_t samples,
                                    std::uint64_t granularity) noexcept {
  std::uint64_t best = bytes_of(fields, samples, granularity);
  while (pad_once(fields, granularity)) {
    best = std::min(best, bytes_of(fields, samples, granularity));
  }
  return best;
}

}  // namespace detail::capacity

BATCHCAST_INLINE RingPlan plan_ring(const Schema& schema, std::uint64_t memory_bytes,
                                    std::uint64_t granularity, std::uint64_t lost_parts) {
  BATCHCAST_ASSERT(std::has_single_bit(granularity) && !schema.empty() && lost_parts > 1);
  const std::uint64_t memory = std::min(memory_bytes, detail::capacity::too_much - 1);
  RingPlan plan;
  plan.granularity = granularity;
  plan.fields = detail::capacity::unpadded(schema);
  plan.capacity = detail::capacity::largest_capacity(plan.fields, memory, granularity);
  // The best of: as it is, and ever more padding. Each step costs little and may win much.
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

BATCHCAST_INLINE std::uint64_t memory_for(const Schema& schema, std::uint64_t samples,
                                          std::uint64_t granularity, std::uint64_t lost_parts) {
  BATCHCAST_ASSERT(std::has_single_bit(granularity) && !schema.empty());
  const std::vector<FieldPlan> fields = detail::capacity::unpadded(schema);
  std::uint64_t used = 0;
  for (const FieldPlan& field : fields)
    used = detail::capacity::sum(used, detail::capacity::product(samples, field.sample_bytes));
  // From the samples and the part that may be lost on, a plan that stays unpadded holds them as
  // well.
  const std::uint64_t unless_padded = detail::capacity::sum(used, used / (lost_parts - 1) + 1);
  return std::min(
      detail::capacity::bytes_of(fields, samples, granularity),
      std::max(detail::capacity::smallest_bytes(fields, samples, granularity), unless_padded));
}

}  // namespace batchcast::inline v0_1

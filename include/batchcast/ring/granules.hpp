// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/ring/capacity.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

// The arithmetic of arrays that take whole granules of memory. Sums and products stay below
// `too_much`.
namespace batchcast::inline v0_1::detail::capacity {

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

/// Pads the field whose rounding may cost most to the next stride that a larger power of two
/// divides. Its rounding unit halves at least. False once no field's rounding costs anything.
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

inline std::vector<FieldPlan> unpadded(const Schema& schema) {
  std::vector<FieldPlan> fields;
  for (const FieldSpec& field : schema) {
    fields.push_back({0, field.byte_count(), field.byte_count()});
  }
  return fields;
}

/// The fewest bytes that any padding needs.
inline std::uint64_t smallest_bytes(std::vector<FieldPlan> fields, std::uint64_t samples,
                                    std::uint64_t granularity) noexcept {
  std::uint64_t best = bytes_of(fields, samples, granularity);
  while (pad_once(fields, granularity)) {
    best = std::min(best, bytes_of(fields, samples, granularity));
  }
  return best;
}

}  // namespace batchcast::inline v0_1::detail::capacity

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/ring/capacity.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <algorithm>
#include <numeric>
#include <string>

namespace batchcast {
namespace {

constexpr std::uint64_t too_much = limits::position_max;

std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) || result > too_much ? too_much : result;
}
std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a >= too_much || b >= too_much - a ? too_much : a + b;
}

/// Samples in the smallest whole number of granules.
std::uint64_t unit_of(std::uint64_t stride, std::uint64_t granularity) noexcept {
  return granularity / std::gcd(stride, granularity);
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return product(value / unit + (value % unit != 0 ? 1 : 0), unit);
}

std::uint64_t bytes_of(const std::vector<FieldPlan>& fields, std::uint64_t capacity,
                       std::uint64_t granularity) noexcept {
  std::uint64_t total = 0;
  for (const FieldPlan& field : fields) {
    const std::uint64_t samples = rounded_up(capacity, unit_of(field.stride_bytes, granularity));
    total = sum(total, product(samples, field.stride_bytes));
  }
  return total;
}

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

/// Bytes that hold no sample of the window of `capacity`, padding included.
std::uint64_t lost_bytes(const std::vector<FieldPlan>& fields, std::uint64_t memory,
                         std::uint64_t capacity) noexcept {
  std::uint64_t used = 0;
  for (const FieldPlan& field : fields) {
    used = sum(used, product(capacity, field.sample_bytes));
  }
  return memory - used;
}

/// The field whose rounding may cost most.
FieldPlan& coarsest(std::vector<FieldPlan>& fields, std::uint64_t granularity) noexcept {
  FieldPlan* worst = &fields.front();
  for (FieldPlan& field : fields) {
    if (std::lcm(field.stride_bytes, granularity) > std::lcm(worst->stride_bytes, granularity)) {
      worst = &field;
    }
  }
  return *worst;
}

/// The next stride that is a multiple of a larger power of two: the rounding unit halves at least.
std::uint64_t padded_once(std::uint64_t stride) noexcept {
  const std::uint64_t power = (stride & (~stride + 1)) * 2;
  return rounded_up(stride, power);
}

}  // namespace

RingPlan plan_ring(const Schema& schema, std::uint64_t memory_bytes, std::uint64_t granularity) {
  BATCHCAST_ASSERT(granularity != 0 && (granularity & (granularity - 1)) == 0 && !schema.empty());
  RingPlan plan;
  plan.granularity = granularity;
  for (const FieldSpec& field : schema) {
    plan.fields.push_back({0, field.byte_count(), field.byte_count()});
  }
  // The best of: as it is, and ever more padding. Each step costs little and may win much.
  std::vector<FieldPlan> candidate = plan.fields;
  plan.capacity = largest_capacity(candidate, memory_bytes, granularity);
  while (lost_bytes(candidate, memory_bytes, plan.capacity) > memory_bytes / 10) {
    FieldPlan& worst = coarsest(candidate, granularity);
    if (unit_of(worst.stride_bytes, granularity) == 1) break;
    worst.stride_bytes = padded_once(worst.stride_bytes);
    const std::uint64_t capacity = largest_capacity(candidate, memory_bytes, granularity);
    if (capacity > plan.capacity) {
      plan.capacity = capacity;
      plan.fields = candidate;
    }
  }
  if (plan.capacity == 0) {
    throw InvalidArgument("batchcast: a ring of this schema takes at least " +
                          std::to_string(memory_for(schema, 1, granularity)) +
                          " bytes, and memory is " + std::to_string(memory_bytes) +
                          ". Raise it (--memory).");
  }
  for (FieldPlan& field : plan.fields) {
    field.capacity = rounded_up(plan.capacity, unit_of(field.stride_bytes, granularity));
  }
  return plan;
}

std::uint64_t memory_for(const Schema& schema, std::uint64_t samples, std::uint64_t granularity) {
  std::vector<FieldPlan> fields;
  for (const FieldSpec& field : schema) {
    fields.push_back({0, field.byte_count(), field.byte_count()});
  }
  std::uint64_t best = bytes_of(fields, samples, granularity);
  for (;;) {
    FieldPlan& worst = coarsest(fields, granularity);
    if (unit_of(worst.stride_bytes, granularity) == 1) return best;
    worst.stride_bytes = padded_once(worst.stride_bytes);
    best = std::min(best, bytes_of(fields, samples, granularity));
  }
}

}  // namespace batchcast

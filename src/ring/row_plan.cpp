// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "ring/row_plan.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/granules.hpp>
#include <batchcast/ring/layout.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace batchcast::inline v0_1 {
namespace {

using namespace detail::capacity;

/// A ring under way: of each field whether it holds samples, or rows of which axis.
struct Draft {
  std::vector<FieldPlan> samples;  ///< fields without an axis
  std::vector<std::vector<FieldPlan>> rows;
  const std::vector<AxisWish>& wishes;
  std::uint64_t granularity;

  [[nodiscard]] std::uint64_t rows_for(std::size_t axis, std::uint64_t capacity) const noexcept {
    const AxisWish& wish = wishes[axis];
    if (wish.rows != 0) return wish.rows;
    const double wanted = std::ceil(static_cast<double>(capacity) * wish.rows_per_sample);
    constexpr double most = 9e18;
    return wanted >= most ? too_much
                          : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t capacity) const noexcept {
    std::uint64_t total = bytes_of(samples, capacity, granularity);
    for (std::size_t axis = 0; axis < rows.size(); ++axis) {
      total = sum(total, bytes_of(rows[axis], rows_for(axis, capacity), granularity));
      total = sum(total, table_bytes(capacity));
    }
    return total;
  }
  [[nodiscard]] std::uint64_t table_bytes(std::uint64_t capacity) const noexcept {
    return rounded_up(product(capacity, sizeof(RowEntry)), granularity);
  }
  [[nodiscard]] std::uint64_t largest(std::uint64_t memory) const noexcept {
    std::uint64_t fits = 0;
    std::uint64_t beyond = sum(memory, 1);
    while (beyond - fits > 1) {
      const std::uint64_t middle = fits + (beyond - fits) / 2;
      (bytes(middle) <= memory ? fits : beyond) = middle;
    }
    return fits;
  }
};

[[noreturn]] void throw_too_small(const Draft& draft, std::uint64_t memory) {
  const std::uint64_t least = draft.bytes(1);
  throw InvalidArgument(text(
      "batchcast: one sample of this schema takes a ring of {} with the rows asked for (whole "
      "pages of {} for each field and each axis), and memory is {}. Give it more: --memory {}.",
      bytes_text(least), bytes_text(draft.granularity), bytes_text(memory),
      memory_argument(least)));
}

std::size_t axis_of(const FieldSpec& field, const std::vector<std::string>& names) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), field.axis) -
                                  names.begin());
}

Draft draft_of(const Schema& schema, const std::vector<AxisWish>& axes, std::uint64_t granularity) {
  BATCHCAST_ASSERT(std::has_single_bit(granularity));
  const std::vector<std::string> names = axes_of(schema);
  BATCHCAST_ASSERT(names.size() == axes.size());
  Draft draft{{}, std::vector<std::vector<FieldPlan>>(axes.size()), axes, granularity};
  for (const FieldSpec& field : schema) {
    const FieldPlan plan{0, field.byte_count(), field.byte_count()};
    (field.on_axis() ? draft.rows[axis_of(field, names)] : draft.samples).push_back(plan);
  }
  return draft;
}

}  // namespace

std::uint64_t memory_for_rows(const Schema& schema, std::vector<AxisWish> axes,
                              const std::vector<std::uint64_t>& rows, std::uint64_t granularity) {
  std::uint64_t capacity = 1;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    AxisWish& wish = axes[axis];
    if (wish.rows != 0) {
      wish.rows = std::max(wish.rows, rows[axis]);
    } else {
      const double samples = std::ceil(static_cast<double>(rows[axis]) / wish.rows_per_sample);
      capacity = std::max(capacity, static_cast<std::uint64_t>(samples));
    }
  }
  return draft_of(schema, axes, granularity).bytes(capacity);
}

RingPlan plan_ring_of_rows(const Schema& schema, const std::vector<AxisWish>& axes,
                           std::uint64_t memory_bytes, std::uint64_t granularity) {
  const std::vector<std::string> names = axes_of(schema);
  const std::uint64_t memory = std::min(memory_bytes, too_much - 1);
  Draft draft = draft_of(schema, axes, granularity);
  RingPlan plan;
  plan.granularity = granularity;
  for (plan.capacity = draft.largest(memory); plan.capacity == 0;) {
    if (!pad_once(draft.samples, granularity)) throw_too_small(draft, memory_bytes);
    plan.capacity = draft.largest(memory);
  }
  std::size_t next = 0;
  std::vector<std::size_t> next_on(axes.size());
  for (const FieldSpec& field : schema) {
    const bool has_rows = field.on_axis();
    const std::size_t axis = has_rows ? axis_of(field, names) : 0;
    FieldPlan one = has_rows ? draft.rows[axis][next_on[axis]++] : draft.samples[next++];
    const std::uint64_t least = has_rows ? draft.rows_for(axis, plan.capacity) : plan.capacity;
    one.capacity = rounded_up(least, unit_of(one.stride_bytes, granularity));
    plan.fields.push_back(one);
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::uint64_t bytes = draft.table_bytes(plan.capacity);
    plan.axes.push_back(
        {names[axis], draft.rows_for(axis, plan.capacity), bytes / sizeof(RowEntry), bytes});
  }
  return plan;
}

}  // namespace batchcast::inline v0_1

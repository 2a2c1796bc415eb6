// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/field_table.hpp>
#include <batchcast/ring/run.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The fields of batches that a window cuts, as if each run were a sample. They are those of its
/// axis, and the samples' ids, last. Does not change once it is made.
class WindowFields {
 public:
  WindowFields(const FieldTable& ring, const Run& run)
      : axis_(run.rows_axis), rows_(run.window_rows), extra_(run.window_extra) {
    std::vector<FieldInfo> fields;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      FieldInfo field = ring[i];
      const bool is_id = i == ring.sample_id_index();
      if (!is_id && field.axis != static_cast<int>(axis_)) continue;
      if (!is_id) {
        const std::uint64_t shown = rows_ + extra_;
        field.spec.axis.clear();
        field.spec.shape.insert(field.spec.shape.begin(), static_cast<std::int64_t>(shown));
        field.axis = -1;
        field.elements *= shown;
        field.stride_bytes *= rows_;
        field.sample_bytes *= shown;
      }
      fields.push_back(std::move(field));
      indices_.push_back(i);
    }
    fields_ = FieldTable(std::move(fields), ring.axis_name(axis_));
  }

  [[nodiscard]] bool fits(const Run& run) const noexcept {
    return run.rows_axis == axis_ && run.window_rows == rows_ && run.window_extra == extra_;
  }
  [[nodiscard]] const FieldTable& fields() const noexcept { return fields_; }
  /// Which fields of the ring these are.
  [[nodiscard]] const std::vector<std::size_t>& indices() const noexcept { return indices_; }

 private:
  std::size_t axis_;
  std::uint64_t rows_;
  std::uint64_t extra_;
  FieldTable fields_;
  std::vector<std::size_t> indices_;
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// Type and shape of a tensor, row-major. An empty shape is a scalar's.
struct TensorSpec {
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape = {};

  /// Valid for a shape that `check_schema` would accept.
  [[nodiscard]] std::size_t element_count() const noexcept {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
  }
  [[nodiscard]] std::size_t byte_count() const noexcept { return element_count() * size_of(dtype); }

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// The name of what samples have different numbers of, such as tokens. It is the first extent of
/// fields. All fields on an axis have equally many rows in a sample.
struct Axis {
  // A template, so that the shapes {} and {0} are none.
  template <class Name>
  requires std::convertible_to<Name, std::string_view>
  explicit Axis(Name&& axis_name) : name(std::string_view(axis_name)) {}

  std::string name;
};

/// One named tensor of a sample. `shape` is that of one sample; of a field on an axis, that of one
/// row.
struct FieldSpec : TensorSpec {
  FieldSpec() = default;
  FieldSpec(std::string field_name, DType field_dtype, std::vector<std::int64_t> field_shape = {})
      : TensorSpec{field_dtype, std::move(field_shape)}, name(std::move(field_name)) {}

  /// A field on an axis: `{"boxes", DType::f32, Axis{"boxes"}, {4}}`.
  FieldSpec(std::string field_name, DType field_dtype, Axis field_axis,
            std::vector<std::int64_t> row_shape = {})
      : TensorSpec{field_dtype, std::move(row_shape)},
        name(std::move(field_name)),
        axis(std::move(field_axis.name)) {}

  std::string name;
  std::string axis;  ///< empty: every sample has this shape

  [[nodiscard]] bool on_axis() const noexcept { return !axis.empty(); }

  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};

/// A stream's fields in order. `sample_id` is not listed by users: it is always there, last.
using Schema = std::vector<FieldSpec>;

inline constexpr std::string_view sample_id_name = "sample_id";

/// The axes of a schema, in the order in which its fields name them.
[[nodiscard]] std::vector<std::string> axes_of(const Schema& schema);

/// The number of an axis there; -1 for an empty name.
[[nodiscard]] int axis_index(const Schema& schema, const std::string& axis);

/// Throws InvalidArgument, naming the field, if the schema is empty or has a bad field. A field is
/// bad if it is unnamed, repeated, zero-sized, negative or overflowing, or has a name that is taken
/// (`sample_id`).
void check_schema(const Schema& schema);

/// JSON text of a schema that passes `check_schema`; checkpoints compare it.
[[nodiscard]] std::string schema_to_json(const Schema& schema);

/// `image f32 [3,224,224]`, `boxes f32 [boxes,4]`
[[nodiscard]] std::string to_text(const FieldSpec& field);

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// One field as both ends of a stream see it: its spec and how its samples lie.
struct FieldInfo {
  FieldSpec spec;
  std::size_t elements = 0;
  std::uint64_t sample_bytes = 0;
  std::uint64_t stride_bytes = 0;
  bool on_device = false;  ///< its samples are in the memory of a GPU
  int axis = -1;           ///< its axis, as `axes_of` counts; -1: none. Then sizes are of a row
};

/// The fields of a stream, `sample_id` last.
class FieldTable {
 public:
  FieldTable() = default;
  explicit FieldTable(std::vector<FieldInfo> fields) : fields_(std::move(fields)) {}
  /// Of batches that a window cuts along that axis: they have its fields alone.
  FieldTable(std::vector<FieldInfo> fields, std::string window_axis)
      : fields_(std::move(fields)), window_axis_(std::move(window_axis)) {}

  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  [[nodiscard]] const FieldInfo& operator[](std::size_t index) const noexcept {
    return fields_[index];
  }
  /// Empty but for batches that a window cuts.
  [[nodiscard]] const std::string& window_axis() const noexcept { return window_axis_; }
  [[nodiscard]] std::size_t sample_id_index() const noexcept { return fields_.size() - 1; }

  /// Index of the field of that name. Throws InvalidArgument, which lists the names and says which
  /// of them is near.
  [[nodiscard]] std::size_t index_of(std::string_view name) const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].spec.name == name) return i;
    }
    throw_unknown(name);
  }

  /// The number of an axis. Throws InvalidArgument, which lists them.
  [[nodiscard]] std::size_t axis_of(std::string_view name) const {
    for (const FieldInfo& field : fields_) {
      if (field.axis >= 0 && field.spec.axis == name) return static_cast<std::size_t>(field.axis);
    }
    throw_unknown_axis(name);
  }
  [[nodiscard]] const std::string& axis_name(std::size_t axis) const {
    for (const FieldInfo& field : fields_) {
      if (field.axis == static_cast<int>(axis)) return field.spec.axis;
    }
    throw_unknown_axis("?");
  }

  /// The field, checked to be seen as T. Throws InvalidArgument where its dtype is another.
  template <class T>
  [[nodiscard]] FieldView<T> view(std::size_t index, std::byte* data, std::size_t samples,
                                  std::size_t stride_bytes) const {
    const FieldInfo& field = fields_[index];
    if (!is_viewed_as<T>(field.spec.dtype)) throw_dtype(field);
    const std::size_t elements =
        std::is_same_v<std::remove_cv_t<T>, std::byte> ? field.sample_bytes : field.elements;
    return FieldView<T>(reinterpret_cast<T*>(data), samples, field.spec.shape, elements,
                        stride_bytes);
  }

  [[noreturn]] void throw_on_axis(std::size_t index) const {
    const FieldSpec& field = fields_[index].spec;
    throw InvalidArgument(
        text("batchcast: samples have different numbers of rows in field {}, so they are no tensor "
             "of one shape. Take rows(\"{}\"): its values and offsets, or one sample's.",
             to_text(field), field.name));
  }
  [[noreturn]] void throw_not_on_axis(std::size_t index) const {
    const FieldSpec& field = fields_[index].spec;
    throw InvalidArgument(
        text("batchcast: every sample has the same shape in field {}, which lies on no axis. Look "
             "at it with field().",
             to_text(field)));
  }

 private:
  [[noreturn]] void throw_unknown_axis(std::string_view name) const {
    std::vector<std::string> names;
    for (const FieldInfo& field : fields_) {
      if (field.axis == static_cast<int>(names.size())) names.push_back(field.spec.axis);
    }
    std::string known;
    for (const std::string& one : names) known += text("{}`{}`", known.empty() ? "" : ", ", one);
    throw InvalidArgument(
        known.empty()
            ? text("batchcast: the stream has no axis `{}`: all its samples have one shape.", name)
            : text("batchcast: the stream has no axis `{}`. It has {}.{}", name, known,
                   detail::did_you_mean(name, names)));
  }
  [[noreturn]] void throw_unknown(std::string_view name) const {
    std::string known;
    std::vector<std::string> names;
    for (const FieldInfo& field : fields_) {
      known += known.empty() ? "" : ", ";
      known += to_text(field.spec);
      names.push_back(field.spec.name);
    }
    if (!window_axis_.empty()) {
      throw InvalidArgument(text(
          "batchcast: these batches have no field `{}`: a window cuts them through samples, so "
          "they have the fields of the axis `{}` alone. They have {}.{}",
          name, window_axis_, known, detail::did_you_mean(name, names)));
    }
    throw InvalidArgument(text("batchcast: the stream has no field `{}`. It has {}.{}", name, known,
                               detail::did_you_mean(name, names)));
  }
  [[noreturn]] static void throw_dtype(const FieldInfo& field) {
    throw InvalidArgument(
        text("batchcast: field `{}` is {} and cannot be looked at as another type. Ask for the "
             "type that fits, or for std::byte (f16 and bf16 are seen as std::uint16_t).",
             field.spec.name, name_of(field.spec.dtype)));
  }

  std::vector<FieldInfo> fields_;
  std::string window_axis_;
};

}  // namespace batchcast::inline v0_1

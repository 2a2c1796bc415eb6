// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/schema.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/utf8.hpp>

#include <algorithm>
#include <set>

namespace batchcast::inline v0_1 {
namespace detail::schema {

[[noreturn]] inline void refuse(const std::string& what) {
  throw InvalidArgument(text("batchcast: the schema cannot be served: {}.", what));
}

/// The name for a message, which is safe for a terminal and not as long as it may be.
inline std::string shown(std::string_view name) {
  if (name.size() <= limits::field_name_bytes_max) return printable(name);
  return printable(name.substr(0, limits::field_name_bytes_max)) + "…";
}

inline void check_axis(const FieldSpec& field) {
  const auto is_in_names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string& axis = field.axis;
  if (axis.size() > limits::field_name_bytes_max ||
      !std::all_of(axis.begin(), axis.end(), is_in_names) || is_digit(axis.front())) {
    refuse(
        text("field `{}` lies on the axis `{}`, and the name of an axis has up to {} letters, "
             "digits, `_`, `-` and `.`, and begins with no digit",
             shown(field.name), shown(axis), limits::field_name_bytes_max));
  }
}

inline void check_field(const FieldSpec& field) {
  const std::string name = text("field `{}`", shown(field.name));
  if (field.name.size() > limits::field_name_bytes_max) {
    refuse(text("{} has a name of more than {} bytes", name, limits::field_name_bytes_max));
  }
  if (field.name == sample_id_name) {
    refuse("it names a field `sample_id`, which is always there: fill it with sample_ids()");
  }
  for (const char c : field.name) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7f) {
      refuse(text("{} has a blank or unprintable character in its name", name));
    }
  }
  if (!detail::is_utf8(field.name)) refuse("the name of a field is no valid UTF-8");
  if (static_cast<std::size_t>(field.dtype) >= dtype_names.size()) {
    refuse(text("{} has an unknown dtype", name));
  }
  if (field.on_axis()) check_axis(field);
  if (field.shape.size() + (field.on_axis() ? 1 : 0) > limits::dimensions_max) {
    refuse(text("{} has more than {} dimensions", name, limits::dimensions_max));
  }
  std::uint64_t bytes = size_of(field.dtype);
  for (const std::int64_t extent : field.shape) {
    if (extent <= 0) {
      refuse(text("{} has an extent of {}; every dimension has at least 1", name, extent));
    }
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
        bytes >= limits::position_max / 2) {
      refuse(text("{} is larger than any memory: its extents overflow", name));
    }
  }
}

}  // namespace detail::schema

BATCHCAST_INLINE std::vector<std::string> axes_of(const Schema& schema) {
  std::vector<std::string> axes;
  for (const FieldSpec& field : schema) {
    if (!field.on_axis() || std::find(axes.begin(), axes.end(), field.axis) != axes.end()) continue;
    axes.push_back(field.axis);
  }
  return axes;
}

BATCHCAST_INLINE int axis_index(const Schema& schema, const std::string& axis) {
  if (axis.empty()) return -1;
  const std::vector<std::string> axes = axes_of(schema);
  const auto found = std::find(axes.begin(), axes.end(), axis);
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

BATCHCAST_INLINE void check_schema(const Schema& schema) {
  if (schema.empty()) detail::schema::refuse("it has no field");
  const std::size_t axes = axes_of(schema).size();
  if (schema.size() + axes + 1 > limits::fields_max) {
    detail::schema::refuse(text("it has {} fields{}, and at most {} can be", schema.size(),
                                axes == 0 ? "" : text(" and {} axes", axes),
                                limits::fields_max - 1));
  }
  std::set<std::string_view> names;
  for (const FieldSpec& field : schema) {
    if (field.name.empty()) detail::schema::refuse("it has a field without a name");
    detail::schema::check_field(field);
    if (!names.insert(field.name).second)
      detail::schema::refuse(text("it has two fields `{}`", detail::schema::shown(field.name)));
  }
}

BATCHCAST_INLINE std::string schema_to_json(const Schema& schema) {
  std::string json = "[";
  for (const FieldSpec& field : schema) {
    json += json.size() == 1 ? "{" : ",{";
    json += R"("dtype":")" + std::string(name_of(field.dtype)) + R"(","name":")";
    for (const char c : field.name) {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
    json += R"(","shape":[)";
    if (field.on_axis()) {
      json += text(R"("{}"{})", field.axis, field.shape.empty() ? "" : ",");
    }
    for (std::size_t i = 0; i < field.shape.size(); ++i) {
      json += text("{}{}", i == 0 ? "" : ",", field.shape[i]);
    }
    json += "]}";
  }
  return json + "]";
}

BATCHCAST_INLINE std::string to_text(const FieldSpec& field) {
  std::string shown = text("{} {} [", field.name, name_of(field.dtype));
  if (field.on_axis()) shown += field.axis + (field.shape.empty() ? "" : ",");
  for (std::size_t i = 0; i < field.shape.size(); ++i) {
    shown += text("{}{}", i == 0 ? "" : ",", field.shape[i]);
  }
  return shown + "]";
}

}  // namespace batchcast::inline v0_1

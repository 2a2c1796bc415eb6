// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/schema.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/utf8.hpp>

#include <set>

namespace batchcast::inline v0_1 {
namespace detail::schema {

[[noreturn]] inline void refuse(const std::string& what) {
  throw InvalidArgument(text("batchcast: the schema cannot be served: {}.", what));
}

inline void check_field(const FieldSpec& field) {
  const std::string name = text("field `{}`", field.name);
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
  if (field.shape.size() > limits::dimensions_max) {
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

BATCHCAST_INLINE void check_schema(const Schema& schema) {
  if (schema.empty()) detail::schema::refuse("it has no field");
  if (schema.size() + 1 > limits::fields_max) {
    detail::schema::refuse(
        text("it has {} fields, and at most {} can be", schema.size(), limits::fields_max - 1));
  }
  std::set<std::string_view> names;
  for (const FieldSpec& field : schema) {
    if (field.name.empty()) detail::schema::refuse("it has a field without a name");
    detail::schema::check_field(field);
    if (!names.insert(field.name).second)
      detail::schema::refuse(text("it has two fields `{}`", field.name));
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
    for (std::size_t i = 0; i < field.shape.size(); ++i) {
      json += text("{}{}", i == 0 ? "" : ",", field.shape[i]);
    }
    json += "]}";
  }
  return json + "]";
}

BATCHCAST_INLINE std::string to_text(const FieldSpec& field) {
  std::string shown = text("{} {} [", field.name, name_of(field.dtype));
  for (std::size_t i = 0; i < field.shape.size(); ++i) {
    shown += text("{}{}", i == 0 ? "" : ",", field.shape[i]);
  }
  return shown + "]";
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// The place of a member in the text of a JSON object.
struct JsonMember {
  std::size_t begin = 0;  ///< its key's first quote
  std::size_t value = 0;
  std::size_t end = 0;  ///< after the value
};

/// The end of the string whose first quote is at `at`, after its last quote.
[[nodiscard]] constexpr std::size_t json_string_end(std::string_view json,
                                                    std::size_t at) noexcept {
  for (std::size_t i = at + 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      return i + 1;
    }
  }
  return json.size();
}

/// The end of the value that begins at `at`: the comma or closing bracket that follows it.
[[nodiscard]] constexpr std::size_t json_value_end(std::string_view json, std::size_t at) noexcept {
  std::size_t depth = 0;
  for (std::size_t i = at; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      i = json_string_end(json, i) - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
      return i;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return json.size();
}

/// A member of the object itself, not of an object inside it. It reads compact text as JSON
/// libraries write it, because a trainer has no JSON library. For any other text the result is
/// nothing, or some part of the text.
[[nodiscard]] constexpr std::optional<JsonMember> json_member(std::string_view json,
                                                              std::string_view key) noexcept {
  for (std::size_t at = 1; !json.empty() && json[0] == '{' && at < json.size();) {
    if (json[at] != '"') return std::nullopt;
    const std::size_t key_end = json_string_end(json, at);
    if (key_end >= json.size() || json[key_end] != ':') return std::nullopt;
    const std::size_t end = json_value_end(json, key_end + 1);
    if (json.substr(at + 1, key_end - at - 2) == key) return JsonMember{at, key_end + 1, end};
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace batchcast::inline v0_1::detail

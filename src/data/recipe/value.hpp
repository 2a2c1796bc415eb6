// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What TOML and JSON have in common: a recipe before it has a meaning.
struct RecipeValue {
  enum class Kind : std::uint8_t { boolean, integer, number, text, list, table, other };

  Kind kind = Kind::other;
  std::size_t line = 0;  ///< from 1; 0: unknown
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;  ///< of an integer too
  std::string text;
  std::vector<std::string> keys;   ///< of a table, each with the item at the same place
  std::vector<RecipeValue> items;  ///< of a list or table

  [[nodiscard]] bool is(Kind wanted) const noexcept { return kind == wanted; }
  /// Null if there is none.
  [[nodiscard]] const RecipeValue* find(std::string_view key) const noexcept;
  /// The value as a message shows it, always short.
  [[nodiscard]] std::string describe() const;
};

/// Deeper recipes are refused.
inline constexpr int recipe_depth_max = 16;

/// Both throw InvalidArgument with recipe_place() in front.
[[nodiscard]] RecipeValue parse_recipe_toml(std::string_view text, std::string_view origin);
[[nodiscard]] RecipeValue parse_recipe_json(std::string_view text, std::string_view origin);

/// How a message begins: `batchcast: FILE:LINE: `, without LINE where it is unknown.
[[nodiscard]] std::string recipe_place(std::string_view origin, std::size_t line);

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/value.hpp"

#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

const RecipeValue* RecipeValue::find(std::string_view key) const noexcept {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::string RecipeValue::describe() const {
  constexpr std::size_t shown_max = 60;
  switch (kind) {
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::integer:
      return batchcast::text("{}", integer);
    case Kind::number:
      return number == number && number - number == 0 ? nlohmann::json(number).dump()
                                                      : "a number that is not finite";
    case Kind::text: {
      std::size_t shown = std::min(text.size(), shown_max);
      // Half a character would make the message itself invalid.
      while (shown < text.size() && shown > 0 &&
             (static_cast<unsigned char>(text[shown]) & 0xc0U) == 0x80U) {
        --shown;
      }
      return batchcast::text("\"{}{}", printable(text.substr(0, shown)),
                             shown < text.size() ? "…\"" : "\"");
    }
    case Kind::list:
      return "a list";
    case Kind::table:
      return "a table";
    case Kind::other:
      break;
  }
  return "something else";
}

std::string recipe_place(std::string_view origin, std::size_t line) {
  return line == 0 ? text("batchcast: {}: ", origin) : text("batchcast: {}:{}: ", origin, line);
}

}  // namespace batchcast::inline v0_1::detail

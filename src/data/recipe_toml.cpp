// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe_value.hpp"

#include <batchcast/core/error.hpp>

#include <toml++/toml.h>

namespace batchcast::detail {
namespace {

class TomlReader {
 public:
  explicit TomlReader(std::string_view origin) : origin_(origin) {}

  [[nodiscard]] RecipeValue read(const toml::node& node, int depth) const {
    RecipeValue value;
    value.line = node.source().begin.line;
    if (depth > recipe_depth_max) {
      throw InvalidArgument(recipe_place(origin_, value.line) + "tables and lists are too deep.");
    }
    if (const auto* table = node.as_table()) {
      value.kind = RecipeValue::Kind::table;
      for (const auto& [key, item] : *table) {
        value.keys.emplace_back(key.str());
        value.items.push_back(read(item, depth + 1));
        // A key's own line is where somebody looks; a table's is that of its first key at times.
        if (const auto line = key.source().begin.line; line != 0) value.items.back().line = line;
      }
    } else if (const auto* list = node.as_array()) {
      value.kind = RecipeValue::Kind::list;
      for (const toml::node& item : *list) value.items.push_back(read(item, depth + 1));
    } else {
      read_scalar(node, value);
    }
    return value;
  }

 private:
  static void read_scalar(const toml::node& node, RecipeValue& value) {
    if (const auto* boolean = node.as_boolean()) {
      value.kind = RecipeValue::Kind::boolean;
      value.boolean = boolean->get();
    } else if (const auto* integer = node.as_integer()) {
      value.kind = RecipeValue::Kind::integer;
      value.integer = integer->get();
      value.number = static_cast<double>(value.integer);
    } else if (const auto* number = node.as_floating_point()) {
      value.kind = RecipeValue::Kind::number;
      value.number = number->get();
    } else if (const auto* text = node.as_string()) {
      value.kind = RecipeValue::Kind::text;
      value.text = text->get();
    }
  }

  std::string_view origin_;
};

}  // namespace

RecipeValue parse_recipe_toml(std::string_view text, std::string_view origin) {
  try {
    const toml::table table = toml::parse(text);
    return TomlReader(origin).read(table, 0);
  } catch (const toml::parse_error& error) {
    throw InvalidArgument(recipe_place(origin, error.source().begin.line) +
                          "this is not TOML: " + std::string(error.description()) + ".");
  }
}

}  // namespace batchcast::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/value.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <limits>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

RecipeValue read(const Json& node, std::string_view origin, int depth) {
  if (depth > recipe_depth_max) {
    throw InvalidArgument(text("{}objects and lists are too deep.", recipe_place(origin, 0)));
  }
  RecipeValue value;
  if (node.is_object()) {
    value.kind = RecipeValue::Kind::table;
    for (auto item = node.begin(); item != node.end(); ++item) {
      value.keys.push_back(item.key());
      value.items.push_back(read(item.value(), origin, depth + 1));
    }
  } else if (node.is_array()) {
    value.kind = RecipeValue::Kind::list;
    for (const Json& item : node) value.items.push_back(read(item, origin, depth + 1));
  } else if (node.is_boolean()) {
    value.kind = RecipeValue::Kind::boolean;
    value.boolean = node.get<bool>();
  } else if (node.is_number()) {
    const bool fits = node.is_number_integer() &&
                      (!node.is_number_unsigned() ||
                       node.get<std::uint64_t>() <=
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    value.kind = fits ? RecipeValue::Kind::integer : RecipeValue::Kind::number;
    if (fits) value.integer = node.get<std::int64_t>();
    value.number = node.get<double>();
  } else if (node.is_string()) {
    value.kind = RecipeValue::Kind::text;
    value.text = node.get<std::string>();
  }
  return value;
}

}  // namespace

RecipeValue parse_recipe_json(std::string_view json, std::string_view origin) {
  Json node;
  try {
    node = Json::parse(json);
  } catch (const Json::exception& error) {
    throw InvalidArgument(text("{}this is not JSON: {}.", recipe_place(origin, 0), error.what()));
  }
  return read(node, origin, 0);
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/recipe/board_recipe.hpp"

#include <algorithm>

namespace batchcast::cli {
namespace {

using Json = nlohmann::json;

/// Null where there is no such member, or nothing that could have one.
Json member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

bool says(const Json& object, const char* key, const std::string& text) {
  const Json value = member(object, key);
  return value.is_string() && value.get<std::string>() == text;
}

Json list(Json value) { return value.is_array() ? std::move(value) : Json::array(); }

bool is_of(const Json& joint, const std::string& field) {
  const Json names = list(member(joint, "fields"));
  return std::find(names.begin(), names.end(), Json(field)) != names.end();
}

}  // namespace

BoardRecipe::BoardRecipe(const std::string& recipe_json)
    : all_(Json::parse(recipe_json, nullptr, false)) {}

Json BoardRecipe::order() const {
  // A synthetic recipe has the mode alone.
  if (const Json mode = member(all_, "order"); mode.is_string()) return {{"mode", mode}};
  return member(member(all_, "recipe"), "order");
}

std::vector<std::string> BoardRecipe::field_names() const {
  std::vector<std::string> names;
  for (const Json& field : list(member(member(all_, "recipe"), "fields"))) {
    if (const Json name = member(field, "name"); name.is_string()) names.push_back(name);
  }
  return names;
}

Json BoardRecipe::origin_of(const std::string& field) const {
  const Json found = field_of(field);
  Json origin = Json::object();
  for (const char* const key : {"from", "draws", "views", "scale", "kind"}) {
    if (Json value = member(found, key); !value.is_null()) origin[key] = std::move(value);
  }
  for (const Json& joint : list(member(member(all_, "recipe"), "joints"))) {
    if (!is_of(joint, field) || origin.contains("views")) continue;
    if (Json value = member(joint, "views"); !value.is_null()) origin["views"] = std::move(value);
  }
  return origin;
}

Json BoardRecipe::joints() const { return list(member(member(all_, "recipe"), "joints")); }

Json BoardRecipe::field_of(const std::string& name) const {
  for (const Json& field : list(member(member(all_, "recipe"), "fields"))) {
    if (says(field, "name", name)) return field;
  }
  return {};
}

Json BoardRecipe::stages_of(const std::string& field) const {
  Json stages = list(member(field_of(field), "stages"));
  // Those of joints stand after the field's own decoding.
  const bool decodes = !stages.empty() && says(stages.front(), "stage", "decode");
  auto place = stages.begin() + (decodes ? 1 : 0);
  for (const Json& joint : list(member(member(all_, "recipe"), "joints"))) {
    if (!is_of(joint, field)) continue;
    for (const Json& stage : list(member(joint, "stages"))) place = stages.insert(place, stage) + 1;
  }
  return stages;
}

bool BoardRecipe::has_views(const std::string& field) const {
  if (!member(field_of(field), "views").is_null()) return true;
  const Json joints = list(member(member(all_, "recipe"), "joints"));
  return std::any_of(joints.begin(), joints.end(), [&](const Json& joint) {
    return is_of(joint, field) && !member(joint, "views").is_null();
  });
}

bool BoardRecipe::is_mask(const std::string& field) const {
  const Json found = field_of(field);
  if (!member(found, "kind").is_null()) return says(found, "kind", "mask");
  const Json stages = list(member(found, "stages"));
  return !stages.empty() && says(stages.front(), "stage", "decode") &&
         says(stages.front(), "mode", "index");
}

bool BoardRecipe::is_label(const std::string& field) const {
  return says(field_of(field), "from", "label");
}

std::vector<std::string> BoardRecipe::class_names() const {
  std::vector<std::string> names;
  for (const Json& name : list(member(member(all_, "source"), "classes"))) {
    names.push_back(name.is_string() ? name.get<std::string>() : std::string());
  }
  return names;
}

}  // namespace batchcast::cli

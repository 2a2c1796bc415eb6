// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/recipe.hpp>

#include "data/mask_field.hpp"
#include "data/recipe/presets.hpp"
#include "data/recipe/recipe_reader.hpp"
#include "data/stage/container.hpp"
#include "data/stage/stage_choices.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace batchcast::inline v0_1 {
namespace {

using Json = nlohmann::json;

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;
constexpr std::string_view json_origin = "the recipe's JSON";

const detail::Preset* find_preset(std::string_view name) {
  for (const detail::Preset& preset : detail::presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::string about_presets(std::string_view wanted) {
  std::vector<std::string> names;
  for (const detail::Preset& preset : detail::presets()) names.emplace_back(preset.name);
  return text("{} `batchcast recipe --list` lists the presets.",
              detail::did_you_mean(wanted, names));
}

std::string read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw InvalidArgument(
        text("batchcast: {}: there is neither a preset nor a recipe file of that name.{}",
             printable(path), about_presets(path)));
  }
  if (status.type() == std::filesystem::file_type::directory) {
    throw InvalidArgument(
        text("batchcast: {}: a recipe is a TOML file or a preset, and this is a directory.{}",
             printable(path), about_presets(path)));
  }
  std::ifstream file(path, std::ios::binary);
  std::string content(file_bytes_max + 1, '\0');
  if (file) file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file && !file.eof()) {
    throw InvalidArgument(
        text("batchcast: {}: this recipe file cannot be read. Look at its permissions.",
             printable(path)));
  }
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.size() > file_bytes_max) {
    throw InvalidArgument(text(
        "batchcast: {}: a recipe file has at most 1 MiB. Is this another file?", printable(path)));
  }
  return content;
}

Json field_to_json(const FieldRecipe& field) {
  Json object = {{"name", field.name},
                 {"from", field.from.empty() ? field.name : field.from},
                 {"stages", detail::stages_json(field.stages, text("field `{}`", field.name))},
                 {"draws", field.draws}};
  if (field.views != 0) object["views"] = field.views;
  if (field.scale != 1) object["scale"] = field.scale;
  if (!field.axis.empty()) object["axis"] = field.axis;
  if (field.kind) object["kind"] = detail::field_kind_names[static_cast<std::size_t>(*field.kind)];
  return object;
}

bool pads_with_fill(const Json& stage) {
  for (const char* key : {"padding", "fill", "padding_mode"}) {
    if (!stage.contains(key)) return false;
  }
  if (stage["stage"] != "pad" && stage["stage"] != "random_crop") return false;
  if (stage["padding_mode"] != "constant" || stage["fill"] == 0) return false;
  const Json& sides = stage["padding"];
  return stage.value("pad_if_needed", false) ||
         std::any_of(sides.begin(), sides.end(), [](const Json& side) { return side != 0; });
}

/// Without a `mask_fill` a joint pads masks with 0, not with its `fill`. The first releases used
/// the `fill`: where that makes other bytes, the identity is another one too.
void name_mask_fill(Json& stages) {
  for (Json& stage : stages) {
    if (!stage.contains("mask_fill") && pads_with_fill(stage)) stage["mask_fill"] = 0;
  }
}

Json joint_to_json(const JointRecipe& joint, const std::vector<FieldRecipe>& fields) {
  Json object = {{"fields", joint.fields},
                 {"stages", detail::stages_json(joint.stages, "a joint")},
                 {"draws", joint.draws}};
  const auto is_mask_of_it = [&](const FieldRecipe& field) {
    return detail::is_mask(field) &&
           std::find(joint.fields.begin(), joint.fields.end(), field.name) != joint.fields.end();
  };
  if (std::any_of(fields.begin(), fields.end(), is_mask_of_it)) name_mask_fill(object["stages"]);
  if (joint.views != 0) object["views"] = joint.views;
  return object;
}

}  // namespace

Recipe Recipe::load(std::string_view name_or_path, const StageCatalog& catalog) {
  if (const detail::Preset* preset = find_preset(name_or_path)) {
    return from_toml(preset->toml, text("preset {}", name_or_path), catalog);
  }
  const std::string path(name_or_path);
  return from_toml(read_file(path), path, catalog);
}

Recipe Recipe::from_toml(std::string_view text, std::string_view origin,
                         const StageCatalog& catalog) {
  return detail::read_recipe(detail::parse_recipe_toml(text, origin), origin, {"field", "joint"},
                             catalog);
}

Recipe Recipe::from_json(std::string_view json, const StageCatalog& catalog) {
  return detail::read_recipe(detail::parse_recipe_json(json, json_origin), json_origin,
                             {"fields", "joints"}, catalog);
}

std::string Recipe::to_json() const {
  Json visits = {{"mode", name_of(order)}};
  if (order == OrderMode::blocks) {
    visits["block_samples"] = blocks.block_samples;
    visits["window_blocks"] = blocks.window_blocks;
  }
  if (order == OrderMode::packed) {
    visits["axis"] = packed.axis;
    visits["budget"] = packed.budget;
    visits["among"] = packed.among;
  }
  Json all = Json::array();
  for (const FieldRecipe& field : fields) all.push_back(field_to_json(field));
  Json whole = {{"order", std::move(visits)}, {"fields", std::move(all)}};
  if (max_tokens != 0) {
    whole["max_tokens"] = max_tokens;
    whole["overlong"] = name_of(overlong);
  }
  for (const JointRecipe& joint : joints) whole["joints"].push_back(joint_to_json(joint, fields));
  try {
    return whole.dump();
  } catch (const Json::type_error&) {
    throw InvalidArgument("batchcast: a name in the recipe is no valid UTF-8.");
  }
}

std::span<const std::string_view> Recipe::preset_names() noexcept {
  static const auto names = [] {
    std::vector<std::string_view> made;
    for (const detail::Preset& preset : detail::presets()) made.push_back(preset.name);
    return made;
  }();
  return names;
}

std::string_view Recipe::preset_toml(std::string_view name) {
  const detail::Preset* preset = find_preset(name);
  if (preset == nullptr) {
    throw InvalidArgument(
        text("batchcast: there is no preset `{}`.{}", printable(name), about_presets(name)));
  }
  return preset->toml;
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"
#include "data/recipe_text.hpp"

#include <batchcast/core/error.hpp>

#include <string>
#include <vector>

// Recipes of a few lines, resolved.
namespace batchcast::test {

inline detail::ResolvedRecipe resolved(const std::string& toml) {
  return detail::resolve(recipe(toml));
}

/// Why a recipe is not resolved; `nothing` where it is.
inline std::string unresolved(const std::string& toml) {
  try {
    static_cast<void>(resolved(toml));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

inline std::string field(const std::string& name, const std::string& stages,
                         const std::string& more = "") {
  return "[[field]]\nname = \"" + name + "\"\n" + more + "\nstages = [" + stages + "]\n";
}

/// A stage that holds stages.
inline std::string holding(const std::string& name, const std::string& stages,
                           const std::string& more = "") {
  return "{ stage = \"" + name + "\", stages = [" + stages + "]" + more + " }";
}

/// Of each stage the group and the path by which it draws.
inline std::vector<std::string> paths_of(const detail::ResolvedField& field) {
  std::vector<std::string> paths;
  for (const detail::NamedStage& stage : field.stages) {
    paths.push_back(stage.group + " " + stage.path);
  }
  return paths;
}

inline const std::string flip = R"({ stage = "horizontal_flip" }, )";
inline const std::string crop = R"({ stage = "random_crop", size = 8 }, )";
inline const std::string jitter = R"({ stage = "color_jitter", hue = 0.1 }, )";

}  // namespace batchcast::test

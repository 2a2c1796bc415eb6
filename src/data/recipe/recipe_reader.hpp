// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include "data/recipe/value.hpp"

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// How the formats differ: TOML's tables are singular, `[[field]]`.
struct RecipeFormat {
  std::string_view fields_key;
  std::string_view joints_key;
};

/// Throws InvalidArgument, with `origin` and line, where the value is no recipe.
[[nodiscard]] Recipe read_recipe(const RecipeValue& root, std::string_view origin,
                                 const RecipeFormat& format, const StageCatalog& catalog);

}  // namespace batchcast::inline v0_1::detail

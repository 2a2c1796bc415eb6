// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/recipe/board_recipe.hpp"

#include <string>
#include <vector>

namespace batchcast::cli {

/// A sentence for each `normalize` with a mean or a std of pixels from 0 to 255. There they are 0
/// to 1.
[[nodiscard]] std::vector<std::string> scale_remarks(const BoardRecipe& recipe);

}  // namespace batchcast::cli

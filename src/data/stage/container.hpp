// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/stage.hpp>

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Stages as a recipe's JSON has them. Messages name `owner` as the one that has them. Throws
/// InvalidArgument for a stage whose parameters are no JSON object.
[[nodiscard]] nlohmann::json stages_json(std::span<const RecipeStage> stages,
                                         const std::string& owner);

}  // namespace batchcast::inline v0_1::detail

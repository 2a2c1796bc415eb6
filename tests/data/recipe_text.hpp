// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include <string_view>

namespace batchcast::test {

inline Recipe recipe(std::string_view toml) { return Recipe::from_toml(toml, "test.toml"); }

}  // namespace batchcast::test

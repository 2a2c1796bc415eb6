// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

#include "fuzz.hpp"
#include "recipe_names.hpp"

// A recipe as it stands on the board.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string json;
  try {
    const batchcast::Recipe recipe = batchcast::Recipe::from_json(fuzz::text_of(data, size));
    json = recipe.to_json();
    fuzz::check_names(recipe);
  } catch (const batchcast::InvalidArgument&) {
    return 0;
  }
  BATCHCAST_ASSERT(batchcast::Recipe::from_json(json).to_json() == json);
  return 0;
}

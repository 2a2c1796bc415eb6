// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

#include "fuzz.hpp"
#include "recipe_names.hpp"

// A recipe as its user writes it: what is accepted goes to JSON and back as it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string json;
  try {
    const batchcast::Recipe recipe =
        batchcast::Recipe::from_toml(fuzz::text_of(data, size), "input.toml");
    json = recipe.to_json();
    fuzz::check_names(recipe);
  } catch (const batchcast::InvalidArgument&) {
    return 0;
  }
  BATCHCAST_ASSERT(batchcast::Recipe::from_json(json).to_json() == json);
  return 0;
}

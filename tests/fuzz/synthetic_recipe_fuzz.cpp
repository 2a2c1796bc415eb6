// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/synthetic.hpp>

#include "fuzz.hpp"

namespace {

template <typename Parse>
void check(Parse parse) {
  batchcast::SyntheticRecipe recipe;
  try {
    recipe = parse();
    recipe.check();
  } catch (const batchcast::InvalidArgument&) {
    return;
  }
  BATCHCAST_ASSERT(batchcast::SyntheticRecipe::from_json(recipe.to_json()) == recipe);
  BATCHCAST_ASSERT(recipe.sample_id_at(0) < recipe.samples_per_epoch);
}

}  // namespace

// `synthetic:3x224x224`, and its recipe on the board.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check([&] { return batchcast::SyntheticRecipe::parse(text); });
  check([&] { return batchcast::SyntheticRecipe::from_json(text); });
  return 0;
}

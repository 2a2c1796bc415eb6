// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/synthetic_maker.hpp>

#include "catch.hpp"

#include <cstring>
#include <vector>

using namespace batchcast;

TEST_CASE("a synthetic maker makes what its recipe says, wherever a worker begins") {
  SyntheticRecipe recipe = SyntheticRecipe::parse("synthetic:3x5");
  recipe.dtype = DType::u16;
  recipe.samples_per_epoch = 50;
  recipe.seed = 9;
  const SyntheticMaker maker(recipe);
  CHECK(maker.schema() == recipe.schema());
  CHECK(maker.samples_per_epoch() == 50);
  CHECK(SyntheticRecipe::from_json(maker.recipe_json()) == recipe);

  const auto worker = maker.worker();
  constexpr std::size_t count = 7;
  constexpr std::size_t stride = 64;  // as in a ring that pads
  std::vector<std::byte> image(stride * count);
  std::vector<std::int64_t> label(count);
  std::vector<std::uint64_t> ids(count);
  const std::vector<FieldSlots> fields = {{image.data(), stride},
                                          {reinterpret_cast<std::byte*>(label.data()), 8}};
  worker->make({.epoch = 2, .index_in_epoch = 40, .fields = fields, .sample_ids = ids});
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t position = 2 * 50 + 40 + i;
    CHECK(ids[i] == recipe.sample_id_at(position));
    CHECK(recipe.check(position, SyntheticRecipe::image_field, {image.data() + i * stride, 30}));
    CHECK(label[i] == synthetic_label(9, ids[i]));
  }
  CHECK(worker->times().make_ns > 0);
  CHECK(worker->times().read_ns == 0);
}

TEST_CASE("a synthetic maker refuses a recipe that cannot be") {
  CHECK_THROWS_AS(SyntheticMaker(SyntheticRecipe{}), InvalidArgument);
}

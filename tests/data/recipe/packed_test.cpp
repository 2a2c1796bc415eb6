// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

#include <string>

#include "catch.hpp"

using namespace batchcast;
using Catch::Contains;

namespace {

Recipe read(const std::string& order) {
  return Recipe::from_toml("order = { " + order + " }", "r.toml");
}

std::string refusal(const std::string& order) {
  try {
    static_cast<void>(read(order));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the order `packed` is read, written and read again", "[packed]") {
  const Recipe recipe = read(R"(mode = "packed", axis = "tokens", budget = 8192)");
  CHECK(recipe.order == OrderMode::packed);
  CHECK(recipe.packed == PackedOptions{"tokens", 8192, 4096});
  const std::string json = recipe.to_json();
  CHECK_THAT(json,
             Contains(R"("order":{"among":4096,"axis":"tokens","budget":8192,"mode":"packed"})"));
  CHECK(Recipe::from_json(json).to_json() == json);
  CHECK(read(R"(mode = "packed", axis = "a", budget = 1, among = 65536)").packed ==
        PackedOptions{"a", 1, 65'536});
}

TEST_CASE("an order `packed` that cannot be is refused with its line", "[packed]") {
  CHECK_THAT(refusal(R"(mode = "packed", budget = 1)"),
             Contains("r.toml:1: order: `axis` is missing"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "tokens")"), Contains("`budget` is missing"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "tokens", budget = 0)"), Contains("budget"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "tokens", budget = 4294967297)"),
             Contains("budget"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "tokens", budget = "8k")"), Contains("budget"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "t", budget = 9, among = 1)"), Contains("among"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "t", budget = 9, among = 65537)"),
             Contains("among"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "t", budget = 9, amongst = 5)"),
             Contains("Did you mean `among`?"));
  CHECK_THAT(refusal(R"(mode = "packed", axis = "t", budget = 9, block_samples = 5)"),
             Contains("is for the mode `blocks` only"));
  for (const char* const key : {"axis = \"t\"", "budget = 9", "among = 9"}) {
    CHECK_THAT(refusal(std::string("mode = \"fixed\", ") + key),
               Contains("is for the mode `packed` only"));
  }
}

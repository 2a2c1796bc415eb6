// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/stage_support.hpp"

#include "catch.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

// What stages write of their parameters is part of a stream's identity: another text is another
// stream. A line of parameters.txt is a stage as a recipe has it, the next one what it writes.
using namespace batchcast;
using namespace batchcast::test;

namespace {

struct Written {
  std::string stage;
  std::string json;
};

std::vector<Written> written_stages() {
  std::ifstream file(BATCHCAST_CHECKOUT "/tests/data/stage/parameters.txt");
  std::vector<Written> all;
  for (Written one; std::getline(file, one.stage) && std::getline(file, one.json);) {
    one.json.erase(0, 2);
    all.push_back(one);
  }
  return all;
}

}  // namespace

TEST_CASE("parameters of every stage are written as they were") {
  std::vector<std::string> names;
  for (const Written& one : written_stages()) {
    INFO(one.stage);
    const Recipe recipe = recipe_with(one.stage);
    const Stage& stage = *recipe.fields.at(0).stages.at(0).stage;
    CHECK(stage.parameters_json() == one.json);
    CHECK(Recipe::from_json(recipe.to_json()).to_json() == recipe.to_json());
    names.emplace_back(stage.name());
  }
  for (const std::string& name : StageCatalog::standard().names()) {
    INFO(name);
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

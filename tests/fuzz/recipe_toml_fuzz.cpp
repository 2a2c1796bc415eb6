// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

#include <set>
#include <string>
#include <utility>

#include "data/program/resolve.hpp"
#include "fuzz.hpp"

namespace {

/// Each stage has a name of its own to draw by, in whatever it is nested.
void names_all(const batchcast::Recipe& recipe) {
  for (const batchcast::detail::ResolvedField& field : batchcast::detail::resolve(recipe).fields) {
    std::set<std::pair<std::string, std::string>> names;
    for (const batchcast::detail::NamedStage& stage : field.stages) {
      for_each_stage(stage, [&](const batchcast::detail::NamedStage& one) {
        BATCHCAST_ASSERT(names.emplace(one.group, one.path).second);
      });
    }
  }
}

}  // namespace

// A recipe as its user writes it: what is accepted goes to JSON and back as it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string json;
  try {
    const batchcast::Recipe recipe =
        batchcast::Recipe::from_toml(fuzz::text_of(data, size), "input.toml");
    json = recipe.to_json();
    names_all(recipe);
  } catch (const batchcast::InvalidArgument&) {
    return 0;
  }
  BATCHCAST_ASSERT(batchcast::Recipe::from_json(json).to_json() == json);
  return 0;
}

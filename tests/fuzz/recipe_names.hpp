// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <set>
#include <string>
#include <utility>

namespace fuzz {

/// Each stage of a recipe whose fields go together has a name of its own to draw by, in whatever it
/// is nested.
inline void check_names(const batchcast::Recipe& recipe) {
  batchcast::detail::ResolvedRecipe resolved;
  try {
    resolved = batchcast::detail::resolve(recipe);
  } catch (const batchcast::InvalidArgument&) {
    return;
  }
  for (const batchcast::detail::ResolvedField& field : resolved.fields) {
    std::set<std::pair<std::string, std::string>> names;
    for (const batchcast::detail::NamedStage& stage : field.stages) {
      for_each_stage(stage, [&](const batchcast::detail::NamedStage& one) {
        BATCHCAST_ASSERT(names.emplace(one.group, one.path).second);
      });
    }
  }
}

}  // namespace fuzz

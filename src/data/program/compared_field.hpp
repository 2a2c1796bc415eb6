// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <vector>

namespace batchcast::inline v0_1::detail {

/// A field, with what a comparison with other fields needs.
struct ComparedField {
  ComparedField(const ResolvedField& resolved, const FieldRecipe& given)
      : field(resolved), recipe(given) {
    for (const NamedStage& stage : resolved.stages) {
      for_each_stage(stage, [this](const NamedStage& one) { stages.push_back(&one); });
    }
  }

  const ResolvedField& field;
  const FieldRecipe& recipe;
  std::vector<const NamedStage*> stages;  ///< all, with those in containers
};

}  // namespace batchcast::inline v0_1::detail

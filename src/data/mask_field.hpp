// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

namespace batchcast::inline v0_1::detail {

/// Whether a field's pixels are ids: it says so, or is decoded as index.
[[nodiscard]] inline bool is_mask(const FieldRecipe& field) {
  if (field.kind) return *field.kind == FieldKind::mask;
  if (field.stages.empty()) return false;
  const DecodeStage* decode = field.stages.front()->as_decode();
  return decode != nullptr && decode->parameters().mode == PixelMode::index;
}

}  // namespace batchcast::inline v0_1::detail

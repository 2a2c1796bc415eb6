// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/compile_field.hpp"

#include "data/image/program.hpp"
#include "data/program/tensor_program.hpp"

#include <algorithm>

namespace batchcast::inline v0_1::detail {

bool is_image_field(const ResolvedField& field, const PartSpec& part) {
  const bool takes_images =
      std::any_of(field.stages.begin(), field.stages.end(),
                  [](const NamedStage& named) { return named.stage->kind() != StageKind::tensor; });
  const bool says_so = field.views != 0 || field.kind == FieldKind::mask;
  return part.kind == PartKind::image ||
         ((takes_images || says_so) && as_raw_image(part).has_value());
}

std::unique_ptr<FieldProgram> compile_field(const ResolvedField& field, const PartSpec& part) {
  return is_image_field(field, part) ? compile_image(field, part) : compile_tensor(field, part);
}

std::unique_ptr<FieldProgram> compile_without_source(const ResolvedField& field) {
  const bool decodes =
      std::any_of(field.stages.begin(), field.stages.end(),
                  [](const NamedStage& named) { return named.stage->kind() == StageKind::decode; });
  if (!decodes) return {};
  return compile_field(field, {field.from, PartKind::image});
}

}  // namespace batchcast::inline v0_1::detail

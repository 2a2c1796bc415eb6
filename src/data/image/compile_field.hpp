// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/field_program.hpp"

namespace batchcast::inline v0_1::detail {

/// Whether the field's stages see its part as an image.
[[nodiscard]] bool is_image_field(const ResolvedField& field, const PartSpec& part);

/// Throws InvalidArgument, naming field and stage, where stages do not fit.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_field(const ResolvedField& field,
                                                          const PartSpec& part);

/// The same where no source is known: a field with `decode` has an image before it.
/// Null for other fields, which need their part.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_without_source(const ResolvedField& field);

}  // namespace batchcast::inline v0_1::detail

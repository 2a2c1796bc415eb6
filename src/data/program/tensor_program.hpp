// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/field_program.hpp"

namespace batchcast::inline v0_1::detail {

/// A field whose part is a tensor or bytes and whose stages are tensor stages and `to`.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_tensor(const ResolvedField& field,
                                                           const PartSpec& part);

/// `to` for tensors that are not images: each value as it is, converted as C++ does; what does not
/// fit into an integer type is the nearest that does. f16 and bf16 are made of the nearest f32, as
/// PyTorch makes them, to nearest even.
[[nodiscard]] std::shared_ptr<const TensorStage> cast_stage(DType from, DType to);

}  // namespace batchcast::inline v0_1::detail

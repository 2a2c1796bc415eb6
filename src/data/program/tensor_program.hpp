// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/field_program.hpp"

namespace batchcast::inline v0_1::detail {

/// A field whose part is a tensor or bytes and whose stages are tensor stages and `to`.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_tensor(const ResolvedField& field,
                                                           const PartSpec& part);

/// `to` for tensors that are not images: each value is converted as C++ does. A value that does not
/// fit into an integer type becomes the nearest that does. Like PyTorch it makes f16 and bf16 from
/// the nearest f32, to nearest even.
[[nodiscard]] std::shared_ptr<const TensorStage> cast_stage(DType from, DType to);

}  // namespace batchcast::inline v0_1::detail

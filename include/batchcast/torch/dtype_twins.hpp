// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <c10/core/ScalarType.h>

#include <array>

namespace batchcast::inline v0_1::detail {

struct DTypeTwin {
  DType here;
  at::ScalarType there;
};

/// The types of a field that libtorch has as well.
inline constexpr std::array<DTypeTwin, 10> dtype_twins = {{
    {DType::u8, at::kByte},
    {DType::i8, at::kChar},
    {DType::i16, at::kShort},
    {DType::i32, at::kInt},
    {DType::i64, at::kLong},
    {DType::f16, at::kHalf},
    {DType::bf16, at::kBFloat16},
    {DType::f32, at::kFloat},
    {DType::f64, at::kDouble},
    {DType::boolean, at::kBool},
}};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

// Transforms pixel by pixel, at the best SIMD level of this machine; every level gives the same
// bytes. They touch nothing beyond an image.
namespace batchcast::inline v0_1::detail {

/// Bilinear or bicubic.
void filter_affine(const ImageView& in, const ImageView& out, const AffineMatrix& matrix,
                   const WarpOptions& options);
/// Nearest too.
void filter_perspective(const ImageView& in, const ImageView& out, const PerspectiveMatrix& matrix,
                        const WarpOptions& options);

}  // namespace batchcast::inline v0_1::detail

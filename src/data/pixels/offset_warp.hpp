// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

// Pixels that are moved each by an offset of its own.
namespace batchcast::inline v0_1::detail {

/// Of each pixel, row by row, how far from it what it becomes lies, in pixels.
struct OffsetField {
  const float* x = nullptr;
  const float* y = nullptr;
};

/// As torchvision's elastic() of tensors: bilinear or nearest, and beyond the edges a pixel counts
/// as `fill` by as much as it lies there, twice. What torchvision rounds otherwise may be another
/// level.
void warp_by_offsets(const ImageView& in, const ImageView& out, const OffsetField& field,
                     const WarpOptions& options) noexcept;

}  // namespace batchcast::inline v0_1::detail

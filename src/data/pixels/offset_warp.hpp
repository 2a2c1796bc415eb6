// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

// Moves each pixel by an offset.
namespace batchcast::inline v0_1::detail {

/// For each pixel, row by row: how far from it, in pixels, its source lies.
struct OffsetField {
  const float* x = nullptr;
  const float* y = nullptr;
};

/// As torchvision's elastic() of tensors: bilinear or nearest. Beyond the edges a pixel mixes with
/// `fill` by how far out it lies, twice. Where torchvision rounds otherwise, a level may differ.
void warp_by_offsets(const ImageView& in, const ImageView& out, const OffsetField& field,
                     const WarpOptions& options) noexcept;

}  // namespace batchcast::inline v0_1::detail

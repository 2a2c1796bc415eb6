// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>

#include <cstddef>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// Rows of pixels in memory.
struct RowsView {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;
  ImageSize size;
  std::size_t channels = 3;
};

/// The image's size once EXIF's `orientation` (1 to 8) is applied.
[[nodiscard]] ImageSize upright_size(ImageSize stored, int orientation) noexcept;

/// Writes the image upright: dense, of upright_size().
void turn_upright(const RowsView& stored, int orientation, std::uint8_t* out) noexcept;

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/jpeg_pixels.hpp"

#include <algorithm>

namespace batchcast::detail {

void jpeg_rgb_from_ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                       std::size_t width, std::uint8_t* rgb) {
  const auto byte = [](int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); };
  constexpr int half = 1 << 15;
  for (std::size_t x = 0; x < width; ++x) {
    const int b = cb[x] - 128;
    const int r = cr[x] - 128;
    rgb[3 * x] = byte(y[x] + ((91881 * r + half) >> 16));
    rgb[3 * x + 1] = byte(y[x] + ((-22554 * b - 46802 * r + half) >> 16));
    rgb[3 * x + 2] = byte(y[x] + ((116130 * b + half) >> 16));
  }
}

void jpeg_rgb_from_gray(const std::uint8_t* y, std::size_t width, std::uint8_t* rgb) {
  for (std::size_t x = 0; x < width; ++x) {
    for (std::size_t c = 0; c < 3; ++c) rgb[3 * x + c] = y[x];
  }
}

}  // namespace batchcast::detail

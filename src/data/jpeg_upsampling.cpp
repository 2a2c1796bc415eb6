// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/jpeg_pixels.hpp"

namespace batchcast::detail {

void jpeg_upsample_h2v1(const std::uint8_t* in, std::size_t width, std::uint8_t* out) {
  for (std::size_t x = 0; x < width; ++x) {
    const int left = in[x == 0 ? 0 : x - 1];
    const int right = in[x + 1 == width ? x : x + 1];
    out[2 * x] = static_cast<std::uint8_t>((3 * in[x] + left + 1) >> 2);
    out[2 * x + 1] = static_cast<std::uint8_t>((3 * in[x] + right + 2) >> 2);
  }
}

void jpeg_upsample_h2v2(const std::uint8_t* near_row, const std::uint8_t* far_row,
                        std::size_t width, std::uint8_t* out) {
  const auto sum = [&](std::size_t x) { return 3 * near_row[x] + far_row[x]; };
  for (std::size_t x = 0; x < width; ++x) {
    const int left = sum(x == 0 ? 0 : x - 1);
    const int right = sum(x + 1 == width ? x : x + 1);
    out[2 * x] = static_cast<std::uint8_t>((3 * sum(x) + left + 8) >> 4);
    out[2 * x + 1] = static_cast<std::uint8_t>((3 * sum(x) + right + 7) >> 4);
  }
}

void jpeg_upsample_h1v2(const std::uint8_t* near_row, const std::uint8_t* far_row, int bias,
                        std::size_t width, std::uint8_t* out) {
  for (std::size_t x = 0; x < width; ++x) {
    out[x] = static_cast<std::uint8_t>((3 * near_row[x] + far_row[x] + bias) >> 2);
  }
}

}  // namespace batchcast::detail

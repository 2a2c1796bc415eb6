// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace batchcast::inline v0_1::detail {

/// An image of that many channels, and the levels written for pixels that it lacks.
template <std::size_t channels>
struct Pixels {
  const std::uint8_t* data = nullptr;
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::array<std::uint8_t, 3> fill{};

  [[nodiscard]] const std::uint8_t* row(std::int32_t y) const noexcept {
    return data + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * channels;
  }
  [[nodiscard]] bool holds(double x, double y) const noexcept {
    return x >= 0 && x < width && y >= 0 && y < height;
  }
  void copy(std::int64_t x, std::int64_t y, std::uint8_t* out) const noexcept {
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    const std::uint8_t* from =
        inside ? row(static_cast<std::int32_t>(y)) + static_cast<std::size_t>(x) * channels
               : fill.data();
    std::memcpy(out, from, channels);
  }
  void store_fill(std::uint8_t* out) const noexcept { std::memcpy(out, fill.data(), channels); }
};

// There is no pixel below 0, nor beyond the range of an int.
inline std::int64_t whole(double value) noexcept {
  return value >= 0 && value < 0x1p31 ? static_cast<std::int64_t>(value) : -1;
}

template <class Visit>
void with_channels(const ImageView& image, const WarpOptions& options, Visit visit) {
  if (image.channels == 1) {
    visit(Pixels<1>{image.data, image.size.width, image.size.height, options.fill});
  } else {
    visit(Pixels<3>{image.data, image.size.width, image.size.height, options.fill});
  }
}

}  // namespace batchcast::inline v0_1::detail

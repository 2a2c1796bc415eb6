// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/stage.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

// PIL's ImageFilter.GaussianBlur, byte for byte: three box blurs across and three down, each of
// which rounds to levels. Beyond the edge lies the edge's pixel.
namespace batchcast::inline v0_1::detail {

/// PIL has no limit; sums of this many levels fit into 32 bits.
inline constexpr double pil_blur_radius_max = 1000;

/// Scratch of pil_gaussian_blur(); it has to be aligned to 64.
[[nodiscard]] std::size_t pil_blur_scratch_bytes(ImageSize size, std::int32_t channels) noexcept;
/// Works in place. `radius` is the standard deviation, up to pil_blur_radius_max; 0 changes
/// nothing.
void pil_gaussian_blur(const ImageView& image, double radius, std::span<std::byte> scratch);

/// One box blur: weights of 24 bits for the pixels within `radius` and the two next to them.
struct BoxBlur {
  std::int32_t radius = 0;
  std::uint32_t weight = 0;
  std::uint32_t edge_weight = 0;
};

/// out[i] = (sums[i] × weight + (first[i] + last[i]) × edge_weight + 2^23) >> 24, for rows of
/// levels. Before that `entering` is added to the sums; after it `leaving` is taken off.
struct BoxRow {
  const std::uint8_t* entering = nullptr;
  const std::uint8_t* leaving = nullptr;
  const std::uint8_t* first = nullptr;  ///< the row before those within the radius
  const std::uint8_t* last = nullptr;   ///< the row after them
};
void box_blur_row(const BoxBlur& blur, const BoxRow& row, std::size_t count, std::uint32_t* sums,
                  std::uint8_t* out);

/// Blurs a row across: `in` holds the row's bytes between radius + 1 pixels of `step` bytes on
/// either side.
void box_blur_across(const BoxBlur& blur, const std::uint8_t* in, std::size_t step,
                     std::size_t count, std::uint8_t* out);

}  // namespace batchcast::inline v0_1::detail

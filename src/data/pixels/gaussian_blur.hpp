// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// Gaussian blur as torchvision's gaussian_blur() of tensors: images are mirrored at their edges
// without the edge itself. Sums are rounded in another order than torchvision's. So a level may
// differ where a sum lies halfway between two.
namespace batchcast::inline v0_1::detail {

/// Pixels; torchvision has no limit.
inline constexpr std::int32_t blur_kernel_max = 255;

/// One axis: an odd number of pixels, and the sigma of their weights.
struct BlurAxis {
  std::int32_t kernel = 1;
  double sigma = 1;
};

struct Blur {
  BlurAxis across;
  BlurAxis down;
};

/// Whether the edges of such an image can be mirrored.
[[nodiscard]] bool can_blur(ImageSize size, const Blur& blur) noexcept;

/// Scratch for either of these; it has to be aligned to 64.
[[nodiscard]] std::size_t blur_scratch_bytes(ImageSize size, std::int32_t channels,
                                             const Blur& blur) noexcept;
/// Works in place.
void gaussian_blur(const ImageView& image, const Blur& blur, std::span<std::byte> scratch);
/// Works in place, on one channel.
void gaussian_blur(float* plane, ImageSize size, const Blur& blur, std::span<std::byte> scratch);

/// out[i] is the sum of weights[k] × rows[k][i]. Weights are symmetric; their number is odd.
void weigh_rows(std::span<const float* const> rows, const float* weights, std::size_t count,
                float* out);

}  // namespace batchcast::inline v0_1::detail

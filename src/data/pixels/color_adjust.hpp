// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/stage.hpp>

#include <cstdint>

// Changes colours in place, with the bytes of PIL's ImageEnhance and of torchvision's functional
// for PIL images. Images have 1 or 3 channels.
namespace batchcast::inline v0_1::detail {

void adjust_brightness(const ImageView& image, double factor) noexcept;
void adjust_contrast(const ImageView& image, double factor) noexcept;
void adjust_saturation(const ImageView& image, double factor) noexcept;
/// `factor` from -0.5 to 0.5, in turns of the colour wheel.
void adjust_hue(const ImageView& image, double factor) noexcept;

/// Makes luma: packed into one channel, or the same in all three.
void to_grayscale(const ImageView& image, std::int32_t channels) noexcept;

}  // namespace batchcast::inline v0_1::detail

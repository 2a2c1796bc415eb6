// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/box_blur.hpp"

#include "data/pixels/blur_scratch.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr int passes = 3;
constexpr std::int32_t radius_max = static_cast<std::int32_t>(pil_blur_radius_max) + 1;

// PIL's precision in each step: floats, but for the length of the box.
float box_radius(float sigma) noexcept {
  const float variance = sigma * sigma / static_cast<float>(passes);
  const auto length = static_cast<float>(std::sqrt(12.0 * static_cast<double>(variance) + 1.0));
  const auto whole = static_cast<float>(std::floor((static_cast<double>(length) - 1.0) / 2.0));
  const float next = whole + 1;
  const float part = (2 * whole + 1) * (whole * next - 3 * variance);
  return whole + part / (6 * (variance - next * next));
}

BoxBlur box_of(float radius) noexcept {
  const auto whole = static_cast<std::int32_t>(radius);
  const auto weight = static_cast<std::uint32_t>(static_cast<float>(1U << 24U) / (radius * 2 + 1));
  const std::uint32_t rest = (1U << 24U) - static_cast<std::uint32_t>(2 * whole + 1) * weight;
  return {whole, weight, rest / 2};
}

void repeat_pixel(const std::uint8_t* pixel, std::size_t step, std::size_t count,
                  std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * step, pixel, step);
}

/// A row at a time, which stays in the cache for all passes.
void blur_across(const ImageView& image, const BoxBlur& blur, std::uint8_t* padded) {
  const auto step = static_cast<std::size_t>(image.channels);
  const std::size_t length = row_length(image.size, image.channels);
  const auto beyond = static_cast<std::size_t>(blur.radius) + 1;
  std::uint8_t* const middle = padded + beyond * step;
  for (std::int32_t y = 0; y < image.size.height; ++y) {
    std::uint8_t* const row = image.data + static_cast<std::size_t>(y) * length;
    for (int pass = 0; pass < passes; ++pass) {
      std::memcpy(middle, row, length);
      repeat_pixel(row, step, beyond, padded);
      repeat_pixel(row + length - step, step, beyond, middle + length);
      box_blur_across(blur, padded, step, length, row);
    }
  }
}

/// Sums of columns move down with the rows.
void blur_down(const std::uint8_t* in, ImageSize size, std::size_t length, const BoxBlur& blur,
               std::uint32_t* sums, std::uint8_t* out) {
  const auto row = [&](std::int32_t y) {
    return in + static_cast<std::size_t>(std::clamp(y, 0, size.height - 1)) * length;
  };
  const std::int32_t radius = blur.radius;
  std::fill_n(sums, length, 0U);
  for (std::int32_t y = -radius; y < radius; ++y) {
    const std::uint8_t* const from = row(y);
    for (std::size_t i = 0; i < length; ++i) sums[i] += from[i];
  }
  for (std::int32_t y = 0; y < size.height; ++y) {
    box_blur_row(blur, {row(y + radius), row(y - radius), row(y - radius - 1), row(y + radius + 1)},
                 length, sums, out + static_cast<std::size_t>(y) * length);
  }
}

}  // namespace

std::size_t pil_blur_scratch_bytes(ImageSize size, std::int32_t channels) noexcept {
  const std::size_t length = row_length(size, channels);
  const ImageView image{nullptr, size, channels};
  const auto beyond = static_cast<std::size_t>(2 * (radius_max + 1) * channels);
  return rounded_up(image.byte_count()) + rounded_up(length * sizeof(std::uint32_t)) +
         rounded_up(length + beyond);
}

void pil_gaussian_blur(const ImageView& image, double radius, std::span<std::byte> scratch) {
  BATCHCAST_ASSERT(radius <= pil_blur_radius_max);
  BATCHCAST_ASSERT(scratch.size() >= pil_blur_scratch_bytes(image.size, image.channels));
  const float box = box_radius(static_cast<float>(radius));
  if (box == 0) return;
  const BoxBlur blur = box_of(box);
  const std::size_t length = row_length(image.size, image.channels);
  auto* const other = reinterpret_cast<std::uint8_t*>(scratch.data());
  auto* const sums =
      reinterpret_cast<std::uint32_t*>(scratch.data() + rounded_up(image.byte_count()));
  auto* const padded =
      reinterpret_cast<std::uint8_t*>(sums) + rounded_up(length * sizeof(std::uint32_t));
  blur_across(image, blur, padded);
  blur_down(image.data, image.size, length, blur, sums, other);
  blur_down(other, image.size, length, blur, sums, image.data);
  blur_down(image.data, image.size, length, blur, sums, other);
  std::memcpy(image.data, other, image.byte_count());
}

}  // namespace batchcast::inline v0_1::detail

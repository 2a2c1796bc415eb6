// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/color_adjust.hpp"

#include <algorithm>
#include <array>

namespace batchcast::detail {
namespace {

// As PIL blends: in single precision, product and sum each rounded, cut off towards 0.
std::uint8_t blend(int from, int to, float factor) noexcept {
  const float product = factor * static_cast<float>(to - from);
  const float sum = static_cast<float>(from) + product;
  if (!(sum > 0.0F)) return 0;
  if (sum >= 255.0F) return 255;
  return static_cast<std::uint8_t>(sum);
}

void blend_from(int from, const ImageView& image, double factor) noexcept {
  std::array<std::uint8_t, 256> table;
  for (int level = 0; level < 256; ++level) {
    table[static_cast<std::size_t>(level)] = blend(from, level, static_cast<float>(factor));
  }
  std::uint8_t* const end = image.data + image.byte_count();
  for (std::uint8_t* at = image.data; at != end; ++at) *at = table[*at];
}

std::size_t pixel_count(const ImageView& image) noexcept {
  return static_cast<std::size_t>(image.size.width) * static_cast<std::size_t>(image.size.height);
}

int mean_luma(const ImageView& image) noexcept {
  const std::size_t count = pixel_count(image);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += image.channels == 3 ? luma(image.data + 3 * i) : image.data[i];
  }
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(count) + 0.5);
}

struct Hsv {
  std::uint8_t hue = 0;
  std::uint8_t saturation = 0;
  std::uint8_t value = 0;
};

// PIL's steps, each in the precision that it has there.
Hsv hsv_of(const std::uint8_t* rgb) noexcept {
  const int red = rgb[0];
  const int green = rgb[1];
  const int blue = rgb[2];
  const int high = std::max({red, green, blue});
  const int low = std::min({red, green, blue});
  if (high == low) return {0, 0, static_cast<std::uint8_t>(high)};
  const auto spread = static_cast<float>(high - low);
  const float saturation = spread / static_cast<float>(high);
  const float to_red = static_cast<float>(high - red) / spread;
  const float to_green = static_cast<float>(high - green) / spread;
  const float to_blue = static_cast<float>(high - blue) / spread;
  float sextant = 0;
  if (red == high) {
    sextant = to_blue - to_green;
  } else if (green == high) {
    sextant = static_cast<float>(2.0 + static_cast<double>(to_red) - static_cast<double>(to_blue));
  } else {
    sextant = static_cast<float>(4.0 + static_cast<double>(to_green) - static_cast<double>(to_red));
  }
  double turn = static_cast<double>(sextant) / 6.0 + 1.0;
  if (turn >= 1.0) turn -= 1.0;
  const auto hue = static_cast<float>(turn);
  return {static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(hue) * 255.0)),
          static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(saturation) * 255.0)),
          static_cast<std::uint8_t>(high)};
}

// Half away from 0; `value` lies from 0 to 255.
std::uint8_t rounded(double value) noexcept {
  const int whole = static_cast<int>(value);
  return static_cast<std::uint8_t>(value - whole >= 0.5 ? whole + 1 : whole);
}

void rgb_of(const Hsv& hsv, std::uint8_t* rgb) noexcept {
  if (hsv.saturation == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.value;
    return;
  }
  const double sixths = static_cast<double>(static_cast<float>(hsv.hue)) * 6.0 / 255.0;
  const int sextant = static_cast<int>(sixths);
  const auto within = static_cast<float>(sixths - static_cast<double>(sextant));
  const auto saturation =
      static_cast<float>(static_cast<double>(static_cast<float>(hsv.saturation)) / 255.0);
  const double value = hsv.value;
  const std::uint8_t v = hsv.value;
  const std::uint8_t p = rounded(value * (1.0 - static_cast<double>(saturation)));
  const std::uint8_t q = rounded(value * (1.0 - static_cast<double>(saturation * within)));
  const std::uint8_t t = rounded(
      value * (1.0 - static_cast<double>(saturation) * (1.0 - static_cast<double>(within))));
  switch (sextant % 6) {
    case 0:
      rgb[0] = v, rgb[1] = t, rgb[2] = p;
      break;
    case 1:
      rgb[0] = q, rgb[1] = v, rgb[2] = p;
      break;
    case 2:
      rgb[0] = p, rgb[1] = v, rgb[2] = t;
      break;
    case 3:
      rgb[0] = p, rgb[1] = q, rgb[2] = v;
      break;
    case 4:
      rgb[0] = t, rgb[1] = p, rgb[2] = v;
      break;
    default:
      rgb[0] = v, rgb[1] = p, rgb[2] = q;
      break;
  }
}

}  // namespace

void adjust_brightness(const ImageView& image, double factor) noexcept {
  blend_from(0, image, factor);
}

void adjust_contrast(const ImageView& image, double factor) noexcept {
  blend_from(mean_luma(image), image, factor);
}

void adjust_saturation(const ImageView& image, double factor) noexcept {
  if (image.channels != 3) return;
  const auto narrow = static_cast<float>(factor);
  std::uint8_t* const end = image.data + image.byte_count();
  for (std::uint8_t* rgb = image.data; rgb != end; rgb += 3) {
    const int gray = luma(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = blend(gray, rgb[c], narrow);
  }
}

void adjust_hue(const ImageView& image, double factor) noexcept {
  if (image.channels != 3) return;
  const auto turn = static_cast<std::uint8_t>(static_cast<int>(factor * 255));
  std::uint8_t* const end = image.data + image.byte_count();
  for (std::uint8_t* rgb = image.data; rgb != end; rgb += 3) {
    Hsv hsv = hsv_of(rgb);
    hsv.hue = static_cast<std::uint8_t>(hsv.hue + turn);
    rgb_of(hsv, rgb);
  }
}

void to_grayscale(const ImageView& image, std::int32_t channels) noexcept {
  if (image.channels != 3) return;
  const std::size_t count = pixel_count(image);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t gray = luma(image.data + 3 * i);
    if (channels == 1) {
      image.data[i] = gray;
    } else {
      std::fill_n(image.data + 3 * i, 3, gray);
    }
  }
}

}  // namespace batchcast::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/color_adjust.hpp"

#include "data/luma.hpp"
#include "data/pixels/level_rows.hpp"
#include "data/resample/kernels.hpp"

#include <algorithm>
#include <array>

namespace batchcast::inline v0_1::detail {
namespace {

// PIL blends in single precision. It rounds product and sum, and cuts the result off towards 0.
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

// PIL's steps, each in PIL's precision, with one division for its three. The highest and the lowest
// channel give exactly 0 or 1.
Hsv hsv_of(const std::uint8_t* rgb) noexcept {
  const int red = rgb[0];
  const int green = rgb[1];
  const int blue = rgb[2];
  const int high = std::max({red, green, blue});
  const int low = std::min({red, green, blue});
  if (high == low) return {0, 0, static_cast<std::uint8_t>(high)};
  const auto spread = static_cast<float>(high - low);
  const float saturation = spread / static_cast<float>(high);
  const int middle = red + green + blue - high - low;
  const float ratio = static_cast<float>(high - middle) / spread;
  float sextant = 0;
  if (red == high) {
    sextant = blue == low ? 1.0F - ratio : ratio - 1.0F;
  } else if (green == high) {
    sextant = static_cast<float>(
        2.0 + (red == low ? 1.0 - static_cast<double>(ratio) : static_cast<double>(ratio) - 1.0));
  } else {
    sextant = static_cast<float>(
        4.0 + (green == low ? 1.0 - static_cast<double>(ratio) : static_cast<double>(ratio) - 1.0));
  }
  double turn = static_cast<double>(sextant) / 6.0 + 1.0;
  turn = turn >= 1.0 ? turn - 1.0 : turn;
  const auto hue = static_cast<float>(turn);
  return {static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(hue) * 255.0)),
          static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(saturation) * 255.0)),
          static_cast<std::uint8_t>(high)};
}

/// A hue's place between two of the six pure colours.
struct Turn {
  double within = 0;
  std::array<std::uint8_t, 3> channels{};  ///< which of value, p, q and t red, green and blue are
};

constexpr std::array<Turn, 256> turns = [] {
  constexpr std::array<std::array<std::uint8_t, 3>, 6> channels = {
      {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}}};
  std::array<Turn, 256> made{};
  for (int hue = 0; hue < 256; ++hue) {
    const double sixths = static_cast<double>(hue) * 6.0 / 255.0;
    const int sextant = static_cast<int>(sixths);
    const auto within = static_cast<float>(sixths - static_cast<double>(sextant));
    made[static_cast<std::size_t>(hue)] = {static_cast<double>(within),
                                           channels[static_cast<std::size_t>(sextant % 6)]};
  }
  return made;
}();

constexpr std::array<float, 256> fractions = [] {
  std::array<float, 256> made{};
  for (int level = 0; level < 256; ++level) {
    made[static_cast<std::size_t>(level)] = static_cast<float>(static_cast<double>(level) / 255.0);
  }
  return made;
}();

// Halves are rounded away from 0; `value` lies from 0 to 255.
std::uint8_t rounded(double value) noexcept {
  const int whole = static_cast<int>(value);
  return static_cast<std::uint8_t>(whole + (value - whole >= 0.5 ? 1 : 0));
}

void rgb_of(const Hsv& hsv, std::uint8_t* rgb) noexcept {
  if (hsv.saturation == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.value;
    return;
  }
  const Turn& turn = turns[hsv.hue];
  const float saturation = fractions[hsv.saturation];
  const double wide = saturation;
  const double value = hsv.value;
  const auto product = static_cast<double>(saturation * static_cast<float>(turn.within));
  const std::array<std::uint8_t, 4> levels = {hsv.value, rounded(value * (1.0 - wide)),
                                              rounded(value * (1.0 - product)),
                                              rounded(value * (1.0 - wide * (1.0 - turn.within)))};
  for (std::size_t c = 0; c < 3; ++c) rgb[c] = levels[turn.channels[c]];
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
  constexpr std::size_t block = 512;
  std::array<std::uint8_t, 3 * block> planes;
  std::array<std::uint8_t, block> gray;
  const std::array<const std::uint8_t*, 3> colours = {planes.data(), planes.data() + block,
                                                      planes.data() + 2 * block};
  const std::size_t pixels = pixel_count(image);
  for (std::size_t at = 0; at < pixels; at += block) {
    const std::size_t count = std::min(block, pixels - at);
    std::uint8_t* const rgb = image.data + 3 * at;
    deinterleave(rgb, count, planes.data(), block);
    luma_of_planes(colours.data(), count, gray.data());
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint8_t* const plane = planes.data() + c * block;
      blend_rows(gray.data(), plane, count, static_cast<float>(factor), plane);
    }
    interleave(planes.data(), block, count, rgb);
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

}  // namespace batchcast::inline v0_1::detail

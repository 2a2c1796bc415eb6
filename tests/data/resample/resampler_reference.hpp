// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/resampler.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// What the resampler must do, step after step on whole images, slow and plain.
namespace batchcast::test {

struct Image {
  ImageSize size;
  std::int32_t channels = 3;
  std::vector<std::uint8_t> pixels = {};

  Image(ImageSize size_, std::int32_t channels_) : size(size_), channels(channels_) {
    pixels.resize(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                  static_cast<std::size_t>(channels));
  }
  [[nodiscard]] std::uint8_t& at(std::int32_t x, std::int32_t y, std::int32_t c) {
    return pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                   static_cast<std::size_t>(x)) *
                      static_cast<std::size_t>(channels) +
                  static_cast<std::size_t>(c)];
  }
  [[nodiscard]] std::uint8_t at(std::int32_t x, std::int32_t y, std::int32_t c) const {
    return const_cast<Image*>(this)->at(x, y, c);
  }
};

/// A new image, whose pixel at x, y and c is what `pixel` says.
template <class Pixel>
Image make_image(ImageSize size, std::int32_t channels, const Pixel& pixel) {
  Image image(size, channels);
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      for (std::int32_t c = 0; c < channels; ++c) image.at(x, y, c) = pixel(x, y, c);
    }
  }
  return image;
}

inline Image cropped(const Image& in, const Box& box) {
  return make_image(box.size(), in.channels,
                    [&](auto x, auto y, auto c) { return in.at(box.x + x, box.y + y, c); });
}

inline Image flipped(const Image& in, bool flip_x, bool flip_y) {
  return make_image(in.size, in.channels, [&](auto x, auto y, auto c) {
    return in.at(flip_x ? in.size.width - 1 - x : x, flip_y ? in.size.height - 1 - y : y, c);
  });
}

/// How much an input counts at a distance, in units of the filter.
inline double filter(Interpolation by, double x) {
  const double distance = std::fabs(x);
  switch (by) {
    case Interpolation::box:
      return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case Interpolation::bicubic:
      if (distance < 1) return (1.5 * distance - 2.5) * distance * distance + 1;
      return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * -0.5 : 0.0;
    case Interpolation::lanczos: {
      const auto sinc = [](double at) { return at == 0 ? 1.0 : std::sin(at * M_PI) / (at * M_PI); };
      return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0.0;
    }
    default:
      return distance < 1.0 ? 1.0 - distance : 0.0;
  }
}

inline double support_of(Interpolation by) {
  return by == Interpolation::box       ? 0.5
         : by == Interpolation::bicubic ? 2.0
         : by == Interpolation::lanczos ? 3.0
                                        : 1.0;
}

/// One output pixel's weights, all of them.
struct Weights {
  std::int32_t first = 0;
  std::vector<std::int64_t> values = {};

  Weights(std::int32_t in, std::int32_t out, std::int32_t index, Interpolation by) {
    const double scale = static_cast<double>(in) / out;
    if (by == Interpolation::nearest) {
      double place = scale * 0.5;
      for (std::int32_t i = 0; i < index; ++i) place += scale;
      first = static_cast<int>(place);
      values = {1 << 22};
      return;
    }
    const double widened = scale < 1.0 ? 1.0 : scale;
    const double support = support_of(by) * widened;
    const double center = (index + 0.5) * scale;
    first = std::max(0, static_cast<int>(center - support + 0.5));
    const int end = std::min(in, static_cast<int>(center + support + 0.5));
    double sum = 0;
    std::vector<double> raw;
    for (int i = first; i < end; ++i) {
      raw.push_back(filter(by, (i - center + 0.5) * (1.0 / widened)));
      sum += raw.back();
    }
    for (const double w : raw) {
      const double exact = w / sum * 4194304.0;
      values.push_back(static_cast<std::int64_t>(exact < 0 ? exact - 0.5 : exact + 0.5));
    }
  }

  template <class Pixel>
  [[nodiscard]] std::uint8_t apply(const Pixel& pixel) const {
    std::int64_t sum = 1 << 21;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += values[i] * pixel(first + static_cast<std::int32_t>(i));
    }
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> 22, 0, 255));
  }
};

inline std::vector<Weights> all_weights(std::int32_t in, std::int32_t out, Interpolation by) {
  std::vector<Weights> weights;
  for (std::int32_t i = 0; i < out; ++i) weights.emplace_back(in, out, i, by);
  return weights;
}

inline Image resized_horizontally(const Image& in, std::int32_t width, Interpolation by) {
  if (width == in.size.width) return in;
  const std::vector<Weights> weights = all_weights(in.size.width, width, by);
  return make_image({width, in.size.height}, in.channels, [&](auto x, auto y, auto c) {
    return weights[static_cast<std::size_t>(x)].apply([&](auto i) { return in.at(i, y, c); });
  });
}

inline Image resized_vertically(const Image& in, std::int32_t height, Interpolation by) {
  if (height == in.size.height) return in;
  const std::vector<Weights> weights = all_weights(in.size.height, height, by);
  return make_image({in.size.width, height}, in.channels, [&](auto x, auto y, auto c) {
    return weights[static_cast<std::size_t>(y)].apply([&](auto i) { return in.at(x, i, c); });
  });
}

/// The order is written out here once more, as libImaging/Resample.c of Pillow 13 has it.
inline Image resized(const Image& in, ImageSize size, bool as_pillow_13 = false,
                     Interpolation by = Interpolation::bilinear) {
  const std::int32_t less_height = in.size.height - size.height;
  const bool vertical_first =
      as_pillow_13 && less_height > 0 && less_height > (in.size.width - size.width) * 2;
  if (vertical_first)
    return resized_horizontally(resized_vertically(in, size.height, by), size.width, by);
  return resized_vertically(resized_horizontally(in, size.width, by), size.height, by);
}

/// As numpy.pad: one step after the other, so that nothing is computed modulo.
inline std::int32_t padding_source(std::int32_t at, std::int32_t size, PaddingMode mode) {
  while (at < 0 || at >= size) {
    switch (mode) {
      case PaddingMode::constant:
        return -1;
      case PaddingMode::edge:
        at = at < 0 ? 0 : size - 1;
        break;
      case PaddingMode::reflect:
        if (size == 1) return 0;
        at = at < 0 ? -at : 2 * (size - 1) - at;
        break;
      case PaddingMode::symmetric:
        at = at < 0 ? -at - 1 : 2 * size - 1 - at;
        break;
    }
  }
  return at;
}

/// `window` may reach beyond.
inline Image windowed(const Image& in, const Box& window, PaddingMode mode, std::uint8_t fill) {
  return make_image(window.size(), in.channels, [&](auto x, auto y, auto c) {
    const std::int32_t from_x = padding_source(window.x + x, in.size.width, mode);
    const std::int32_t from_y = padding_source(window.y + y, in.size.height, mode);
    return from_x < 0 || from_y < 0 ? fill : in.at(from_x, from_y, c);
  });
}

inline Image shown(const Image& in, const Geometry& g) {
  const Image all = resized(cropped(in, g.box), g.resized, g.as_pillow_13, g.interpolation);
  return flipped(windowed(all, g.window, g.padding, g.fill), g.flip_x, g.flip_y);
}

/// The nearest of all numbers of a 16-bit format whose values the ascending bits `0` to
/// `infinity - 1` have, the even one of two.
template <class Value>
std::uint16_t nearest_bits(float x, std::uint16_t infinity, const Value& value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const double size = std::fabs(static_cast<double>(x));
  std::uint32_t low = 0;
  std::uint32_t high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= size ? low : high) = middle;
  }
  const double to_low = size - value(low);
  const double to_high = value(high) - size;
  const bool up = to_high < to_low || (to_high == to_low && low % 2 == 1);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

inline std::uint16_t half_bits(float x) {
  if (std::isinf(x)) return x < 0 ? 0xFC00 : 0x7C00;
  return nearest_bits(x, 0x7C00, [](std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> 10);
    const double fraction = (bits & 1023) / 1024.0;
    return exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  });
}

inline std::uint16_t bfloat_bits(float x) {
  if (std::isinf(x)) return x < 0 ? 0xFF80 : 0x7F80;
  return nearest_bits(x, 0x7F80, [](std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> 7);
    const double fraction = (bits & 127) / 128.0;
    return exponent == 0 ? std::ldexp(fraction, -126) : std::ldexp(1 + fraction, exponent - 127);
  });
}

inline std::vector<std::byte> elements(const Image& image, const detail::PixelFormat& format) {
  const std::size_t size = size_of(format.dtype);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t pixel_count = image.pixels.size() / channels;
  std::vector<std::byte> out(image.pixels.size() * size);
  for (std::size_t p = 0; p < pixel_count; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const bool chw = format.layout == ImageLayout::chw;
      std::byte* const to = out.data() + (chw ? c * pixel_count + p : p * channels + c) * size;
      const std::size_t from = format.bgr && channels == 3 ? 2 - c : c;
      const std::uint8_t pixel = image.pixels[p * channels + from];
      // Kept apart in memory, so that no compiler makes one rounding of two.
      const volatile float product = static_cast<float>(pixel) * format.scale[c];
      const volatile float sum = product + format.bias[c];
      const float value = sum;
      const std::uint16_t bits = format.dtype == DType::f16 ? half_bits(value) : bfloat_bits(value);
      if (format.dtype == DType::u8) {
        *to = static_cast<std::byte>(pixel);
      } else if (format.dtype == DType::f32) {
        std::memcpy(to, &value, size);
      } else {
        std::memcpy(to, &bits, size);
      }
    }
  }
  return out;
}

}  // namespace batchcast::test

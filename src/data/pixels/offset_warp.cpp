// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/offset_warp.hpp"

#include "data/portable_math.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

/// One of the four pixels around a place.
struct Neighbour {
  const std::uint8_t* pixel = nullptr;  ///< null beyond the edge
  float weight = 0;
};

class Sampler {
 public:
  Sampler(const ImageView& image, const WarpOptions& options) noexcept
      : image_(image), channels_(static_cast<std::size_t>(image.channels)), fill_(options.fill) {}

  void nearest(float x, float y, std::uint8_t* out) const noexcept {
    const std::uint8_t* from = pixel(static_cast<float>(round_half_even(static_cast<double>(x))),
                                     static_cast<float>(round_half_even(static_cast<double>(y))));
    std::memcpy(out, from != nullptr ? from : fill_.data(), channels_);
  }

  void bilinear(float x, float y, std::uint8_t* out) const noexcept {
    const float left = std::floor(x);
    const float top = std::floor(y);
    const float dx = x - left;
    const float dy = y - top;
    const std::array<Neighbour, 4> around = {{{pixel(left, top), (1 - dx) * (1 - dy)},
                                              {pixel(left + 1, top), dx * (1 - dy)},
                                              {pixel(left, top + 1), (1 - dx) * dy},
                                              {pixel(left + 1, top + 1), dx * dy}}};
    float inside = 0;
    for (const Neighbour& one : around) inside += one.pixel != nullptr ? one.weight : 0;
    for (std::size_t c = 0; c < channels_; ++c) {
      float sum = 0;
      for (const Neighbour& one : around) {
        if (one.pixel != nullptr) sum += static_cast<float>(one.pixel[c]) * one.weight;
      }
      const auto fill = static_cast<float>(fill_[c]);
      const float value = (sum - fill) * inside + fill;
      const double rounded = round_half_even(static_cast<double>(value));
      out[c] = static_cast<std::uint8_t>(std::clamp(rounded, 0.0, 255.0));
    }
  }

 private:
  [[nodiscard]] const std::uint8_t* pixel(float x, float y) const noexcept {
    if (!(x >= 0 && x < static_cast<float>(image_.size.width) && y >= 0 &&
          y < static_cast<float>(image_.size.height))) {
      return nullptr;
    }
    return image_.data +
           (static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.size.width) +
            static_cast<std::size_t>(x)) *
               channels_;
  }

  const ImageView& image_;
  std::size_t channels_;
  std::array<std::uint8_t, 3> fill_;
};

}  // namespace

void warp_by_offsets(const ImageView& in, const ImageView& out, const OffsetField& field,
                     const WarpOptions& options) noexcept {
  const Sampler sampler(in, options);
  const auto channels = static_cast<std::size_t>(in.channels);
  std::size_t i = 0;
  for (std::int32_t y = 0; y < in.size.height; ++y) {
    for (std::int32_t x = 0; x < in.size.width; ++x, ++i) {
      const float at_x = static_cast<float>(x) + field.x[i];
      const float at_y = static_cast<float>(y) + field.y[i];
      if (options.interpolation == Interpolation::nearest) {
        sampler.nearest(at_x, at_y, out.data + i * channels);
      } else {
        sampler.bilinear(at_x, at_y, out.data + i * channels);
      }
    }
  }
}

}  // namespace batchcast::inline v0_1::detail

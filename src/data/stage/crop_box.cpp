// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/crop_box.hpp"

#include "data/portable_math.hpp"

#include <algorithm>
#include <cmath>

namespace batchcast::inline v0_1::detail {
namespace {

Box place(ImageSize image, std::int32_t width, std::int32_t height, Draws& draws) noexcept {
  const auto offset = [&draws](std::int32_t outer, std::int32_t inner) {
    return static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(outer - inner) + 1));
  };
  const std::int32_t y = offset(image.height, height);
  const std::int32_t x = offset(image.width, width);
  return {x, y, width, height};
}

std::int32_t side(double wanted, std::int32_t available) noexcept {
  const double fits =
      std::clamp(round_half_even(std::min(wanted, 0x1p40)), 1.0, static_cast<double>(available));
  return static_cast<std::int32_t>(fits);
}

Box centre(ImageSize image, const Range& ratio) noexcept {
  ImageSize size = image;
  const double image_ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
  if (image_ratio < ratio.low) {
    size.height = side(static_cast<double>(image.width) / ratio.low, image.height);
  } else if (image_ratio > ratio.high) {
    size.width = side(static_cast<double>(image.height) * ratio.high, image.width);
  }
  return {(image.width - size.width) / 2, (image.height - size.height) / 2, size.width,
          size.height};
}

double area_of(ImageSize image) noexcept {
  return static_cast<double>(image.width) * static_cast<double>(image.height);
}

}  // namespace

BoxRange::BoxRange(Range scale, Range ratio) noexcept
    : scale_(scale), ratio_(ratio), log_ratio_{portable_log(ratio.low), portable_log(ratio.high)} {}

BoxRange::Sides BoxRange::draw(double area, Draws& draws) const noexcept {
  const double target = area * draw_between(scale_, draws);
  const double ratio = portable_exp(draw_between(log_ratio_, draws));
  return {round_half_even(std::sqrt(target * ratio)), round_half_even(std::sqrt(target / ratio))};
}

Box draw_crop_box(ImageSize image, const BoxRange& range, Draws& draws) noexcept {
  for (int i = 0; i < box_tries; ++i) {
    const auto [width, height] = range.draw(area_of(image), draws);
    if (width >= 1 && width <= image.width && height >= 1 && height <= image.height) {
      return place(image, static_cast<std::int32_t>(width), static_cast<std::int32_t>(height),
                   draws);
    }
  }
  return centre(image, range.ratio());
}

std::optional<Box> draw_erase_box(ImageSize image, const BoxRange& range, Draws& draws,
                                  double count) noexcept {
  for (int i = 0; i < box_tries; ++i) {
    const auto [height, width] = range.draw(area_of(image) / count, draws);
    if (width < image.width && height < image.height) {
      return place(image, static_cast<std::int32_t>(width), static_cast<std::int32_t>(height),
                   draws);
    }
  }
  return std::nullopt;
}

}  // namespace batchcast::inline v0_1::detail

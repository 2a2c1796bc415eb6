// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/padding.hpp"

#include <batchcast/core/text.hpp>

namespace batchcast::inline v0_1::detail {

bool BordersOf::read(StageParameters& given, std::string_view key, Borders& value) const {
  std::vector<std::int64_t> sides;
  if (!Wholes{0, side_max}.read(given, key, sides)) return false;
  if (sides.size() != 1 && sides.size() != 2 && sides.size() != 4) {
    given.refuse(key, batchcast::text("must be {}, not a list of {}", text, sides.size()));
  }
  const auto side = [&](std::size_t i) {
    return static_cast<std::int32_t>(sides[i % sides.size()]);
  };
  value = {side(0), side(1), side(2), side(3)};
  return true;
}

std::optional<ImageSize> Padding::around(ImageSize image) const noexcept {
  const std::int64_t width = std::int64_t{image.width} + by.left + by.right;
  const std::int64_t height = std::int64_t{image.height} + by.top + by.bottom;
  if (width > padded_side_max || height > padded_side_max) return std::nullopt;
  return ImageSize{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
}

std::string why_too_padded(ImageSize image, std::string_view stage) {
  return text(
      "an image of {} pixels would be longer than {} after {}. Crop it first, or pad it by less.",
      words(image), padded_side_max, stage);
}

}  // namespace batchcast::inline v0_1::detail

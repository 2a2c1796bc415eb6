// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/warp_options.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

bool LevelsOf::read(StageParameters& given, std::string_view key,
                    std::vector<std::uint8_t>& value) const {
  std::vector<std::int64_t> levels;
  if (!Wholes{level.low, level.high}.read(given, key, levels)) return false;
  if (levels.size() != 1 && levels.size() != 3) {
    given.refuse(key, text("takes one number or three, not a list of {}", levels.size()));
  }
  value.clear();
  for (const std::int64_t one : levels) value.push_back(static_cast<std::uint8_t>(one));
  return true;
}

void check_fill(std::string_view stage, std::span<const std::uint8_t> fill, std::int32_t channels) {
  if (fill.size() == 1 || fill.size() == static_cast<std::size_t>(channels)) return;
  throw InvalidArgument(
      text("{} has a `fill` of {} numbers, and the image {} channel{}. Give one number.", stage,
           fill.size(), channels, channels == 1 ? "" : "s"));
}

WarpOptions warp_options(Interpolation interpolation, std::span<const std::uint8_t> fill) noexcept {
  WarpOptions options{interpolation, {}};
  for (std::size_t c = 0; c < options.fill.size(); ++c) {
    options.fill[c] = fill[std::min(c, fill.size() - 1)];
  }
  return options;
}

}  // namespace batchcast::inline v0_1::detail

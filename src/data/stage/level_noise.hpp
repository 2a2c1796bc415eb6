// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/random.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace batchcast::inline v0_1::detail {

/// Normal noise, cut off to whole levels towards 0, for levels that are clipped. A draw of 32 bits
/// finds its noise among the probabilities of all: one draw a level, and no function of it.
class LevelNoise {
 public:
  /// Both in levels; `sigma` is above 0.
  LevelNoise(double mean, double sigma) noexcept;
  /// Adds noise to each level, from 0 to 255.
  void add(std::span<std::uint8_t> levels, Draws& draws) const noexcept;

 private:
  static constexpr int most = 255;  // more makes every level 0, or 255
  static constexpr std::size_t count = 2 * most + 1;

  /// Draws below limits_[i], and no lower one, give the noise i - most.
  std::array<std::uint64_t, count> limits_{};
  /// For the upper 8 bits of a draw: the first of the limits that can be its own.
  std::array<std::uint16_t, 256> first_{};
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/level_noise.hpp"

#include "data/portable_math.hpp"

#include <algorithm>
#include <cmath>

namespace batchcast::inline v0_1::detail {
namespace {

/// The share of the standard normal distribution below `x`, within 1e-14: Hart's rational
/// approximation (Computer Approximations, 1968).
double normal_share_below(double x) noexcept {
  constexpr double far = 7;  // what lies beyond is far less than a draw of 32 bits can show
  constexpr std::array<double, 7> above = {3.52624965998911e-2, 0.700383064443688, 6.37396220353165,
                                           33.912866078383,     112.079291497871,  221.213596169931,
                                           220.206867912376};
  constexpr std::array<double, 8> below = {8.83883476483184e-2, 1.75566716318264, 16.064177579207,
                                           86.7807322029461,    296.564248779674, 637.333633378831,
                                           793.826512519948,    440.413735824752};
  const double size = std::abs(x);
  if (size > far) return x > 0 ? 1 : 0;
  double numerator = 0;
  double denominator = 0;
  for (const double coefficient : above) numerator = numerator * size + coefficient;
  for (const double coefficient : below) denominator = denominator * size + coefficient;
  const double beyond = portable_exp(-size * size / 2) * numerator / denominator;
  return x > 0 ? 1 - beyond : beyond;
}

}  // namespace

LevelNoise::LevelNoise(double mean, double sigma) noexcept {
  for (int noise = -most; noise < most; ++noise) {
    // Cut off towards 0, it is at most -3 where it was at most -3, and at most 3 where it was
    // below 4.
    const double bound = noise < 0 ? noise : noise + 1;
    limits_[static_cast<std::size_t>(noise + most)] =
        static_cast<std::uint64_t>(normal_share_below((bound - mean) / sigma) * 0x1p32);
  }
  limits_.back() = std::uint64_t{1} << 32U;
  std::size_t at = 0;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    while (limits_[at] <= i << 24U) ++at;
    first_[i] = static_cast<std::uint16_t>(at);
  }
}

void LevelNoise::add(std::span<std::uint8_t> levels, Draws& draws) const noexcept {
  for (std::uint8_t& level : levels) {
    const std::uint32_t draw = draws.next_u32();
    std::size_t at = first_[draw >> 24U];
    while (limits_[at] <= draw) ++at;
    level = static_cast<std::uint8_t>(std::clamp(level + static_cast<int>(at) - most, 0, 255));
  }
}

}  // namespace batchcast::inline v0_1::detail

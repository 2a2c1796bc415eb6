// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/portable_math.hpp"
#include "data/stage/normal_draws.hpp"

#include <batchcast/data/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace batchcast::inline v0_1::detail {

/// A number of the gamma distribution of that shape, after Marsaglia and Tsang (2000).
inline double draw_gamma(double shape, Draws& draws, NormalDraws& normal) noexcept {
  const auto positive = [&draws] { return 1 - draws.unit_f64(); };
  // Below 1 it is a power of a uniform number times a draw for one more.
  const double raised = shape < 1 ? shape + 1 : shape;
  const double d = raised - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = static_cast<double>(normal.next());
    const double root = 1 + c * x;
    const double logarithm = portable_log(positive());
    if (root <= 0) continue;
    const double v = root * root * root;
    if (!(logarithm < 0.5 * x * x + d - d * v + d * portable_log(v))) continue;
    if (shape >= 1) return d * v;
    return d * v * portable_exp(std::max(portable_log(positive()) / shape, -700.0));
  }
}

/// Shares that add up to 1.
template <std::size_t max>
std::array<float, max> draw_shares(std::size_t count, double alpha, Draws& draws) noexcept {
  NormalDraws normal(draws);
  std::array<double, max> gammas{};
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += gammas[i] = draw_gamma(alpha, draws, normal);
  std::array<float, max> shares{};
  for (std::size_t i = 0; i < count; ++i) shares[i] = static_cast<float>(gammas[i] / sum);
  return shares;
}

}  // namespace batchcast::inline v0_1::detail

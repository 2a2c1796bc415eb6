// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/portable_math.hpp"

#include <batchcast/data/random.hpp>

#include <cmath>

namespace batchcast::inline v0_1::detail {

/// Pairs of independent numbers of the standard normal distribution, by Marsaglia's polar method.
class NormalDraws {
 public:
  explicit NormalDraws(Draws& draws) noexcept : draws_(draws) {}
  float next() noexcept {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    while (true) {
      const double x = symmetric();
      const double y = symmetric();
      const double square = x * x + y * y;
      if (square >= 1) continue;
      const double factor = std::sqrt(-2 * portable_log(square) / square);
      second_ = static_cast<float>(y * factor);
      has_second_ = true;
      return static_cast<float>(x * factor);
    }
  }

 private:
  // Uniform in (-1, 1), never 0.
  double symmetric() noexcept {
    return (static_cast<double>(draws_.next_u32()) + 0.5) * 0x1p-31 - 1;
  }
  Draws& draws_;
  float second_ = 0;
  bool has_second_ = false;
};

}  // namespace batchcast::inline v0_1::detail

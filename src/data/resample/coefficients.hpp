// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Weights are fixed-point numbers with this many bits after the point. A byte times a weight fits
/// 32 bits, and so does the sum over one output's taps.
inline constexpr int weight_bits = 22;

/// The inputs that make one output: `count` inputs from `first` on. Their weights are at `weights`,
/// followed by zeros, at least taps_max numbers together.
struct Taps {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::size_t weights = 0;
};

/// One axis of a resize: a filter, widened by the scale where it shrinks, as PIL computes it; or
/// the nearest input alone. Weights of zero at either end are left out.
struct AxisTaps {
  std::int32_t in = 0;
  std::int32_t out = 0;
  Interpolation interpolation = Interpolation::bilinear;
  /// Some weights are below zero, so that a sum may be negative: it is clipped at both ends.
  bool overshoots = false;
  std::vector<Taps> taps;  ///< one for each output
  std::vector<std::int32_t> weights;
  std::int32_t taps_max = 0;

  void compute(std::int32_t in_size, std::int32_t out_size,
               Interpolation by = Interpolation::bilinear);
  [[nodiscard]] const std::int32_t* weights_of(const Taps& t) const noexcept {
    return weights.data() + t.weights;
  }

 private:
  void compute_nearest();
  void compute_filter();
  std::vector<double> raw_;
};

/// The tables used last. Random crops rarely share a size, resized evaluation images often do.
class AxisTapsCache {
 public:
  /// Valid until the second next call.
  [[nodiscard]] const AxisTaps& of(std::int32_t in, std::int32_t out, Interpolation by);

 private:
  struct Entry {
    AxisTaps taps;
    std::uint64_t used = 0;
  };
  std::array<Entry, 8> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

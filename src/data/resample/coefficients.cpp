// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/coefficients.hpp"

#include "data/portable_math.hpp"

#include <algorithm>

namespace batchcast::inline v0_1::detail {

namespace {

double triangle(double x) noexcept {
  if (x < 0.0) x = -x;
  return x < 1.0 ? 1.0 - x : 0.0;
}

double boxed(double x) noexcept { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double cubic(double x) noexcept {
  constexpr double a = -0.5;
  if (x < 0.0) x = -x;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) noexcept {
  if (x == 0.0) return 1.0;
  x = x * portable_pi;
  return portable_sin(x) / x;
}

double lanczos(double x) noexcept { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

struct Filter {
  double (*weight)(double) noexcept;
  double support;
};

Filter filter_of(Interpolation by) noexcept {
  switch (by) {
    case Interpolation::bicubic:
      return {cubic, 2.0};
    case Interpolation::lanczos:
      return {lanczos, 3.0};
    case Interpolation::box:
      return {boxed, 0.5};
    case Interpolation::bilinear:
    case Interpolation::nearest:
      break;
  }
  return {triangle, 1.0};
}

}  // namespace

void AxisTaps::compute(std::int32_t in_size, std::int32_t out_size, Interpolation by) {
  in = in_size;
  out = out_size;
  interpolation = by;
  overshoots = by == Interpolation::bicubic || by == Interpolation::lanczos;
  taps_max = 1;
  taps.resize(static_cast<std::size_t>(out));
  if (by == Interpolation::nearest) {
    compute_nearest();
  } else {
    compute_filter();
  }
}

// Each output has one input, of weight one. PIL adds up places, and its rounding may decide.
void AxisTaps::compute_nearest() {
  if (weights.empty()) weights.resize(1);
  weights.front() = 1 << weight_bits;
  const double scale = static_cast<double>(in) / out;
  double place = scale * 0.5;
  for (Taps& tap : taps) {
    tap = {.first = std::min(static_cast<std::int32_t>(place), in - 1), .count = 1, .weights = 0};
    place += scale;
  }
}

// The order of operations is PIL's: another one rounds differently and moves some pixels by one.
void AxisTaps::compute_filter() {
  const Filter filter = filter_of(interpolation);
  const double scale = static_cast<double>(in) / out;
  const double widened = std::max(scale, 1.0);
  const double support = filter.support * widened;
  const double inverse = 1.0 / widened;
  const std::size_t stride = static_cast<std::size_t>(support) * 2 + 3;
  if (weights.size() < stride * taps.size()) weights.resize(stride * taps.size());
  if (raw_.size() < stride) raw_.resize(stride);
  for (std::int32_t o = 0; o < out; ++o) {
    const double center = (o + 0.5) * scale;
    const std::int32_t first = std::max(static_cast<std::int32_t>(center - support + 0.5), 0);
    const std::int32_t end = std::min(static_cast<std::int32_t>(center + support + 0.5), in);
    const auto count = static_cast<std::size_t>(end - first);
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      raw_[i] = filter.weight((static_cast<std::int32_t>(i) + first - center + 0.5) * inverse);
      sum += raw_[i];
    }
    const std::size_t from = static_cast<std::size_t>(o) * stride;
    std::int32_t* const fixed = weights.data() + from;
    // Beside weights below zero those of zero stay. Without them the inputs of one output might
    // begin before those of the output before.
    std::int32_t zeros = 0;
    std::int32_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = raw_[i] / sum * (1 << weight_bits);
      const auto weight = static_cast<std::int32_t>(exact < 0 ? exact - 0.5 : exact + 0.5);
      if (weight == 0 && used == 0 && !overshoots) {
        ++zeros;
      } else {
        fixed[used++] = weight;
      }
    }
    // Millions of taps are each too light to count: PIL makes black of them.
    const bool any = used != 0;
    std::fill(fixed + used, fixed + stride, 0);
    while (used > 1 && fixed[used - 1] == 0 && !overshoots) --used;
    used = std::max(used, 1);
    taps[static_cast<std::size_t>(o)] = {
        .first = any ? first + zeros : first, .count = used, .weights = from};
    taps_max = std::max(taps_max, used);
  }
}

const AxisTaps& AxisTapsCache::of(std::int32_t in, std::int32_t out, Interpolation by) {
  Entry* oldest = &entries_.front();
  for (Entry& entry : entries_) {
    if (entry.taps.in == in && entry.taps.out == out && entry.taps.interpolation == by) {
      entry.used = ++uses_;
      return entry.taps;
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  oldest->used = ++uses_;
  oldest->taps.compute(in, out, by);
  return oldest->taps;
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/coefficients.hpp"

#include <algorithm>

namespace batchcast::inline v0_1::detail {

namespace {

double triangle(double x) noexcept {
  if (x < 0.0) x = -x;
  return x < 1.0 ? 1.0 - x : 0.0;
}

}  // namespace

// The order of operations is PIL's: another one rounds differently and moves some pixels by one.
void AxisTaps::compute(std::int32_t in_size, std::int32_t out_size) {
  in = in_size;
  out = out_size;
  taps_max = 1;
  taps.resize(static_cast<std::size_t>(out));
  const double scale = static_cast<double>(in) / out;
  const double support = std::max(scale, 1.0);
  const double inverse = 1.0 / support;
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
      raw_[i] = triangle((static_cast<std::int32_t>(i) + first - center + 0.5) * inverse);
      sum += raw_[i];
    }
    const std::size_t from = static_cast<std::size_t>(o) * stride;
    std::int32_t* const fixed = weights.data() + from;
    std::int32_t zeros = 0;
    std::int32_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto weight = static_cast<std::int32_t>(0.5 + raw_[i] / sum * (1 << weight_bits));
      if (weight == 0 && used == 0) {
        ++zeros;
      } else {
        fixed[used++] = weight;
      }
    }
    // Millions of taps are too light to count at all: PIL makes black of them.
    const bool any = used != 0;
    std::fill(fixed + used, fixed + stride, 0);
    while (used > 1 && fixed[used - 1] == 0) --used;
    used = std::max(used, 1);
    taps[static_cast<std::size_t>(o)] = {
        .first = any ? first + zeros : first, .count = used, .weights = from};
    taps_max = std::max(taps_max, used);
  }
}

const AxisTaps& AxisTapsCache::of(std::int32_t in, std::int32_t out) {
  Entry* oldest = &entries_.front();
  for (Entry& entry : entries_) {
    if (entry.taps.in == in && entry.taps.out == out) {
      entry.used = ++uses_;
      return entry.taps;
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  oldest->used = ++uses_;
  oldest->taps.compute(in, out);
  return oldest->taps;
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample_coefficients.hpp"

#include <algorithm>

namespace batchcast::detail {

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
  const auto per_output = static_cast<std::size_t>(support) * 2 + 3;
  if (weights.size() < per_output * taps.size()) weights.resize(per_output * taps.size());

  std::vector<double>& raw = raw_;
  if (raw.size() < per_output) raw.resize(per_output);
  std::size_t used = 0;
  for (std::int32_t o = 0; o < out; ++o) {
    const double center = (o + 0.5) * scale;
    const std::int32_t first = std::max(static_cast<std::int32_t>(center - support + 0.5), 0);
    const std::int32_t end = std::min(static_cast<std::int32_t>(center + support + 0.5), in);
    const std::int32_t count = end - first;
    double sum = 0.0;
    for (std::int32_t i = 0; i < count; ++i) {
      const double weight = triangle((i + first - center + 0.5) * inverse);
      raw[static_cast<std::size_t>(i)] = weight;
      sum += weight;
    }
    std::int32_t* const fixed = weights.data() + used;
    std::int32_t zeros = 0;
    std::int32_t last = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      const double weight = raw[static_cast<std::size_t>(i)] / sum;
      const auto value = static_cast<std::int32_t>(0.5 + weight * (1 << weight_bits));
      fixed[i] = value;
      if (value != 0) last = i + 1;
      if (last == 0) zeros = i + 1;
    }
    Taps& t = taps[static_cast<std::size_t>(o)];
    t.first = first + zeros;
    t.count = last - zeros;
    t.weights = used + static_cast<std::size_t>(zeros);
    taps_max = std::max(taps_max, t.count);
    used += static_cast<std::size_t>(last);
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

}  // namespace batchcast::detail

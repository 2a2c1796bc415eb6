// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/axis.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

void AxisPlan::begin(const AxisRequest& request, AxisTapsCache& cache) {
  BATCHCAST_ASSERT(request.in > 0 && request.out > 0 && request.window_count > 0);
  out = request.out;
  window_first = request.window_first;
  window_count = request.window_count;
  flip = request.flip;
  padding = request.padding;

  first = std::clamp(window_first, 0, out);
  count = std::clamp(window_first + window_count, 0, out) - first;
  pads = count != window_count;
  if (pads) want_padding();

  taps =
      request.in == out || count == 0 ? nullptr : &cache.of(request.in, out, request.interpolation);
  if (count == 0) {
    in_first = 0;
    in_count = 1;
  } else if (taps == nullptr) {
    in_first = first;
    in_count = count;
  } else {
    const Taps& begin_taps = taps->taps[static_cast<std::size_t>(first)];
    const Taps& end_taps = taps->taps[static_cast<std::size_t>(first + count - 1)];
    in_first = begin_taps.first;
    in_count = end_taps.first + end_taps.count - in_first;
  }
}

void AxisPlan::want_padding() {
  const auto [shown_first, shown_count] = shown();
  padding_places.clear();
  std::int32_t least = first;
  std::int32_t end = first + count;
  for (std::int32_t place = 0; place < window_count; ++place) {
    if (place == shown_first && shown_count > 0) place += shown_count;
    if (place >= window_count) break;
    padding_places.push_back(place);
    const std::int32_t source = source_of(place);
    if (source < 0) continue;
    if (least == end) least = end = source;
    least = std::min(least, source);
    end = std::max(end, source + 1);
  }
  first = least;
  count = end - least;
}

std::pair<std::int32_t, std::int32_t> AxisPlan::shown() const noexcept {
  const std::int32_t from = std::clamp(window_first, 0, out);
  const std::int32_t shown_count = std::clamp(window_first + window_count, 0, out) - from;
  if (shown_count <= 0) return {0, 0};
  return {flip ? place_of(from + shown_count - 1) : place_of(from), shown_count};
}

std::int32_t AxisPlan::source_of(std::int32_t place) const noexcept {
  const std::int32_t source = window_first + (flip ? window_count - 1 - place : place);
  if (source >= 0 && source < out) return source;
  switch (padding) {
    case PaddingMode::constant:
      return -1;
    case PaddingMode::edge:
      return std::clamp(source, 0, out - 1);
    case PaddingMode::reflect: {
      if (out == 1) return 0;
      const std::int32_t period = 2 * (out - 1);
      const std::int32_t phase = (source % period + period) % period;
      return phase < out ? phase : period - phase;
    }
    case PaddingMode::symmetric: {
      const std::int32_t period = 2 * out;
      const std::int32_t phase = (source % period + period) % period;
      return phase < out ? phase : period - 1 - phase;
    }
  }
  return -1;
}

}  // namespace batchcast::inline v0_1::detail

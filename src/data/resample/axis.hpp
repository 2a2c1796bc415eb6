// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/coefficients.hpp"

#include <batchcast/data/geometry.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// One axis of a Geometry.
struct AxisRequest {
  std::int32_t in = 0;   ///< of the box
  std::int32_t out = 0;  ///< of the resized box
  std::int32_t window_first = 0;
  std::int32_t window_count = 0;
  bool flip = false;
  PaddingMode padding = PaddingMode::constant;
  Interpolation interpolation = Interpolation::bilinear;
};

/// Which pixels of the resized box, and of the image for them, one axis of an output shows. Places
/// are those of the output, mirrored where the output is. A row of pixels between the passes holds
/// `count` of the resized box's pixels from `first` on, in the order of places along x.
struct AxisPlan {
  void begin(const AxisRequest& request, AxisTapsCache& cache);

  /// Asks for no pixel, since the other axis makes everything constant.
  void want_nothing() noexcept {
    taps = nullptr;
    first = count = in_first = 0;
    in_count = 1;
  }

  /// The resized box's pixel at a place; -1 where it is constant.
  [[nodiscard]] std::int32_t source_of(std::int32_t place) const noexcept;
  /// The place of a resized box's pixel. It is outside of the output where that shows the pixel
  /// only as padding.
  [[nodiscard]] std::int32_t place_of(std::int32_t source) const noexcept {
    const std::int32_t place = source - window_first;
    return flip ? window_count - 1 - place : place;
  }
  /// Where in a row of `count` pixels a place's pixel is; -1 where it is constant.
  [[nodiscard]] std::int32_t index_of(std::int32_t place) const noexcept {
    const std::int32_t source = source_of(place);
    if (source < 0) return -1;
    return flip ? first + count - 1 - source : source - first;
  }
  /// First and count of the places that are not padding.
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> shown() const noexcept;

  std::int32_t out = 0;
  std::int32_t window_first = 0;
  std::int32_t window_count = 0;
  bool flip = false;
  PaddingMode padding = PaddingMode::constant;

  const AxisTaps* taps = nullptr;  ///< none where the size stays
  std::int32_t first = 0;          ///< of the resized box's pixels that are wanted
  std::int32_t count = 0;          ///< 0 where all is constant
  std::int32_t in_first = 0;       ///< of the box's pixels that are wanted
  std::int32_t in_count = 0;       ///< at least 1
  bool pads = false;
  std::vector<std::int32_t> padding_places;

 private:
  void want_padding();
};

}  // namespace batchcast::inline v0_1::detail

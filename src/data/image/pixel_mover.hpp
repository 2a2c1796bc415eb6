// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/axis.hpp"
#include "data/resample/resampler.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// One pass over pixels that are kept as they stand in the file, of channels of the type Level: a
/// Resampler that takes pixels to other places and mixes none. Whatever the geometry says, it
/// resizes to the nearest. Allocates only while sizes grow; one for each thread.
template <class Level>
class PixelMover {
 public:
  /// As Resampler's, of 1 to 4 channels. The format's type is Level's own, or f32. It wants the
  /// whole image, so that damage below what is shown makes a sample bad too.
  [[nodiscard]] Box begin(const Geometry& geometry, std::int32_t channels,
                          const PixelFormat& format, std::byte* out);
  void push(const std::uint8_t* rows, std::size_t stride, std::size_t count);

 private:
  using Sources = std::vector<std::int32_t>;

  void find(const AxisRequest& request, std::int32_t box_first, Sources& sources);
  void write_row(std::size_t place, const std::uint8_t* row) const;
  template <class Element>
  void write_elements(std::size_t place, const std::uint8_t* row) const;

  AxisTapsCache taps_;
  AxisPlan axis_;
  // Where the output's pixels come from along either axis of the image; -1: they are filled.
  Sources columns_;
  Sources rows_;
  std::size_t pushed_ = 0;

  std::size_t channels_ = 0;
  Level fill_ = 0;
  PixelFormat format_;
  std::byte* out_ = nullptr;
};

extern template class PixelMover<std::uint8_t>;
extern template class PixelMover<std::uint16_t>;

}  // namespace batchcast::inline v0_1::detail

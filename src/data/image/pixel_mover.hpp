// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/axis.hpp"
#include "data/resample/resampler.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// One pass over pixels that keep the values of the file, of channels of the type Level. It is a
/// Resampler that moves pixels and mixes none: it always resizes to the nearest. It allocates only
/// while sizes grow; each thread has one.
template <class Level>
class PixelMover {
 public:
  /// As Resampler's, for 1 to 4 channels. The format's type is Level, or f32. It wants the whole
  /// image, so that damage below what is shown makes a sample bad too.
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
  // Where the output's pixels come from along each axis of the image; -1: they are filled.
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

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/pixel_mover.hpp"

#include <cstring>
#include <type_traits>

namespace batchcast::inline v0_1::detail {

template <class Level>
Box PixelMover<Level>::begin(const Geometry& geometry, std::int32_t channels,
                             const PixelFormat& format, std::byte* out) {
  find({geometry.box.width, geometry.resized.width, geometry.window.x, geometry.window.width,
        geometry.flip_x, geometry.padding, Interpolation::nearest},
       geometry.box.x, columns_);
  find({geometry.box.height, geometry.resized.height, geometry.window.y, geometry.window.height,
        geometry.flip_y, geometry.padding, Interpolation::nearest},
       geometry.box.y, rows_);
  pushed_ = 0;
  channels_ = static_cast<std::size_t>(channels);
  fill_ = geometry.fill;
  format_ = format;
  out_ = out;
  for (std::size_t place = 0; place < rows_.size(); ++place) {
    if (rows_[place] < 0) write_row(place, nullptr);
  }
  return {0, 0, geometry.image.width, geometry.image.height};
}

template <class Level>
void PixelMover<Level>::find(const AxisRequest& request, std::int32_t box_first, Sources& sources) {
  axis_.begin(request, taps_);
  sources.clear();
  for (std::int32_t place = 0; place < request.window_count; ++place) {
    std::int32_t source = axis_.source_of(place);
    if (source >= 0) {
      if (axis_.taps != nullptr) source = axis_.taps->taps[static_cast<std::size_t>(source)].first;
      source += box_first;
    }
    sources.push_back(source);
  }
}

template <class Level>
void PixelMover<Level>::push(const std::uint8_t* rows, std::size_t stride, std::size_t count) {
  for (std::size_t place = 0; place < rows_.size(); ++place) {
    if (rows_[place] < 0) continue;
    const auto row = static_cast<std::size_t>(rows_[place]);
    if (row < pushed_ || row >= pushed_ + count) continue;
    write_row(place, rows + (row - pushed_) * stride);
  }
  pushed_ += count;
}

template <class Level>
void PixelMover<Level>::write_row(std::size_t place, const std::uint8_t* row) const {
  if (format_.dtype == DType::f32) {
    write_elements<float>(place, row);
  } else {
    write_elements<Level>(place, row);
  }
}

template <class Level>
template <class Element>
void PixelMover<Level>::write_elements(std::size_t place, const std::uint8_t* row) const {
  const std::size_t width = columns_.size();
  const bool planar = format_.layout == ImageLayout::chw;
  const std::size_t across = planar ? 1 : channels_;  // from a pixel's element to the next pixel's
  const std::size_t deep = planar ? width * rows_.size() : 1;
  std::byte* out = out_ + place * width * across * sizeof(Element);
  for (const std::int32_t column : columns_) {
    for (std::size_t c = 0; c < channels_; ++c) {
      Level level = fill_;
      if (row != nullptr && column >= 0) {
        const std::size_t at = static_cast<std::size_t>(column) * channels_ + c;
        std::memcpy(&level, row + at * sizeof level, sizeof level);
      }
      Element element;
      if constexpr (std::is_floating_point_v<Element>) {
        const float product = static_cast<float>(level) * format_.scale[c];
        element = product + format_.bias[c];
      } else {
        element = level;
      }
      std::memcpy(out + c * deep * sizeof element, &element, sizeof element);
    }
    out += across * sizeof(Element);
  }
}

template class PixelMover<std::uint8_t>;
template class PixelMover<std::uint16_t>;

}  // namespace batchcast::inline v0_1::detail

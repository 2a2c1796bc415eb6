// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/orientation.hpp"

#include <cstring>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// From 5 on rows and columns are exchanged. Which ends are swapped follows from EXIF's table of
// where the stored image's first row and first column are.
struct Turn {
  bool exchanged = false;
  bool from_right = false;
  bool from_bottom = false;
};

Turn turn_of(int orientation) noexcept {
  switch (orientation) {
    case 2:
      return {false, true, false};
    case 3:
      return {false, true, true};
    case 4:
      return {false, false, true};
    case 5:
      return {true, false, false};
    case 6:
      return {true, false, true};
    case 7:
      return {true, true, true};
    case 8:
      return {true, true, false};
    default:
      return {};
  }
}

}  // namespace

ImageSize upright_size(ImageSize stored, int orientation) noexcept {
  if (turn_of(orientation).exchanged) std::swap(stored.width, stored.height);
  return stored;
}

void turn_upright(const RowsView& stored, int orientation, std::uint8_t* out) noexcept {
  const Turn turn = turn_of(orientation);
  const ImageSize size = upright_size(stored.size, orientation);
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      std::int32_t from_x = turn.exchanged ? y : x;
      std::int32_t from_y = turn.exchanged ? x : y;
      if (turn.from_right) from_x = stored.size.width - 1 - from_x;
      if (turn.from_bottom) from_y = stored.size.height - 1 - from_y;
      std::memcpy(out,
                  stored.data + static_cast<std::size_t>(from_y) * stored.stride +
                      stored.channels * static_cast<std::size_t>(from_x),
                  stored.channels);
      out += stored.channels;
    }
  }
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/assert.hpp>
#include <batchcast/data/geometry.hpp>

namespace batchcast::inline v0_1 {

namespace {

Box whole(ImageSize size) noexcept { return {0, 0, size.width, size.height}; }

}  // namespace

void Geometry::crop(Box part) noexcept {
  BATCHCAST_ASSERT(part.width > 0 && part.height > 0 && part.x >= 0 && part.y >= 0);
  BATCHCAST_ASSERT(part.x <= window.width - part.width && part.y <= window.height - part.height);
  if (flip_x) part.x = window.width - part.x - part.width;
  if (flip_y) part.y = window.height - part.y - part.height;
  if (!resizes() && window == whole(resized)) {
    box = {box.x + part.x, box.y + part.y, part.width, part.height};
    resized = part.size();
    window = whole(resized);
    return;
  }
  window = {window.x + part.x, window.y + part.y, part.width, part.height};
}

void Geometry::resize(ImageSize size) noexcept {
  BATCHCAST_ASSERT(size.width > 0 && size.height > 0);
  if (size == output()) return;
  BATCHCAST_ASSERT(!resizes() && window == whole(resized));
  resized = size;
  window = whole(size);
}

void Geometry::pad(std::int32_t left, std::int32_t top, std::int32_t right, std::int32_t bottom,
                   PaddingMode mode, std::uint8_t fill_value) noexcept {
  BATCHCAST_ASSERT(left >= 0 && top >= 0 && right >= 0 && bottom >= 0);
  if (left == 0 && top == 0 && right == 0 && bottom == 0) return;
  // Padding uses the whole resized box, so no stage may have cropped it before.
  BATCHCAST_ASSERT(window == whole(resized));
  window = {flip_x ? -right : -left, flip_y ? -bottom : -top, window.width + left + right,
            window.height + top + bottom};
  padding = mode;
  fill = fill_value;
}

}  // namespace batchcast::inline v0_1

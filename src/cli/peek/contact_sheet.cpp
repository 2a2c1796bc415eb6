// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/contact_sheet.hpp"

#include <algorithm>
#include <cmath>

namespace batchcast::cli {
namespace {

constexpr std::size_t small_side = 96;   // pictures below are enlarged
constexpr std::size_t large_side = 320;  // and those above reduced
constexpr std::size_t gap = 6;
constexpr std::size_t line_height = glyph_height + 1;
constexpr std::uint8_t paper = 24;

}  // namespace

ContactSheet::ContactSheet(std::size_t groups, std::size_t group_size, std::size_t width,
                           std::size_t height) {
  const std::size_t pictures = groups * group_size;
  const std::size_t side = std::max({width, height, std::size_t{1}});
  if (side < small_side) enlarge_ = (small_side + side - 1) / side;
  if (side > large_side) reduce_ = (side + large_side - 1) / large_side;
  shown_width_ = std::max<std::size_t>(1, width * enlarge_ / reduce_);
  shown_height_ = std::max<std::size_t>(1, height * enlarge_ / reduce_);
  cell_width_ = std::max(shown_width_, std::size_t{12} * glyph_width) + gap;
  cell_height_ = shown_height_ + 2 * line_height + gap;
  // About as wide as high.
  const double cells =
      std::sqrt(static_cast<double>(pictures * cell_height_) / static_cast<double>(cell_width_));
  const auto wanted = static_cast<std::size_t>(std::ceil(cells));
  columns_ =
      std::clamp((wanted + group_size - 1) / group_size, std::size_t{1}, groups) * group_size;
  const std::size_t rows = (pictures + columns_ - 1) / columns_;
  sheet_.width = columns_ * cell_width_ + gap;
  sheet_.height = rows * cell_height_ + gap;
  sheet_.rgb.assign(3 * sheet_.width * sheet_.height, paper);
}

void ContactSheet::add(const Picture& picture, std::string_view first_line,
                       std::string_view second_line) {
  const Place cell{gap + count_ % columns_ * cell_width_, gap + count_ / columns_ * cell_height_};
  ++count_;
  draw_picture(cell, picture);
  const std::size_t below = cell.y + shown_height_ + 3;
  draw_text({cell.x, below}, first_line, {255, 220, 120});
  draw_text({cell.x, below + line_height}, second_line, {160, 160, 160});
}

void ContactSheet::put(Place at, Color color) noexcept {
  if (at.x >= sheet_.width || at.y >= sheet_.height) return;
  std::uint8_t* const pixel = &sheet_.rgb[3 * (at.y * sheet_.width + at.x)];
  pixel[0] = color.r;
  pixel[1] = color.g;
  pixel[2] = color.b;
}

ContactSheet::Color ContactSheet::color_at(const Picture& picture, std::size_t x,
                                           std::size_t y) const noexcept {
  std::size_t sums[3] = {0, 0, 0};
  const std::size_t mixed = picture.is_ids ? 1 : reduce_;
  for (std::size_t dy = 0; dy < mixed; ++dy) {
    for (std::size_t dx = 0; dx < mixed; ++dx) {
      const std::size_t from_x = std::min(picture.width - 1, x * reduce_ / enlarge_ + dx);
      const std::size_t from_y = std::min(picture.height - 1, y * reduce_ / enlarge_ + dy);
      const std::uint8_t* const pixel = &picture.rgb[3 * (from_y * picture.width + from_x)];
      for (std::size_t c = 0; c < 3; ++c) sums[c] += pixel[c];
    }
  }
  const std::size_t pixels = mixed * mixed;
  return {static_cast<std::uint8_t>(sums[0] / pixels), static_cast<std::uint8_t>(sums[1] / pixels),
          static_cast<std::uint8_t>(sums[2] / pixels)};
}

void ContactSheet::draw_picture(Place at, const Picture& picture) {
  for (std::size_t y = 0; y < shown_height_; ++y) {
    for (std::size_t x = 0; x < shown_width_; ++x) {
      put({at.x + x, at.y + y}, color_at(picture, x, y));
    }
  }
}

void ContactSheet::draw_text(Place at, std::string_view text, Color color) {
  for (const PlacedGlyph& letter : font_.line(text, cell_width_ - gap)) {
    for (std::size_t y = 0; y < glyph_height; ++y) {
      const unsigned row = letter.glyph->rows[y];
      for (std::size_t x = 0; x < 16; ++x) {
        if ((row << x & 0x8000U) != 0) put({at.x + letter.x + x, at.y + y}, color);
      }
    }
  }
}

}  // namespace batchcast::cli

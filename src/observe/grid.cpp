// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/grid.hpp"

#include <batchcast/core/utf8.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::observe {
namespace {

std::uint32_t code_of(std::string_view character) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  switch (character.size()) {
    case 2:
      return (byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU);
    case 3:
      return (byte(0) & 0x0fU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
    case 4:
      return (byte(0) & 0x07U) << 18 | (byte(1) & 0x3fU) << 12 | (byte(2) & 0x3fU) << 6 |
             (byte(3) & 0x3fU);
    default:
      return byte(0);
  }
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t n>
bool is_in(const Range (&ranges)[n], std::uint32_t code) noexcept {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

// Marks that stand on the letter before them, joiners, and marks of the direction of writing.
constexpr Range without_width[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},  {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},  {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0000, 0xe0fff}};

// East Asian letters and pictures (Unicode, East_Asian_Width W and F).
constexpr Range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xa960, 0xa97f}, {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

std::size_t columns_of_one(std::string_view character) noexcept {
  const std::uint32_t code = code_of(character);
  if (code < 0x300) return 1;
  if (is_in(without_width, code)) return 0;
  return is_in(wide, code) ? 2 : 1;
}

/// Takes the next character off the text; a byte that begins none is one by itself.
std::string_view take_character(std::string_view& text) noexcept {
  const std::size_t bytes = std::max<std::size_t>(1, detail::utf8_character_bytes(text));
  const std::string_view character = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return character;
}

bool is_printed_as_it_is(std::string_view character, bool ascii) noexcept {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first >= 0x20 && first < 0x7f;
  return !ascii;
}

}  // namespace

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) columns += columns_of_one(take_character(text));
  return columns;
}

Grid::Grid(std::size_t width, std::size_t height, bool ascii)
    : width_(width), height_(height), ascii_(ascii), cells_(width * height) {}

std::size_t Grid::put(std::size_t row, std::size_t column, std::string_view text, Style style,
                      std::size_t most) {
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view character = take_character(text);
    const bool is_kept = is_printed_as_it_is(character, ascii_);
    const std::size_t columns = columns_of_one(character);
    if (columns == 0) continue;
    if (used + columns > most) break;
    if (is_kept) {
      if (!put_one(row, column + used, character, columns, style)) break;
    } else {
      for (std::size_t i = 0; i < columns; ++i) {
        if (!put_one(row, column + used + i, "?", 1, style)) break;
      }
    }
    used += columns;
  }
  return used;
}

bool Grid::put_one(std::size_t row, std::size_t column, std::string_view glyph, std::size_t columns,
                   Style style) {
  if (row >= height_ || column >= width_ || columns > width_ - column) return false;
  Cell& cell = cells_[row * width_ + column];
  cell.glyph = glyph;
  cell.style = style;
  if (columns == 2) cells_[row * width_ + column + 1] = {"", style};
  return true;
}

void Grid::paint(std::size_t row, Style style) {
  if (row >= height_) return;
  for (std::size_t column = 0; column < width_; ++column)
    cells_[row * width_ + column].style = style;
}

std::string Grid::line(std::size_t row) const {
  std::string text;
  for (std::size_t column = 0; column < width_; ++column) text += at(row, column).glyph;
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace batchcast::inline v0_1::observe

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/label_font.hpp"

#include "cli/peek/embedded_fonts.hpp"

#include <batchcast/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace batchcast::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

bool is_in(std::span<const Range> ranges, char32_t character) noexcept {
  return std::any_of(ranges.begin(), ranges.end(), [character](const Range& range) {
    return range.first <= character && character <= range.last;
  });
}

/// What stands on, or under, the letter before it: Unicode's nonspacing marks of scripts that the
/// font has.
bool is_mark(char32_t character) noexcept {
  static constexpr std::array<Range, 15> marks = {{{0x300, 0x36f},
                                                   {0x483, 0x489},
                                                   {0x591, 0x5bd},
                                                   {0x5bf, 0x5bf},
                                                   {0x5c1, 0x5c2},
                                                   {0x5c4, 0x5c5},
                                                   {0x5c7, 0x5c7},
                                                   {0xe31, 0xe31},
                                                   {0xe34, 0xe3a},
                                                   {0xe47, 0xe4e},
                                                   {0x1dc0, 0x1dff},
                                                   {0x200b, 0x200f},
                                                   {0x20d0, 0x20ff},
                                                   {0x3099, 0x309a},
                                                   {0xfe00, 0xfe2f}}};
  return is_in(marks, character);
}

bool runs_to_the_left(char32_t character) noexcept {
  static constexpr std::array<Range, 2> hebrew = {{{0x590, 0x5ff}, {0xfb1d, 0xfb4f}}};
  return is_in(hebrew, character);
}

char32_t decoded(std::string_view bytes) noexcept {
  const auto low_bits = [&](std::size_t i, unsigned mask) {
    return static_cast<char32_t>(static_cast<unsigned char>(bytes[i]) & mask);
  };
  if (bytes.size() == 1) return low_bits(0, 0x7f);
  char32_t character = low_bits(0, 0x7fU >> bytes.size());
  for (std::size_t i = 1; i < bytes.size(); ++i) character = character << 6 | low_bits(i, 0x3f);
  return character;
}

constexpr char32_t replacement = 0xfffd;

std::u32string characters_of(std::string_view utf8) {
  std::u32string characters;
  while (!utf8.empty()) {
    const std::size_t bytes = detail::utf8_character_bytes(utf8);
    characters.push_back(bytes == 0 ? replacement : decoded(utf8.substr(0, bytes)));
    utf8.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return characters;
}

/// A letter and the marks on it.
using Cluster = std::u32string;

std::vector<Cluster> in_the_order_shown(std::string_view utf8) {
  std::vector<Cluster> clusters;
  for (const char32_t character : characters_of(utf8)) {
    if (is_mark(character) && !clusters.empty()) {
      clusters.back().push_back(character);
    } else {
      clusters.emplace_back(1, character);
    }
  }
  // What stands between two letters of such a run belongs to it.
  for (auto begin = clusters.begin(); begin != clusters.end(); ++begin) {
    if (!runs_to_the_left(begin->front())) continue;
    auto end = begin + 1;
    for (auto next = end; next != clusters.end(); ++next) {
      if (runs_to_the_left(next->front())) end = next + 1;
      const char32_t one = next->front();
      if (one > U' ' && !runs_to_the_left(one)) break;
    }
    std::reverse(begin, end);
    begin = end - 1;
  }
  return clusters;
}

/// What stands for a letter that the font does not have.
constexpr Glyph frame{
    glyph_width,
    {0, 0, 0xf800, 0x8800, 0x8800, 0x8800, 0x8800, 0x8800, 0x8800, 0x8800, 0xf800, 0, 0}};
constexpr Glyph nothing{0, {}};

}  // namespace

LabelFont::LabelFont() : narrow_(narrow_font()), wide_(wide_font()) {}

const Glyph& LabelFont::glyph_of(char32_t character) const noexcept {
  if (const Glyph* glyph = narrow_.find(character)) return *glyph;
  if (const Glyph* glyph = wide_.find(character)) return *glyph;
  return is_mark(character) ? nothing : frame;
}

std::vector<PlacedGlyph> LabelFont::line(std::string_view utf8, std::size_t width) const {
  std::vector<PlacedGlyph> line;
  std::size_t x = 0;
  for (const Cluster& cluster : in_the_order_shown(utf8)) {
    const Glyph& letter = glyph_of(cluster.front());
    if (x + letter.width > width) break;
    for (const char32_t character : cluster) line.push_back({&glyph_of(character), x});
    x += letter.width;
  }
  return line;
}

}  // namespace batchcast::cli

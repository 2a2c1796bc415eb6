// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/peek/pcf_font.hpp"

#include <string_view>
#include <vector>

namespace batchcast::cli {

/// A letter that stands on a line.
struct PlacedGlyph {
  const Glyph* glyph = nullptr;
  std::size_t x = 0;  ///< from the line's beginning
};

/// The letters below pictures: X11's misc-fixed, 13 pixels high. It has Latin, Greek, Cyrillic,
/// Hebrew, Armenian, Georgian, Thai, Ethiopic, kana, Hangul, 6,000 kanji, and many signs.
class LabelFont {
 public:
  LabelFont();
  /// The letters of a UTF-8 text from left to right, as far as whole ones fit the width. Hebrew
  /// runs from right to left. Accents that follow a letter stand on it. A frame stands for what the
  /// font does not have, and for bytes that are no UTF-8.
  [[nodiscard]] std::vector<PlacedGlyph> line(std::string_view utf8, std::size_t width) const;

 private:
  [[nodiscard]] const Glyph& glyph_of(char32_t character) const noexcept;

  PcfFont narrow_;
  PcfFont wide_;
};

/// Of a letter of one cell; others have two.
inline constexpr std::size_t glyph_width = 6;

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace batchcast::cli {

inline constexpr std::size_t glyph_height = 13;

struct Glyph {
  std::size_t width = 0;                         ///< from this letter to the next
  std::array<std::uint16_t, glyph_height> rows;  ///< from the top; the highest bit is the leftmost
};

/// A bitmap font of X11 (PCF), whose encoding is Unicode.
class PcfFont {
 public:
  /// Reads a gzipped file. Throws Error for what is no such font, or one of other letters.
  explicit PcfFont(std::string_view gzipped);
  /// Null where the font does not have it.
  [[nodiscard]] const Glyph* find(char32_t character) const noexcept;

 private:
  class Reader;
  std::vector<Glyph> glyphs_;
  std::unordered_map<char32_t, std::size_t> places_;
};

}  // namespace batchcast::cli

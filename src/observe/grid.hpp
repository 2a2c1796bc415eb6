// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::observe {

/// What a part of the screen means; the terminal decides how that looks.
enum class Style : std::uint8_t { plain, title, head, selected, dim, good, warn, bad };

/// One place of a screen. The second place of a wide character has no glyph.
struct Cell {
  std::string glyph = " ";
  Style style = Style::plain;
};

/// A screen of characters, without a terminal. What lies beside it is left out.
class Grid {
 public:
  /// `ascii`: characters beyond ASCII are written as question marks.
  Grid(std::size_t width, std::size_t height, bool ascii);

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t height() const noexcept { return height_; }
  [[nodiscard]] bool is_ascii() const noexcept { return ascii_; }
  [[nodiscard]] const Cell& at(std::size_t row, std::size_t column) const {
    return cells_[row * width_ + column];
  }

  /// Writes at most `most` columns of the text, which is UTF-8 without control characters. Returns
  /// how many columns it took. Characters without a width, and those that turn the direction of
  /// writing, are left out.
  std::size_t put(std::size_t row, std::size_t column, std::string_view text,
                  Style style = Style::plain, std::size_t most = ~std::size_t{0});
  /// Gives a whole row that style.
  void paint(std::size_t row, Style style);

  /// A row as text, without blanks at its end.
  [[nodiscard]] std::string line(std::size_t row) const;

 private:
  [[nodiscard]] bool put_one(std::size_t row, std::size_t column, std::string_view glyph,
                             std::size_t columns, Style style);

  std::size_t width_;
  std::size_t height_;
  bool ascii_;
  std::vector<Cell> cells_;
};

/// How many columns a text takes on a terminal.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;

}  // namespace batchcast::inline v0_1::observe

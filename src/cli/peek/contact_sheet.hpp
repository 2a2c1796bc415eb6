// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/peek/label_font.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::cli {

/// RGB, row by row without gaps.
struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> rgb;
  bool is_ids = false;  ///< a mixture of two colours would be another id's
};

/// Pictures of one size side by side, with two lines of text below each, those of a group all in
/// one row. Small ones are shown larger and large ones smaller, by whole factors.
class ContactSheet {
 public:
  /// `width`, `height`: of each picture.
  ContactSheet(std::size_t groups, std::size_t group_size, std::size_t width, std::size_t height);

  /// The next one, of that size. Letters are those of LabelFont; what does not fit is cut.
  void add(const Picture& picture, std::string_view first_line, std::string_view second_line);
  [[nodiscard]] const Picture& sheet() const noexcept { return sheet_; }

 private:
  struct Color {
    std::uint8_t r, g, b;
  };
  struct Place {
    std::size_t x, y;
  };
  void put(Place at, Color color) noexcept;
  void draw_picture(Place at, const Picture& picture);
  void draw_text(Place at, std::string_view text, Color color);
  [[nodiscard]] Color color_at(const Picture& picture, std::size_t x, std::size_t y) const noexcept;

  std::size_t enlarge_ = 1;
  std::size_t reduce_ = 1;
  std::size_t cell_width_;
  std::size_t cell_height_;
  std::size_t columns_;
  std::size_t shown_width_;
  std::size_t shown_height_;
  std::size_t count_ = 0;
  Picture sheet_;
  LabelFont font_;
};

}  // namespace batchcast::cli

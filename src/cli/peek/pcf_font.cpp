// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/pcf_font.hpp"

#include "data/source/gunzip.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>

namespace batchcast::cli {
namespace {

[[noreturn]] void refuse(const char* why) {
  throw Error(text("batchcast: a font is damaged: {}.", why));
}

// The kinds of tables that are read, and the bits of a table's format.
constexpr std::uint32_t accelerators = 1U << 1;
constexpr std::uint32_t metrics = 1U << 2;
constexpr std::uint32_t bitmaps = 1U << 3;
constexpr std::uint32_t encodings = 1U << 5;
constexpr std::uint32_t compressed_metrics = 0x100;
constexpr std::uint32_t high_byte_first = 4;
constexpr std::uint32_t high_bit_first = 8;

constexpr std::uint32_t no_glyph = 0xffff;

}  // namespace

/// Reads the file's tables.
class PcfFont::Reader {
 public:
  Reader(std::string_view bytes, PcfFont& font) : bytes_(bytes), font_(font) {}

  void read() {
    if (!bytes_.starts_with("\1fcp")) refuse("it is no PCF");
    ascent_ = static_cast<int>(number(table(accelerators) + 12, 4));
    read_glyphs();
    read_encoding();
  }

 private:
  /// Where the table begins, whose own format is then the one to read numbers by.
  std::size_t table(std::uint32_t kind) {
    const std::uint32_t count = little(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t at = 8 + std::size_t{16} * i;
      if (little(at) != kind) continue;
      const std::size_t begin = little(at + 12);
      format_ = little(begin);
      return begin;
    }
    refuse("it lacks a table");
  }

  [[nodiscard]] std::uint8_t byte(std::size_t at) const {
    if (at >= bytes_.size()) refuse("it is cut short");
    return static_cast<std::uint8_t>(bytes_[at]);
  }
  [[nodiscard]] std::uint32_t little(std::size_t at) const {
    return byte(at) | std::uint32_t{byte(at + 1)} << 8 | std::uint32_t{byte(at + 2)} << 16 |
           std::uint32_t{byte(at + 3)} << 24;
  }
  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t byte_count) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < byte_count; ++i) {
      const bool is_high_first = (format_ & high_byte_first) != 0;
      value = value << 8 | byte(at + (is_high_first ? i : byte_count - 1 - i));
    }
    return value;
  }

  struct Metrics {
    int left, right, width, ascent, descent;
  };
  [[nodiscard]] std::vector<Metrics> read_metrics() {
    const std::size_t at = table(metrics);
    if ((format_ & compressed_metrics) == 0) refuse("its metrics are of another kind");
    std::vector<Metrics> all(number(at + 4, 2));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto side = [&](std::size_t k) { return int{byte(at + 6 + 5 * i + k)} - 0x80; };
      all[i] = {side(0), side(1), side(2), side(3), side(4)};
    }
    return all;
  }

  void read_glyphs() {
    const std::vector<Metrics> sizes = read_metrics();
    const std::size_t at = table(bitmaps);
    const std::size_t count = number(at + 4, 4);
    if (count != sizes.size() || (format_ & high_bit_first) == 0) refuse("its bitmaps do not fit");
    const std::size_t row_bytes_min = std::size_t{1} << (format_ & 3U);
    const std::size_t data = at + 8 + 4 * count + 16;
    for (std::size_t i = 0; i < count; ++i) {
      add_glyph(sizes[i], data + number(at + 8 + 4 * i, 4), row_bytes_min);
    }
  }

  void add_glyph(const Metrics& size, std::size_t at, std::size_t row_bytes_min) {
    Glyph glyph{static_cast<std::size_t>(std::max(size.width, 0)), {}};
    const int columns = size.right - size.left;
    const int top = ascent_ - size.ascent;
    if (columns < 0 || size.left < 0 || size.right > 16 || top < 0 ||
        ascent_ + size.descent > static_cast<int>(glyph_height)) {
      refuse("a letter is larger than its cell");
    }
    const std::size_t row_bytes = (static_cast<std::size_t>(columns + 7) / 8 + row_bytes_min - 1) /
                                  row_bytes_min * row_bytes_min;
    for (int y = 0; y < size.ascent + size.descent; ++y) {
      const std::size_t row = at + static_cast<std::size_t>(y) * row_bytes;
      std::uint32_t bits = 0;
      for (std::size_t k = 0; k < 2; ++k) bits = bits << 8 | (k < row_bytes ? byte(row + k) : 0U);
      bits &= ~(0xffffU >> columns);
      glyph.rows[static_cast<std::size_t>(top + y)] = static_cast<std::uint16_t>(bits >> size.left);
    }
    font_.glyphs_.push_back(glyph);
  }

  void read_encoding() {
    const std::size_t at = table(encodings);
    const std::uint32_t low[2] = {number(at + 8, 2), number(at + 4, 2)};  // row, column
    const std::uint32_t high[2] = {number(at + 10, 2), number(at + 6, 2)};
    std::size_t place = at + 14;
    for (std::uint32_t row = low[0]; row <= high[0]; ++row) {
      for (std::uint32_t column = low[1]; column <= high[1]; ++column, place += 2) {
        const std::uint32_t glyph = number(place, 2);
        if (glyph == no_glyph) continue;
        if (glyph >= font_.glyphs_.size()) refuse("it names a letter that it lacks");
        font_.places_.emplace(static_cast<char32_t>(row * 256 + column), glyph);
      }
    }
  }

  std::string_view bytes_;
  PcfFont& font_;
  std::uint32_t format_ = 0;
  int ascent_ = 0;
};

PcfFont::PcfFont(std::string_view gzipped) {
  const std::string bytes = detail::gunzip(gzipped);
  Reader(bytes, *this).read();
}

const Glyph* PcfFont::find(char32_t character) const noexcept {
  const auto found = places_.find(character);
  return found == places_.end() ? nullptr : &glyphs_[found->second];
}

}  // namespace batchcast::cli

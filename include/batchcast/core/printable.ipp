// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/printable.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/utf8.hpp>

#include <algorithm>
#include <cstddef>

namespace batchcast::inline v0_1 {
namespace detail::printing {

inline unsigned char byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

inline bool is_control(std::string_view character) noexcept {
  const unsigned char first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  // U+0080 to U+009F: some terminals obey them too.
  return character.size() == 2 && first == 0xc2 && byte_at(character, 1) < 0xa0;
}

inline void escape(unsigned char byte, std::string& out) {
  constexpr const char* digits = "0123456789abcdef";
  if (byte == '\n') {
    out += "\\n";
  } else if (byte == '\t') {
    out += "\\t";
  } else if (byte == '\r') {
    out += "\\r";
  } else {
    out += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
  }
}

inline std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(bytes, 1));
    const bool shown =
        bytes != 0 && (!is_control(character) || kept.find(character) != std::string_view::npos);
    if (shown) {
      out += character;
    } else {
      for (const char c : character) escape(static_cast<unsigned char>(c), out);
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace detail::printing

BATCHCAST_INLINE std::string printable(std::string_view text) {
  return detail::printing::escaped(text, {});
}

BATCHCAST_INLINE std::string printable_lines(std::string_view text) {
  return detail::printing::escaped(text, "\n\t");
}

}  // namespace batchcast::inline v0_1

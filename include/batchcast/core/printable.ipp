// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/printable.hpp>

#include <batchcast/core/inline.hpp>

#include <algorithm>
#include <cstddef>

namespace batchcast {
namespace detail::printing {

inline unsigned char byte_at(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the character of UTF-8 at the beginning of `text`; 0 if there is none.
inline std::size_t character_bytes(std::string_view text) noexcept {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < bytes) return 0;
  const unsigned char second = byte_at(text, 1);
  // Written longer than need be, half of a pair, or beyond the last character.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80U) return 0;
  }
  return bytes;
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
    const std::size_t bytes = character_bytes(text);
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

}  // namespace batchcast

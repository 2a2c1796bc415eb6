// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Bytes of the UTF-8 character that `text` begins with. 0 where it begins with none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] constexpr std::size_t utf8_character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto in = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return in(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return in(1, low, high) && in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first < 0xf0 || first > 0xf4) return 0;
  const unsigned low = first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
  return in(1, low, high) && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf) ? 4 : 0;
}

[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// The beginning of `text`, at most `bytes_max` bytes, without half a character at its end.
[[nodiscard]] constexpr std::string_view utf8_prefix(std::string_view text,
                                                     std::size_t bytes_max) noexcept {
  std::size_t bytes = std::min(text.size(), bytes_max);
  const auto inside_character = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  while (bytes > 0 && inside_character(bytes)) --bytes;
  return text.substr(0, bytes);
}

}  // namespace batchcast::inline v0_1::detail

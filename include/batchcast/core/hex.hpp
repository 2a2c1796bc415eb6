// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Two lower-case digits for each byte.
[[nodiscard]] inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

/// Whether `text` is what to_hex writes for this many bytes; only then they are stored.
[[nodiscard]] constexpr bool from_hex(std::string_view text,
                                      std::span<std::uint8_t> bytes) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  if (text.size() != 2 * bytes.size()) return false;
  if (text.find_first_not_of(digits) != std::string_view::npos) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] =
        static_cast<std::uint8_t>(digits.find(text[2 * i]) << 4U | digits.find(text[2 * i + 1]));
  }
  return true;
}

}  // namespace batchcast::inline v0_1::detail

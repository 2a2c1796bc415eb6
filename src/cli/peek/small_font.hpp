// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace batchcast::cli {

inline constexpr std::size_t small_font_width = 5;
inline constexpr std::size_t small_font_height = 7;
inline constexpr std::size_t small_font_advance = small_font_width + 1;

/// Rows from the top; the lowest five bits of each, the leftmost pixel first.
using Glyph = std::array<std::uint8_t, small_font_height>;

/// Digits, letters (as capitals), `# - . : , _ /`; blank for anything else.
[[nodiscard]] const Glyph& glyph_of(char letter) noexcept;

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// What a draw group or a stage's id may be, so that neither looks like a default name.
inline constexpr std::string_view draw_word_rule = "letters, digits, `_`, `-` and `.`";

[[nodiscard]] inline bool is_draw_word(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace batchcast::inline v0_1::detail

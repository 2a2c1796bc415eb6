// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string_view>

// What `batchcast ensure` prints on its standard output: one of these words as the first line, then
// text for people. Of a stream that is served, a line of that text is `recipe ` and the recipe that
// was compared, as it stands on the board. A reader ignores lines that it does not know.
namespace batchcast::inline v0_1::detail::ensure_word {

inline constexpr std::string_view served = "served";      ///< with what was asked for
inline constexpr std::string_view mismatch = "mismatch";  ///< with something else; the text has it
inline constexpr std::string_view refused = "refused";    ///< its producer refuses consumers
inline constexpr std::string_view failed = "failed";      ///< `serve` did, or it cannot be run
inline constexpr std::string_view timeout = "timeout";    ///< what was started continues
inline constexpr std::string_view invalid = "invalid";    ///< what was asked for cannot be
inline constexpr std::string_view recipe_line = "recipe ";

}  // namespace batchcast::inline v0_1::detail::ensure_word

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string_view>

// The fonts that the build has embedded, as they lie on a disk: gzipped PCF.
namespace batchcast::cli {

/// 6x13 of X11's misc-fixed: letters of one cell.
[[nodiscard]] std::string_view narrow_font() noexcept;
/// 12x13ja of the same: kanji, kana, Hangul and others, of two cells each.
[[nodiscard]] std::string_view wide_font() noexcept;

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Sources that no code of this library opens; a Python that has the package `batchcast` does.
[[nodiscard]] inline bool is_read_by_python(std::string_view spec) noexcept {
  constexpr std::array<std::string_view, 3> kinds = {"python:", "huggingface:", "parquet:"};
  return std::any_of(kinds.begin(), kinds.end(),
                     [spec](std::string_view kind) { return spec.starts_with(kind); });
}

/// Sources of texts, which become tokens before they are served.
[[nodiscard]] inline bool is_text(std::string_view spec) noexcept {
  return spec.starts_with("jsonl:") || spec.starts_with("text:");
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>

// How a JPEG's samples lie in blocks, and these in MCUs.
namespace batchcast::inline v0_1::detail {

inline constexpr std::int32_t jpeg_block_side = 8;

/// How many blocks or MCUs hold this many samples; a last one that is not full counts.
[[nodiscard]] constexpr std::int32_t jpeg_divided_up(std::int32_t value, std::int32_t by) noexcept {
  return (value + by - 1) / by;
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

#include <cstddef>
#include <cstdint>

// How blurs divide their scratch.
namespace batchcast::inline v0_1::detail {

inline constexpr std::size_t blur_alignment = 64;

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t bytes) noexcept {
  return (bytes + blur_alignment - 1) / blur_alignment * blur_alignment;
}

/// Levels in a row.
[[nodiscard]] constexpr std::size_t row_length(ImageSize size, std::int32_t channels) noexcept {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(channels);
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

// What sources of ready-made tensors share.
namespace batchcast::inline v0_1::detail {

/// Whether a sample of that type and shape is an image whose channels come last.
[[nodiscard]] inline bool has_channels_last(DType dtype,
                                            std::span<const std::int64_t> shape) noexcept {
  return dtype == DType::u8 && shape.size() == 3 && (shape[2] == 1 || shape[2] == 3);
}

/// Bytes of a tensor. Nothing where they cannot be counted or an extent is negative.
[[nodiscard]] inline std::optional<std::uint64_t> byte_count_of(
    DType dtype, std::span<const std::int64_t> shape) noexcept {
  std::uint64_t count = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && count > std::numeric_limits<std::int64_t>::max() / factor) {
      return std::nullopt;
    }
    count *= factor;
  }
  return count;
}

}  // namespace batchcast::inline v0_1::detail

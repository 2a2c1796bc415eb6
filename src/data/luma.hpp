// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// The level of a pixel in PIL's mode L.
[[nodiscard]] inline std::uint8_t luma(const std::uint8_t* rgb) noexcept {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >>
                                   16);
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <bit>
#include <cstdint>

// Converts f16 and bf16, which have no C++ type yet, from and to f32, in integers.
namespace batchcast::inline v0_1::detail {

/// To nearest, ties to even; too large becomes infinity, NaN stays one.
[[nodiscard]] constexpr std::uint16_t bf16_from_f32(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

[[nodiscard]] constexpr float f32_from_bf16(std::uint16_t value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

/// To nearest, ties to even; subnormals are kept, too large becomes infinity, NaN stays one.
[[nodiscard]] constexpr std::uint16_t f16_from_f32(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fff'ffffU;
  if (magnitude > 0x7f80'0000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x4780'0000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65536
  if (magnitude >= 0x3880'0000U) {                                                   // 2^-14
    const std::uint32_t rebiased = magnitude - (112U << 23);
    return static_cast<std::uint16_t>(sign | ((rebiased + 0xfffU + ((rebiased >> 13) & 1U)) >> 13));
  }
  // Adding 0.5 lets the adder align and round: the unit of its last place is f16's smallest number.
  const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
  return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3f00'0000U));
}

[[nodiscard]] constexpr float f32_from_f16(std::uint16_t value) noexcept {
  const std::uint32_t sign = std::uint32_t{value & 0x8000U} << 16;
  const std::uint32_t magnitude = value & 0x7fffU;
  if (magnitude >= 0x7c00U) {
    return std::bit_cast<float>(sign | 0x7f80'0000U | ((magnitude & 0x3ffU) << 13));
  }
  if (magnitude < 0x400U) {
    const float tiny = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -tiny : tiny;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "data/codec/jpeg/kept_blocks.hpp"

// A block at a time, without SIMD: for machines that have none, and for coefficients beyond 8 bits.
namespace batchcast::inline v0_1::detail {

[[nodiscard]] inline std::uint64_t load_little(const std::uint8_t* bytes) noexcept {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
  return value;
}

[[nodiscard]] inline std::int16_t kept_product(std::int16_t value, std::uint16_t by) noexcept {
  return static_cast<std::int16_t>(
      static_cast<std::uint16_t>(std::uint32_t{static_cast<std::uint16_t>(value)} * by));
}

/// A body's fields, from the low end: masks, and for each coefficient that is not zero its sign and
/// whether it is more than one.
struct KeptBits {
  std::uint64_t mask;
  std::uint64_t signs;
  std::uint64_t larger;
  const std::uint8_t* magnitudes;

  KeptBits(std::uint8_t head, const std::uint8_t* body) noexcept {
    const std::uint32_t groups = head & 15U;
    const bool has_larger = head >> 4U != 0;
    mask = groups == 0 ? 0 : load_little(body) & (~std::uint64_t{0} >> (64 - 8 * groups));
    body += groups;
    const auto count = static_cast<std::uint32_t>(std::popcount(mask));
    signs = load_little(body);
    const std::uint64_t rest = load_little(body + 8);
    larger = count == 64 ? rest : signs >> count | rest << (63 - count) << 1U;
    if (!has_larger) larger = 0;
    magnitudes = body + ((has_larger ? 2 : 1) * count + 7) / 8;
  }

  /// Passes the lowest group, which has `count` coefficients.
  void pass(std::uint32_t count) noexcept {
    mask >>= 8U;
    signs >>= count;
    larger >>= count;
  }
};

/// All but the DC coefficient, which becomes zero.
void expand_kept_plain(std::uint8_t head, const std::uint8_t* body, const KeptQuantizer& quantizer,
                       JpegBlock& block) noexcept;

/// Writes a body and returns the head. Bit i of `nonzero` says that coefficient i is not zero.
[[nodiscard]] std::uint8_t pack_kept_plain(const JpegBlock& block, std::uint64_t nonzero,
                                           std::uint8_t* body) noexcept;

[[nodiscard]] std::size_t kept_body_bytes(std::uint8_t head, const std::uint8_t* body) noexcept;

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "data/codec/jpeg/kept_form.hpp"

// Tables that expand eight coefficients in a vector of 16 bits each.
namespace batchcast::inline v0_1::detail {

alignas(16) inline constexpr std::array<std::uint16_t, 8> kept_lane_bits = {1,  2,  4,  8,
                                                                            16, 32, 64, 128};

/// For each mask: which of the values that are there goes to each lane, as bytes of a shuffle. A
/// byte of 0x80 gives zero.
struct alignas(16) KeptShuffle {
  std::array<std::uint8_t, 16> bytes{};
  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes.data(); }
};
inline constexpr std::array<KeptShuffle, 256> kept_expansion = [] {
  std::array<KeptShuffle, 256> all{};
  for (std::size_t mask = 0; mask < 256; ++mask) {
    std::uint8_t next = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const bool is_set = (mask >> lane & 1U) != 0;
      all[mask].bytes[2 * lane] = is_set ? next++ : std::uint8_t{0x80};
      all[mask].bytes[2 * lane + 1] = is_set ? next++ : std::uint8_t{0x80};
    }
  }
  return all;
}();

// By code of the width: which byte has each lane's magnitude, what lifts it to the byte's top, and
// the bits that it has there.
inline constexpr std::array<KeptShuffle, 4> kept_spread = [] {
  std::array<KeptShuffle, 4> all{};
  for (std::size_t code = 0; code < 4; ++code) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      all[code].bytes[2 * lane] =
          code == 0 ? std::uint8_t{0x80} : static_cast<std::uint8_t>(lane * kept_widths[code] / 8);
      all[code].bytes[2 * lane + 1] = 0x80;
    }
  }
  return all;
}();
struct alignas(16) KeptLift {
  std::array<std::uint16_t, 8> factors{};
  [[nodiscard]] const std::uint16_t* data() const noexcept { return factors.data(); }
};
inline constexpr std::array<KeptLift, 4> kept_lift = [] {
  std::array<KeptLift, 4> all{};
  for (std::size_t code = 1; code < 4; ++code) {
    const std::size_t width = kept_widths[code];
    for (std::size_t lane = 0; lane < 8; ++lane) {
      all[code].factors[lane] = static_cast<std::uint16_t>(1U << (8 - width - lane * width % 8));
    }
  }
  return all;
}();
inline constexpr std::array<std::uint16_t, 4> kept_field = {0, 0xC0, 0xF0, 0xFF};

}  // namespace batchcast::inline v0_1::detail

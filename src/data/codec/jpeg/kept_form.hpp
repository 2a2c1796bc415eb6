// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// The form in which a JPEG's coefficients are kept, so that the next epoch needs no entropy
// decoding (docs/codec.md, "The kept form"). An entry is a KeptHead, the offsets of its rows of
// blocks and one more for the end, and the rows: MCU row after MCU row, in each the luma's rows,
// then blue, then red. A row of blocks has
//
// ```
// 2 bytes       how many bytes the DC coefficients take
// 1 for each    head: groups of coefficients | code of the width << 4
// 1 for each    bytes of the block's body
// DC            for each block one byte: 128 + the difference to the block before (0 before the
//               first). A zero byte, and the coefficient itself in two, where that does not fit
// bodies        one after the other
// ```
//
// A body has a mask of a byte for each group: which of its eight coefficients are not zero. Then
// come a sign for each of these, a bit that says whether it is more than one, and for each of the
// latter the magnitude less two in `width` bits. Without width no coefficient is more than one, and
// that bit is absent. Signs and these bits lie in whole bytes, as do the magnitudes.
namespace batchcast::inline v0_1::detail {

/// Readers of an entry may read this many bytes beyond its end.
inline constexpr std::size_t kept_slack = 256;

inline constexpr std::uint32_t kept_magic = 0x314B4342;

/// Numbers are in the machine's order. On another kind of machine the magic is wrong.
struct KeptHead {
  std::uint32_t magic = kept_magic;
  std::uint32_t byte_count = 0;
  std::uint32_t file_bytes = 0;  ///< of the JPEG that was read
  std::uint16_t width = 0;
  std::uint16_t height = 0;
  std::uint8_t orientation = 1;
  std::uint8_t component_count = 0;
  std::uint8_t across = 1;  ///< of luma, as in a JpegHeader
  std::uint8_t down = 1;
  std::array<std::array<std::uint16_t, 64>, 3> quantizers{};  ///< in zigzag order
};
static_assert(sizeof(KeptHead) == 20 + 3 * 128);

/// Places in a block of the coefficients, in the order of the masks: groups of two half rows, from
/// low frequencies to high ones. Bit 0, the DC coefficient, is never set.
inline constexpr std::array<std::uint8_t, 64> kept_order = [] {
  constexpr std::array<std::uint8_t, 16> halves = {0,  8,  16, 24, 4,  32, 12, 40,
                                                   20, 48, 28, 56, 36, 44, 52, 60};
  std::array<std::uint8_t, 64> order{};
  for (std::size_t i = 0; i < 64; ++i) {
    order[i] = static_cast<std::uint8_t>(halves[i / 4] + i % 4);
  }
  return order;
}();

inline constexpr std::size_t kept_groups = 8;
/// Bits of a magnitude, by code. Those of the last code are rare, and are read one by one.
inline constexpr std::array<std::uint8_t, 5> kept_widths = {0, 2, 4, 8, 16};
inline constexpr std::uint32_t kept_code_wide = 4;
/// A body is never longer: masks, signs and levels, magnitudes.
inline constexpr std::size_t kept_body_max = 8 + 16 + 2 * 64;
inline constexpr std::size_t kept_dc_max = 3;

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "data/codec/jpeg/huffman.hpp"

// The bits of a scan, without stuffing. Everything here is inlined into the loops that call it, so
// that they can keep it in registers.
namespace batchcast::inline v0_1::detail {

/// The place in a block of each coefficient in zigzag order. There are more than 64 for a run that
/// reaches further.
inline constexpr std::array<std::uint8_t, 64 + 16> jpeg_natural_order = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

[[gnu::always_inline]] inline std::uint64_t load_big_endian(const std::uint8_t* bytes) noexcept {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  return value;
}

struct JpegBits {
  std::uint64_t window;
  std::uint64_t count;
  const std::uint8_t* next;
};

/// Afterwards the window has at least 56 bits.
[[gnu::always_inline]] inline void refill(JpegBits& bits) noexcept {
  bits.window |= load_big_endian(bits.next) >> bits.count;
  bits.next += (63 - bits.count) >> 3U;
  bits.count |= 56;
}

[[gnu::always_inline]] inline void consume(JpegBits& bits, std::uint32_t count) noexcept {
  bits.window <<= count & 63U;
  bits.count -= count;
}

/// The value at the top of `bits`, which `shift` right brings to the low end. Positive numbers
/// begin with a one; negative ones are complemented.
[[gnu::always_inline]] inline std::int32_t value_at_top(std::uint64_t bits,
                                                        std::uint32_t shift) noexcept {
  const auto flip = static_cast<std::uint64_t>(~(static_cast<std::int64_t>(bits) >> 63U));
  const auto magnitude = static_cast<std::uint32_t>((bits ^ flip) >> (shift & 63U));
  const auto sign = static_cast<std::uint32_t>(flip);
  return static_cast<std::int32_t>((magnitude ^ sign) - sign);
}

[[gnu::always_inline]] inline bool fits_sample(std::uint32_t beyond) noexcept {
  return beyond >> 16U == 0;
}

/// Zero while all the products so far fit into 16 bits.
[[gnu::always_inline]] inline std::uint32_t excess(std::int32_t product) noexcept {
  return static_cast<std::uint32_t>(product) + 0x8000U;
}

/// The place in JpegHuffmanTable::look of the next symbol.
[[gnu::always_inline]] inline std::uint64_t look_index(const JpegBits& bits) noexcept {
  return bits.window >> (64 - JpegHuffmanTable::look_bits);
}

/// Adds the difference of the next DC coefficient, of which `index` is the look_index(). The window
/// is full. False for bits that are no code.
[[gnu::always_inline]] inline bool read_difference(JpegBits& bits, std::uint64_t index,
                                                   const JpegHuffmanTable& table,
                                                   std::int32_t& prediction) noexcept {
  std::uint32_t entry = table.look[index];
  if (entry < JpegHuffmanTable::valued) [[unlikely]] {
    entry = table.find(bits.window);
    if (entry < JpegHuffmanTable::valued) return false;
  }
  // Shifts by one more, because there may be no value bits.
  const std::uint64_t value = bits.window << (entry >> 8U & 63U);
  const auto flip = static_cast<std::uint64_t>(~(static_cast<std::int64_t>(value) >> 63U));
  const auto magnitude = static_cast<std::uint32_t>((value ^ flip) >> 1U >> (entry >> 24U));
  const auto sign = static_cast<std::uint32_t>(flip);
  consume(bits, entry & 0xFF);
  prediction += static_cast<std::int32_t>((magnitude ^ sign) - sign);
  return true;
}

}  // namespace batchcast::inline v0_1::detail

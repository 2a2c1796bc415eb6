// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// One of a JPEG's Huffman codes, laid out for JpegEntropyDecoder. A symbol stands for a run of
/// zeros and for how many bits of value follow it.
struct JpegHuffmanTable {
  static constexpr unsigned look_bits = 10;
  static constexpr unsigned skip_bits = 10;

  /// What the next look_bits bits begin with. From the low end, a byte each: bits of code and
  /// value; bits of code; run; how far to shift 64 bits right to keep the value, of which DC
  /// symbols have one less. Where the last is 0, there is no value and `run` tells why.
  std::array<std::uint32_t, std::size_t{1} << look_bits> look;
  static constexpr std::uint32_t valued = 1U << 24U;  ///< from here on there is a value
  static constexpr std::uint32_t end_of_block = 0;
  static constexpr std::uint32_t sixteen_zeros = 16;
  static constexpr std::uint32_t long_code = 255;  ///< or none at all; length is 0

  /// AC only: all the symbols whose codes lie within the next skip_bits bits, together. Bits 0 to
  /// 5: their bits; from bit 8 on: coefficients that they stand for, an end of block being one;
  /// bit 7: the last is an end of block. 0: the first code is longer.
  std::array<std::uint16_t, std::size_t{1} << skip_bits> skip;
  static constexpr std::uint32_t ends_block = 0x80;

  /// By length: the first 16 bits that are past codes of that length; what to add to a code to have
  /// its symbol's place.
  std::array<std::uint32_t, 17> limits;
  std::array<std::int32_t, 17> offsets;
  std::array<std::uint8_t, 256> symbols;
  bool is_dc;

  /// As in `look`, whatever the length; `long_code` where `window` begins with no code.
  [[nodiscard]] std::uint32_t find(std::uint64_t window) const noexcept;
};

/// Tables are kept across images: most files have the same.
class JpegHuffmanCache {
 public:
  /// The table for `codes` (as in the file), good until as many others as are kept have been asked
  /// for; null where it is none that libjpeg takes.
  const JpegHuffmanTable* find(std::span<const std::uint8_t> codes, bool is_dc);

 private:
  struct Slot {
    JpegHuffmanTable table;
    std::vector<std::uint8_t> codes;
    std::uint64_t last_use = 0;
  };

  std::vector<std::unique_ptr<Slot>> slots_;
  std::uint64_t uses_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

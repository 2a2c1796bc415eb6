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

/// The use of a Huffman code. AC codes of progressive files have symbols that others lack.
enum class JpegCodeKind : std::uint8_t { dc, ac, progressive_ac };

/// One of a JPEG's Huffman codes, laid out for the decoders of scans.
///
/// A symbol is a byte. In an AC code its upper half is a run of zero coefficients. Its lower half
/// is the number of value bits that follow the code; the value is the coefficient after the run. In
/// a DC code the whole symbol is the number of value bits.
struct JpegHuffmanTable {
  static constexpr unsigned look_bits = 10;
  static constexpr unsigned skip_bits = 10;

  /// The symbol that the next look_bits bits of the scan begin with; these bits are the index. One
  /// look-up gives all that is needed to take code and value out of a 64-bit window. The top bit of
  /// that window is the next bit of the scan. An entry has four bytes:
  ///
  /// ```
  /// bits 0-7    bits of code and value together: how far to move on in the scan
  /// bits 8-15   bits of the code: window << n has the value at its top
  /// bits 16-23  the run of zeros before the value. Where there is no value, one of end_of_block,
  ///             sixteen_zeros and long_code; in a progressive AC code also end_of_blocks + n.
  ///             Then the n bits that follow say how many more blocks end, and count as value.
  /// bits 24-31  64 less the bits of the value: (window << n) >> this is the value alone. For
  ///             DC symbols 63 less them, since their value may have 0 bits, and a shift by 64
  ///             is undefined: shift by one first, and then by this. 0: there is no value
  /// ```
  ///
  /// n is at most 16, or 0 where the entry is no code. `entry >> 8U & 63U` reads it. A 64-bit shift
  /// uses these six bits, so that the compiler needs no instruction for the mask.
  std::array<std::uint32_t, std::size_t{1} << look_bits> look;
  static constexpr std::uint32_t valued = 1U << 24U;  ///< entries from here on have a value
  static constexpr std::uint32_t end_of_block = 0;
  static constexpr std::uint32_t sixteen_zeros = 16;
  static constexpr std::uint32_t end_of_blocks = 32;  ///< n from 1 to 14
  static constexpr std::uint32_t long_code = 255;  ///< more than look_bits bits, or no code at all

  /// For AC codes of baseline files only, to skip coefficients that no pixel needs. The next
  /// skip_bits bits are the index. The entry stands for all symbols together whose codes lie within
  /// these bits. 0: the first code is longer. Other entries have these bits:
  ///
  /// ```
  /// bits 0-5   bits of all their codes and values (the last value may end beyond skip_bits)
  /// bit 7      the last one is an end of block
  /// bits 8-15  coefficients, zeros included; an end of block counts as one
  /// ```
  std::array<std::uint16_t, std::size_t{1} << skip_bits> skip;
  static constexpr std::uint32_t ends_block = 0x80;

  /// For AC codes of baseline files only: the next pair_bits bits are the index. An entry stands
  /// for one or two coefficients whose codes and values lie within these bits, and for the end of
  /// block that may follow. It has these bits:
  ///
  /// ```
  /// bits 0-5    bits of all their codes and values
  /// bit 7       an end of block is the last of them
  /// bits 8-15   coefficients, zeros included; an end of block counts as one. 255: the entry has
  /// none bits 16-23  zeros before the first coefficient bits 24-31  coefficients before the second
  /// one, zeros included bits 32-47  the first coefficient, or 0 where there is none bits 48-63 the
  /// second one, the same
  /// ```
  static constexpr unsigned pair_bits = 11;
  std::array<std::uint64_t, std::size_t{1} << pair_bits> pairs;
  bool has_pairs = false;

  /// Indexed by length of code. The next 16 bits begin with a code of at most that length if they
  /// are below the limit. A code plus the offset is the place of its symbol in `symbols`.
  std::array<std::uint32_t, 17> limits;
  std::array<std::int32_t, 17> offsets;
  std::array<std::uint8_t, 256> symbols;
  JpegCodeKind kind;

  /// As in `look`, for codes of any length; `long_code` where `window` begins with no code.
  [[nodiscard]] std::uint32_t find(std::uint64_t window) const noexcept;
};

/// Tables are kept across images: most files have the same.
class JpegHuffmanCache {
 public:
  /// The table for `codes` (as in the file), or null where libjpeg would refuse it. It is valid
  /// until `find` has been asked for as many other tables as the cache keeps.
  /// A table of AC codes has pairs if it comes in a second image, or `is_long` says that much is to
  /// be decoded with it.
  const JpegHuffmanTable* find(std::span<const std::uint8_t> codes, JpegCodeKind kind,
                               bool is_long = false);

 private:
  struct Slot {
    JpegHuffmanTable table;
    std::vector<std::uint8_t> codes;
    std::uint64_t last_use = 0;
    std::uint64_t uses = 0;
  };

  std::vector<std::unique_ptr<Slot>> slots_;
  std::uint64_t uses_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

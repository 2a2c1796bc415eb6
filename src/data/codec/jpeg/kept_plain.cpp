// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/kept_plain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

namespace batchcast::inline v0_1::detail {
namespace {

std::uint32_t code_for(std::uint32_t largest) noexcept {
  if (largest <= 1) return 0;
  if (largest <= 5) return 1;
  if (largest <= 17) return 2;
  return largest <= 127 ? 3 : kept_code_wide;
}

void store_little(std::uint8_t* to, std::uint64_t value) noexcept {
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
  std::memcpy(to, &value, sizeof value);
}

/// Bit i of the result: that of coefficient kept_order[i]. Half rows stay together.
std::uint64_t in_kept_order(std::uint64_t natural) noexcept {
  std::uint64_t ordered = 0;
  for (std::uint32_t half = 0; half < 16; ++half) {
    ordered |= (natural >> kept_order[4 * half] & 15U) << (4 * half);
  }
  return ordered;
}

}  // namespace

void expand_kept_plain(std::uint8_t head, const std::uint8_t* body, const KeptQuantizer& quantizer,
                       JpegBlock& block) noexcept {
  block.coefficients.fill(0);
  const std::uint32_t width = kept_widths[head >> 4U];
  KeptBits bits(head, body);
  std::uint32_t at = 0;
  for (; bits.mask != 0; bits.mask &= bits.mask - 1) {
    const std::size_t place = kept_order[static_cast<std::size_t>(std::countr_zero(bits.mask))];
    std::uint32_t magnitude = 1;
    if ((bits.larger & 1U) != 0) {
      const std::uint64_t next = load_little(bits.magnitudes + at / 8) >> (at % 8);
      magnitude = 2 + static_cast<std::uint32_t>(next & ((std::uint64_t{1} << width) - 1));
      at += width;
    }
    const auto value = static_cast<std::int16_t>(static_cast<std::uint16_t>(
        (bits.signs & 1U) != 0 ? std::uint32_t{0} - magnitude : magnitude));
    block.coefficients[place] = kept_product(value, quantizer.natural[place]);
    bits.signs >>= 1U;
    bits.larger >>= 1U;
  }
  block.coefficients[0] = 0;
}

std::uint8_t pack_kept_plain(const JpegBlock& block, std::uint64_t nonzero,
                             std::uint8_t* body) noexcept {
  const std::uint64_t mask = in_kept_order(nonzero & ~std::uint64_t{1});
  std::array<std::uint16_t, 64> magnitudes;  // of the larger ones
  std::size_t larger_count = 0;
  std::uint64_t signs = 0;
  std::uint64_t larger = 0;
  std::uint32_t largest = 0;
  std::uint32_t count = 0;
  for (std::uint64_t left = mask; left != 0; left &= left - 1, ++count) {
    const std::int32_t value =
        block.coefficients[kept_order[static_cast<std::size_t>(std::countr_zero(left))]];
    const auto magnitude = static_cast<std::uint32_t>(std::abs(value));
    signs |= std::uint64_t{value < 0} << count;
    largest = std::max(largest, magnitude);
    if (magnitude == 1) continue;
    larger |= std::uint64_t{1} << count;
    magnitudes[larger_count++] = static_cast<std::uint16_t>(magnitude - 2);
  }
  const auto groups = static_cast<std::uint32_t>((std::bit_width(mask) + 7) / 8);
  const std::uint32_t code = code_for(largest);
  store_little(body, mask);
  body += groups;
  if (code != 0) {
    store_little(body, count == 64 ? signs : signs | larger << count);
    store_little(body + 8, count == 0 ? 0 : larger >> 1U >> (63 - count));
    body += (2 * count + 7) / 8;
    const std::uint32_t width = kept_widths[code];
    std::uint64_t waiting = 0;
    std::uint32_t waiting_bits = 0;
    for (std::size_t i = 0; i < larger_count; ++i) {
      waiting |= std::uint64_t{magnitudes[i]} << waiting_bits;
      waiting_bits += width;
      if (waiting_bits < 16) continue;
      *body++ = static_cast<std::uint8_t>(waiting);
      *body++ = static_cast<std::uint8_t>(waiting >> 8U);
      waiting >>= 16U;
      waiting_bits -= 16;
    }
    for (; waiting_bits > 0; waiting_bits -= std::min(waiting_bits, 8U)) {
      *body++ = static_cast<std::uint8_t>(waiting);
      waiting >>= 8U;
    }
  } else {
    store_little(body, signs);
  }
  return static_cast<std::uint8_t>(groups | code << 4U);
}

std::size_t kept_body_bytes(std::uint8_t head, const std::uint8_t* body) noexcept {
  const KeptBits bits(head, body);
  const auto larger = static_cast<std::uint32_t>(
      std::popcount(bits.larger & ((std::popcount(bits.mask) == 64)
                                       ? ~std::uint64_t{0}
                                       : (std::uint64_t{1} << std::popcount(bits.mask)) - 1)));
  return static_cast<std::size_t>(bits.magnitudes - body) +
         (larger * kept_widths[head >> 4U] + 7) / 8;
}

}  // namespace batchcast::inline v0_1::detail

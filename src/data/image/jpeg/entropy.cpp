// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/jpeg/entropy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

// Everything that the loops call becomes part of them: what they keep in registers stays there.

constexpr std::array<std::uint8_t, 64 + 16> natural_order = {
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

struct Bits {
  std::uint64_t window;
  std::uint64_t count;
  const std::uint8_t* next;
};

/// At least 56 bits are there afterwards.
[[gnu::always_inline]] inline void refill(Bits& bits) noexcept {
  bits.window |= load_big_endian(bits.next) >> bits.count;
  bits.next += (63 - bits.count) >> 3U;
  bits.count |= 56;
}

[[gnu::always_inline]] inline void consume(Bits& bits, std::uint32_t count) noexcept {
  bits.window <<= count & 63U;
  bits.count -= count;
}

/// The value at the top of `bits`, which `shift` right brings to the low end: ones first for
/// positive numbers, complemented for negative ones.
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

/// Zero as long as all the products so far fit into 16 bits.
[[gnu::always_inline]] inline std::uint32_t excess(std::int32_t product) noexcept {
  return static_cast<std::uint32_t>(product) + 0x8000U;
}

}  // namespace

struct JpegEntropyDecoder::Engine {
  /// The DC coefficient, undone of prediction. False for what is no code, and beyond 16 bits.
  [[gnu::always_inline]] static inline bool read_dc(Bits& bits, Component& component) noexcept {
    refill(bits);
    std::uint32_t entry = component.dc->look[bits.window >> (64 - JpegHuffmanTable::look_bits)];
    if (entry < JpegHuffmanTable::valued) [[unlikely]] {
      entry = component.dc->find(bits.window);
      if (entry < JpegHuffmanTable::valued) return false;
    }
    // Shifted by one more, because there may be no bits of value at all.
    const std::uint64_t value = bits.window << (entry >> 8U & 63U);
    const auto flip = static_cast<std::uint64_t>(~(static_cast<std::int64_t>(value) >> 63U));
    const auto magnitude = static_cast<std::uint32_t>((value ^ flip) >> 1U >> (entry >> 24U));
    const auto sign = static_cast<std::uint32_t>(flip);
    consume(bits, entry & 0xFF);
    component.prediction += static_cast<std::int32_t>((magnitude ^ sign) - sign);
    return fits_sample(excess(component.prediction));
  }

  /// False for what is no code.
  [[gnu::always_inline]] static inline bool skip_ac(Bits& bits,
                                                    const JpegHuffmanTable& table) noexcept {
    std::uint32_t at = 1;
    refill(bits);
    for (;;) {
      const std::uint32_t entry = table.skip[bits.window >> (64 - JpegHuffmanTable::skip_bits)];
      const std::uint32_t behind = at + (entry >> 8U);
      if (entry != 0 && behind <= 64) [[likely]] {
        consume(bits, entry & 63U);
        if ((entry & JpegHuffmanTable::ends_block) != 0 || behind == 64) return true;
        at = behind;
        refill(bits);
        continue;
      }
      // A long code, or the block ends somewhere among those symbols.
      std::uint32_t single = table.find(bits.window);
      const std::uint32_t run = single >> 16U & 0xFF;
      consume(bits, single & 63U);
      if (single >= JpegHuffmanTable::valued) {
        at += run + 1;
      } else if (run == JpegHuffmanTable::end_of_block) {
        return true;
      } else if (run == JpegHuffmanTable::sixteen_zeros) {
        at += 16;
      } else {
        return false;
      }
      if (at >= 64) return at == 64;
      refill(bits);
    }
  }

  [[gnu::always_inline]] static inline bool read_ac(Bits& bits, const Component& component,
                                                    std::int16_t* block) noexcept {
    const JpegHuffmanTable& table = *component.ac;
    std::uint32_t beyond = 0;
    std::uint32_t at = 1;
    for (;;) {
      refill(bits);
#pragma GCC unroll 2
      for (int turn = 0; turn < 2; ++turn) {
        std::uint32_t entry = table.look[bits.window >> (64 - JpegHuffmanTable::look_bits)];
        if (entry < JpegHuffmanTable::valued) [[unlikely]] {
          std::uint32_t run = entry >> 16U;
          if (run == JpegHuffmanTable::long_code) {
            refill(bits);
            entry = table.find(bits.window);
            run = entry >> 16U & 0xFF;
          }
          if (entry < JpegHuffmanTable::valued) {
            consume(bits, entry & 0xFF);
            if (run == JpegHuffmanTable::end_of_block) return fits_sample(beyond);
            if (run != JpegHuffmanTable::sixteen_zeros) return false;
            at += 16;
            if (at >= 64) return at == 64 && fits_sample(beyond);
            break;
          }
        }
        at += entry >> 16U & 0xFF;
        const std::int32_t value = value_at_top(bits.window << (entry >> 8U & 63U), entry >> 24U);
        consume(bits, entry & 0xFF);
        const std::int32_t product = value * static_cast<std::int32_t>(component.quantizer[at]);
        beyond |= excess(product);
        block[natural_order[at]] = static_cast<std::int16_t>(product);
        if (++at >= 64) return at == 64 && fits_sample(beyond);
      }
    }
  }

  template <bool keeps>
  static bool run(JpegEntropyDecoder& decoder, std::size_t mcus,
                  const JpegBlocks* blocks) noexcept {
    Bits bits{decoder.window_, decoder.count_, decoder.next_};
    const std::size_t block_count = decoder.block_count_;
    for (std::size_t mcu = 0; mcu < mcus; ++mcu) {
      for (std::size_t i = 0; i < block_count; ++i) {
        Component& component = *decoder.component_of_[i];
        if (!read_dc(bits, component)) return false;
        if constexpr (keeps) {
          JpegBlock& to = blocks[i].first[mcu * blocks[i].step];
          to.coefficients.fill(0);
          std::int16_t* const block = to.coefficients.data();
          const std::int32_t product =
              component.prediction * static_cast<std::int32_t>(component.quantizer[0]);
          block[0] = static_cast<std::int16_t>(product);
          if (!fits_sample(excess(product))) return false;
          if (!read_ac(bits, component, block)) return false;
        } else {
          if (!skip_ac(bits, *component.ac)) return false;
        }
      }
      if (bits.next > decoder.bytes_.refill_limit()) {
        // A copy, so that `bits` may stay in registers.
        const std::uint8_t* next = bits.next;
        if (!decoder.bytes_.settle(next, static_cast<unsigned>(bits.count))) return false;
        bits.next = next;
      }
    }
    decoder.window_ = bits.window;
    decoder.count_ = bits.count;
    decoder.next_ = bits.next;
    return true;
  }
};

bool JpegEntropyDecoder::start(const JpegHeader& header) {
  block_count_ = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(header.component_count); ++c) {
    const JpegComponent& from = header.components[c];
    Component& component = components_[c];
    component.dc = tables_.find(from.dc_codes, true);
    component.ac = tables_.find(from.ac_codes, false);
    if (component.dc == nullptr || component.ac == nullptr) return false;
    component.quantizer.fill(0);
    std::copy(from.quantizer.begin(), from.quantizer.end(), component.quantizer.begin());
    component.prediction = 0;
    for (int block = 0; block < from.across * from.down; ++block) {
      component_of_[block_count_++] = &component;
    }
  }
  restart_interval_ = until_restart_ = header.restart_interval;
  restart_index_ = 0;
  window_ = count_ = 0;
  next_ = bytes_.open(header.scan);
  return true;
}

bool JpegEntropyDecoder::restart() {
  if (!bytes_.restart(next_, static_cast<unsigned>(count_), restart_index_)) return false;
  restart_index_ = (restart_index_ + 1) % 8;
  window_ = count_ = 0;
  for (Component& component : components_) component.prediction = 0;
  until_restart_ = restart_interval_;
  return true;
}

bool JpegEntropyDecoder::run(std::size_t mcus, const JpegBlocks* blocks) {
  return blocks != nullptr ? Engine::run<true>(*this, mcus, blocks)
                           : Engine::run<false>(*this, mcus, nullptr);
}

bool JpegEntropyDecoder::skip(std::size_t mcus) {
  if (restart_interval_ == 0) return run(mcus, nullptr);
  while (mcus > 0) {
    if (until_restart_ == 0 && !restart()) return false;
    const std::size_t count = std::min(mcus, until_restart_);
    if (!run(count, nullptr)) return false;
    until_restart_ -= count;
    mcus -= count;
  }
  return true;
}

bool JpegEntropyDecoder::decode(std::size_t mcus,
                                const std::array<JpegBlocks, blocks_max>& blocks) {
  if (restart_interval_ == 0) return run(mcus, blocks.data());
  std::array<JpegBlocks, blocks_max> rest = blocks;
  while (mcus > 0) {
    if (until_restart_ == 0 && !restart()) return false;
    const std::size_t count = std::min(mcus, until_restart_);
    if (!run(count, rest.data())) return false;
    for (JpegBlocks& block : rest) block.first += count * block.step;
    until_restart_ -= count;
    mcus -= count;
  }
  return true;
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/codec/jpeg/entropy.hpp"
#include "data/codec/jpeg/scan_bits-inl.hpp"

// The loops of the decoder of baseline scans. What they are made of is inlined into each.
namespace batchcast::inline v0_1::detail {

struct JpegEntropyDecoder::Engine {
  // Between two symbols the window has at least JpegHuffmanTable::pair_bits bits, which are an
  // index already. It is refilled while the processor waits for the entry there.

  /// Reads a DC coefficient and undoes its prediction. False for no code, and beyond 16 bits.
  [[gnu::always_inline]] static inline bool read_dc(JpegBits& bits, Component& component) noexcept {
    const std::uint64_t index = look_index(bits);
    refill(bits);
    if (!read_difference(bits, index, *component.dc, component.prediction)) return false;
    return fits_sample(excess(component.prediction));
  }

  /// False for bits that are no code.
  [[gnu::always_inline]] static inline bool skip_ac(JpegBits& bits,
                                                    const JpegHuffmanTable& table) noexcept {
    std::uint32_t at = 1;
    for (;;) {
      const std::uint64_t index = bits.window >> (64 - JpegHuffmanTable::skip_bits);
      refill(bits);
      const std::uint32_t entry = table.skip[index];
      const std::uint32_t behind = at + (entry >> 8U);
      if (entry != 0 && behind <= 64) [[likely]] {
        consume(bits, entry & 63U);
        if ((entry & JpegHuffmanTable::ends_block) != 0 || behind == 64) return true;
        at = behind;
        continue;
      }
      // The code is long, or the block ends among those symbols.
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
    }
  }

  enum class Step : std::uint8_t { next, whole, broken };

  /// Puts a coefficient in its place, multiplied by the quantizer or as it is in the file.
  template <bool dequantises>
  [[gnu::always_inline]] static inline void put(const Component& component, std::uint32_t at,
                                                std::int32_t value, std::int16_t* block,
                                                std::uint32_t& beyond) noexcept {
    if constexpr (dequantises) {
      value *= static_cast<std::int32_t>(component.quantizer[at]);
      beyond |= excess(value);
    }
    block[jpeg_natural_order[at]] = static_cast<std::int16_t>(value);
  }

  /// One symbol. The window has at least 31 bits.
  template <bool dequantises>
  [[gnu::always_inline]] static inline Step read_one(JpegBits& bits, const Component& component,
                                                     std::uint32_t& at, std::int16_t* block,
                                                     std::uint32_t& beyond) noexcept {
    const JpegHuffmanTable& table = *component.ac;
    std::uint32_t entry = table.look[bits.window >> (64 - JpegHuffmanTable::look_bits)];
    if (entry == JpegHuffmanTable::long_code << 16U) entry = table.find(bits.window);
    const std::uint32_t run = entry >> 16U & 0xFF;
    const std::uint64_t value = bits.window << (entry >> 8U & 63U);
    consume(bits, entry & 0xFF);
    if (entry >= JpegHuffmanTable::valued) [[likely]] {
      at += run;
      put<dequantises>(component, at, value_at_top(value, entry >> 24U), block, beyond);
      ++at;
    } else if (run == JpegHuffmanTable::end_of_block) {
      return Step::whole;
    } else if (run == JpegHuffmanTable::sixteen_zeros) {
      at += 16;
    } else {
      return Step::broken;
    }
    if (at < 64) return Step::next;
    return at == 64 ? Step::whole : Step::broken;
  }

  template <bool dequantises>
  [[gnu::always_inline]] static inline bool read_ac(JpegBits& bits, const Component& component,
                                                    std::int16_t* block) noexcept {
    constexpr int turns = 56 / JpegHuffmanTable::pair_bits - 1;
    const std::uint64_t* const pairs = component.pairs;
    std::uint32_t beyond = 0;
    std::uint32_t at = 1;
    for (;;) {
      std::uint64_t index = bits.window >> (64 - JpegHuffmanTable::pair_bits);
      refill(bits);
      int turn = 0;
#pragma GCC unroll 4
      for (; turn < turns; ++turn) {
        const std::uint64_t entry = pairs[index];
        const std::uint32_t behind = at + (static_cast<std::uint32_t>(entry) >> 8U & 0xFF);
        if (behind > 64) [[unlikely]]
          break;
        // The second first: where there is none, its zero may lie upon the place of the first.
        const auto second = static_cast<std::uint32_t>(entry) >> 24U;
        const auto first = static_cast<std::uint32_t>(entry) >> 16U & 0xFF;
        put<dequantises>(component, at + second, static_cast<std::int16_t>(entry >> 48U), block,
                         beyond);
        put<dequantises>(component, at + first, static_cast<std::int16_t>(entry >> 32U), block,
                         beyond);
        consume(bits, static_cast<std::uint32_t>(entry) & 63U);
        index = bits.window >> (64 - JpegHuffmanTable::pair_bits);
        at = behind;
        if ((entry & JpegHuffmanTable::ends_block) != 0 || behind == 64) {
          return fits_sample(beyond);
        }
      }
      if (turn == turns) continue;
      refill(bits);
      const Step step = read_one<dequantises>(bits, component, at, block, beyond);
      if (step == Step::broken) return false;
      if (step == Step::whole) return fits_sample(beyond);
    }
  }

  /// After each MCU.
  [[gnu::always_inline]] static inline bool settle(JpegEntropyDecoder& decoder,
                                                   JpegBits& bits) noexcept {
    if (bits.next <= decoder.bytes_.refill_limit()) return true;
    // A copy can stay in a register, with `bits`.
    const std::uint8_t* next = bits.next;
    if (!decoder.bytes_.settle(next, static_cast<unsigned>(bits.count))) return false;
    bits.next = next;
    return true;
  }

  /// Before the first symbol after `next_`.
  static void fill_window(JpegEntropyDecoder& decoder) noexcept {
    JpegBits bits{0, 0, decoder.next_};
    refill(bits);
    decoder.window_ = bits.window;
    decoder.count_ = bits.count;
    decoder.next_ = bits.next;
  }

  template <bool keeps>
  [[gnu::always_inline]] static inline bool run(JpegEntropyDecoder& decoder, std::size_t mcus,
                                                const JpegBlocks* blocks) noexcept {
    JpegBits bits{decoder.window_, decoder.count_, decoder.next_};
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
          if (!read_ac<true>(bits, component, block)) return false;
        } else {
          if (!skip_ac(bits, *component.ac)) return false;
        }
      }
      if (!settle(decoder, bits)) return false;
    }
    decoder.window_ = bits.window;
    decoder.count_ = bits.count;
    decoder.next_ = bits.next;
    return true;
  }

  /// JpegEntropyDecoder::pack without restart markers, on a machine with VBMI.
  [[nodiscard]] static bool pack(JpegEntropyDecoder& decoder, std::size_t mcus,
                                 KeptRow* const* rows) noexcept;
};

}  // namespace batchcast::inline v0_1::detail

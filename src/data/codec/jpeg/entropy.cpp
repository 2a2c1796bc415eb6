// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/entropy.hpp"

#include <algorithm>

#include "data/codec/jpeg/scan_bits-inl.hpp"

namespace batchcast::inline v0_1::detail {

struct JpegEntropyDecoder::Engine {
  /// Reads a DC coefficient and undoes its prediction. False for no code, and beyond 16 bits.
  [[gnu::always_inline]] static inline bool read_dc(JpegBits& bits, Component& component) noexcept {
    if (!read_difference(bits, *component.dc, component.prediction)) return false;
    return fits_sample(excess(component.prediction));
  }

  /// False for bits that are no code.
  [[gnu::always_inline]] static inline bool skip_ac(JpegBits& bits,
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
      refill(bits);
    }
  }

  [[gnu::always_inline]] static inline bool read_ac(JpegBits& bits, const Component& component,
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
        block[jpeg_natural_order[at]] = static_cast<std::int16_t>(product);
        if (++at >= 64) return at == 64 && fits_sample(beyond);
      }
    }
  }

  template <bool keeps>
  static bool run(JpegEntropyDecoder& decoder, std::size_t mcus,
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
          if (!read_ac(bits, component, block)) return false;
        } else {
          if (!skip_ac(bits, *component.ac)) return false;
        }
      }
      if (bits.next > decoder.bytes_.refill_limit()) {
        // A copy can stay in a register, with `bits`.
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
    component.dc = tables_.find(from.dc_codes, JpegCodeKind::dc);
    component.ac = tables_.find(from.ac_codes, JpegCodeKind::ac);
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

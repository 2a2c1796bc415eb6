// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/progressive.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "data/codec/codec.hpp"
#include "data/codec/jpeg/block_grid.hpp"
#include "data/codec/jpeg/scan_bits-inl.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t blocks_max = std::size_t{1} << 22U;  // 512 MiB

constexpr std::uint64_t from_bit(std::uint32_t bit) noexcept { return ~std::uint64_t{0} << bit; }

}  // namespace

struct JpegProgressiveDecoder::Engine {
  /// An AC scan: which coefficients it holds, and its state between two blocks.
  struct Band {
    const JpegHuffmanTable* table;
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t lowest_bit;
    std::uint32_t ended_blocks = 0;  ///< this many next blocks get no new coefficient from it
  };

  /// The entry for the next symbol of an AC scan, as in JpegHuffmanTable's `look`.
  [[gnu::always_inline]] static inline std::uint32_t next_entry(
      JpegBits& bits, const JpegHuffmanTable& table) noexcept {
    refill(bits);
    const std::uint32_t entry = table.look[bits.window >> (64 - JpegHuffmanTable::look_bits)];
    const bool is_long = entry >> 16U == JpegHuffmanTable::long_code;
    return is_long ? table.find(bits.window) : entry;
  }

  /// How many blocks end here, with this one; 0: none.
  [[gnu::always_inline]] static inline std::uint32_t ended_here(JpegBits& bits,
                                                                std::uint32_t entry) noexcept {
    const std::uint32_t run = entry >> 16U & 0xFF;
    if (run == JpegHuffmanTable::end_of_block) return 1;
    if (run == JpegHuffmanTable::sixteen_zeros || run == JpegHuffmanTable::long_code) return 0;
    const std::uint32_t length = run - JpegHuffmanTable::end_of_blocks;
    const std::uint64_t more = bits.window << (entry >> 8U & 63U) >> (64 - length);
    return (std::uint32_t{1} << length) + static_cast<std::uint32_t>(more);
  }

  /// Reads a block's coefficients of a band, down to the scan's lowest bit. False: irregular.
  [[gnu::always_inline]] static inline bool first_ac(JpegBits& bits, Band& band, JpegBlock& block,
                                                     std::uint64_t& nonzero) noexcept {
    if (band.ended_blocks > 0) {
      --band.ended_blocks;
      return true;
    }
    std::uint32_t beyond = 0;
    std::uint64_t found = 0;
    std::uint32_t at = band.first;
    while (at <= band.last) {
      const std::uint32_t entry = next_entry(bits, *band.table);
      const std::uint32_t run = entry >> 16U & 0xFF;
      if (entry < JpegHuffmanTable::valued) {
        const std::uint32_t ended = ended_here(bits, entry);
        consume(bits, entry & 0xFF);
        if (ended > 0) {
          band.ended_blocks = ended - 1;
          break;
        }
        if (run != JpegHuffmanTable::sixteen_zeros) return false;
        at += 16;
        if (at > band.last + 1) return false;
        continue;
      }
      at += run;
      if (at > band.last) return false;
      const std::int32_t value =
          value_at_top(bits.window << (entry >> 8U & 63U), entry >> 24U) * (1 << band.lowest_bit);
      consume(bits, entry & 0xFF);
      beyond |= excess(value);
      block.coefficients[jpeg_natural_order[at]] = static_cast<std::int16_t>(value);
      found |= std::uint64_t{1} << at;
      ++at;
    }
    nonzero |= found;
    return fits_sample(beyond);
  }

  /// Gives a coefficient that is not zero its next bit.
  [[gnu::always_inline]] static inline void correct(JpegBits& bits, JpegBlock& block,
                                                    std::uint32_t at, std::int32_t bit) noexcept {
    if (bits.count == 0) [[unlikely]]
      refill(bits);
    std::int16_t& coefficient = block.coefficients[jpeg_natural_order[at]];
    const std::int32_t is_set = -static_cast<std::int32_t>(bits.window >> 63U);
    const std::int32_t sign = coefficient >> 15;
    coefficient = static_cast<std::int16_t>(coefficient + (((bit ^ sign) - sign) & is_set));
    consume(bits, 1);
  }

  /// Reads one more bit of a band: of coefficients that are not zero, or that begin with it.
  [[gnu::always_inline]] static inline bool refine_ac(JpegBits& bits, Band& band, JpegBlock& block,
                                                      std::uint64_t& nonzero) noexcept {
    constexpr std::uint32_t none = 128;
    const std::int32_t bit = 1 << band.lowest_bit;
    // Coefficients that are known already, and not passed yet.
    std::uint64_t known = nonzero & from_bit(band.first) & ~(from_bit(band.last) << 1U);
    std::uint32_t at = band.first;
    while (band.ended_blocks == 0 && at <= band.last) {
      const std::uint32_t entry = next_entry(bits, *band.table);
      std::uint32_t run = entry >> 16U & 0xFF;
      std::int32_t value = 0;
      if (entry < JpegHuffmanTable::valued) {
        band.ended_blocks = ended_here(bits, entry);
        if (band.ended_blocks == 0 && run != JpegHuffmanTable::sixteen_zeros) return false;
        run = 15;
      } else {
        // A coefficient that becomes 1 or -1 of this scan's bit has one bit.
        if (entry >> 24U != 63) return false;
        value = value_at_top(bits.window << (entry >> 8U & 63U), 63) * bit;
      }
      consume(bits, entry & 0xFF);
      if (band.ended_blocks > 0) break;
      // The run counts zeros: known coefficients get their bits on the way.
      for (;; known &= known - 1) {
        const auto next = known != 0 ? static_cast<std::uint32_t>(std::countr_zero(known)) : none;
        if (at + run < next) break;
        run -= next - at;
        correct(bits, block, next, bit);
        at = next + 1;
      }
      at += run;
      if (at > band.last) return false;
      if (value != 0) {
        block.coefficients[jpeg_natural_order[at]] = static_cast<std::int16_t>(value);
        nonzero |= std::uint64_t{1} << at;
      }
      ++at;
    }
    if (band.ended_blocks > 0) {
      for (; known != 0; known &= known - 1) {
        correct(bits, block, static_cast<std::uint32_t>(std::countr_zero(known)), bit);
      }
      --band.ended_blocks;
    }
    return true;
  }

  /// Calls `read(bits, row, column)` for each MCU, and `restart()` after each restart marker.
  template <typename Read, typename Restart>
  static bool go_through(JpegScanBytes& bytes, const JpegScan& scan, std::size_t rows,
                         std::size_t columns, Read read, Restart restart) {
    JpegBits bits{0, 0, bytes.open(scan.bytes)};
    std::uint32_t until_restart = scan.restart_interval;
    unsigned index = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        if (scan.restart_interval != 0 && until_restart-- == 0) {
          const std::uint8_t* next = bits.next;
          if (!bytes.restart(next, static_cast<unsigned>(bits.count), index)) return false;
          bits = {0, 0, next};
          index = (index + 1) % 8;
          until_restart = scan.restart_interval - 1;
          restart();
        }
        if (!read(bits, row, column)) return false;
        if (bits.next > bytes.refill_limit()) {
          // A copy can stay in a register, with `bits`.
          const std::uint8_t* next = bits.next;
          if (!bytes.settle(next, static_cast<unsigned>(bits.count))) return false;
          bits.next = next;
        }
      }
    }
    return bytes.is_used_up(bits.next, static_cast<unsigned>(bits.count));
  }

  static bool read_ac(JpegProgressiveDecoder& decoder, const JpegScan& scan) {
    Component& component = decoder.components_[scan.components[0]];
    Band band{decoder.tables_.find(scan.ac_codes, JpegCodeKind::progressive_ac), scan.first,
              scan.last, scan.lowest_bit};
    if (band.table == nullptr) return false;
    const auto restart = [&band] { band.ended_blocks = 0; };
    const auto through = [&](auto read) {
      return go_through(
          decoder.bytes_, scan, component.image_rows, component.image_columns,
          [&](JpegBits& bits, std::size_t row, std::size_t column) {
            const std::size_t at = row * component.columns + column;
            return read(bits, band, component.blocks[at], component.nonzero[at]);
          },
          restart);
    };
    return scan.refines ? through([](auto&... all) { return refine_ac(all...); })
                        : through([](auto&... all) { return first_ac(all...); });
  }

  struct DcOf {
    Component* component;
    const JpegHuffmanTable* table;
    std::int32_t prediction = 0;
  };

  [[gnu::always_inline]] static inline bool first_dc(JpegBits& bits, DcOf& dc, JpegBlock& block,
                                                     std::uint32_t lowest_bit) noexcept {
    refill(bits);
    if (!read_difference(bits, look_index(bits), *dc.table, dc.prediction)) return false;
    if (!fits_sample(excess(dc.prediction))) return false;
    const std::int32_t value = dc.prediction * (1 << lowest_bit);
    block.coefficients[0] = static_cast<std::int16_t>(value);
    return fits_sample(excess(value));
  }

  [[gnu::always_inline]] static inline bool refine_dc(JpegBits& bits, DcOf& /*dc*/,
                                                      JpegBlock& block,
                                                      std::uint32_t lowest_bit) noexcept {
    refill(bits);
    const auto bit = static_cast<std::int32_t>(bits.window >> 63U) << lowest_bit;
    block.coefficients[0] = static_cast<std::int16_t>(block.coefficients[0] | bit);
    consume(bits, 1);
    return true;
  }

  template <typename ReadBlock>
  static bool through_dc(JpegProgressiveDecoder& decoder, const JpegScan& scan, std::span<DcOf> all,
                         ReadBlock read_block) {
    const auto restart = [all] {
      for (DcOf& dc : all) dc.prediction = 0;
    };
    const auto read = [&](JpegBits& bits, DcOf& dc, std::size_t row, std::size_t column) {
      return read_block(bits, dc, dc.component->blocks[row * dc.component->columns + column],
                        scan.lowest_bit);
    };
    if (all.size() == 1) {
      return go_through(
          decoder.bytes_, scan, all[0].component->image_rows, all[0].component->image_columns,
          [&](JpegBits& bits, std::size_t row, std::size_t column) {
            return read(bits, all[0], row, column);
          },
          restart);
    }
    return go_through(
        decoder.bytes_, scan, decoder.mcu_rows_, decoder.mcu_columns_,
        [&](JpegBits& bits, std::size_t row, std::size_t column) {
          for (DcOf& dc : all) {
            const Component& of = *dc.component;
            for (std::size_t y = 0; y < of.down; ++y) {
              for (std::size_t x = 0; x < of.across; ++x) {
                if (!read(bits, dc, row * of.down + y, column * of.across + x)) return false;
              }
            }
          }
          return true;
        },
        restart);
  }

  static bool read_dc(JpegProgressiveDecoder& decoder, const JpegScan& scan) {
    std::array<DcOf, 3> room{};
    const std::span<DcOf> all(room.data(), scan.component_count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].component = &decoder.components_[scan.components[i]];
      if (scan.refines) continue;
      all[i].table = decoder.tables_.find(scan.dc_codes[i], JpegCodeKind::dc);
      if (all[i].table == nullptr) return false;
    }
    return scan.refines
               ? through_dc(decoder, scan, all, [](auto&... each) { return refine_dc(each...); })
               : through_dc(decoder, scan, all, [](auto&... each) { return first_dc(each...); });
  }
};

bool JpegProgressiveDecoder::plan(const JpegHeader& header, std::size_t file_bytes) {
  const ImageSize size = header.size;
  const JpegComponent& luma = header.components[0];
  const auto blocks_of = [](std::int32_t samples, std::int32_t in_block) {
    return static_cast<std::size_t>(jpeg_divided_up(samples, in_block * jpeg_block_side));
  };
  mcu_columns_ = blocks_of(size.width, luma.across);
  mcu_rows_ = blocks_of(size.height, luma.down);
  // A block takes one bit at least, for its DC coefficient: a few bytes don't make much memory.
  if (mcu_columns_ * mcu_rows_ > std::min(blocks_max / 6, 8 * file_bytes)) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(header.component_count); ++i) {
    const JpegComponent& from = header.components[i];
    Component& component = components_[i];
    component.across = static_cast<std::size_t>(from.across);
    component.down = static_cast<std::size_t>(from.down);
    component.columns = mcu_columns_ * component.across;
    component.image_columns = blocks_of(size.width * from.across, luma.across);
    component.image_rows = blocks_of(size.height * from.down, luma.down);
    for (std::size_t at = 0; at < 64; ++at) {
      if (from.quantizer[at] > std::numeric_limits<std::int16_t>::max()) return false;
      component.quantizer[jpeg_natural_order[at]] = static_cast<std::int16_t>(from.quantizer[at]);
    }
    const std::size_t count = component.columns * mcu_rows_ * component.down;
    component.blocks.assign(count, {});
    component.nonzero.assign(count, 0);
  }
  return true;
}

bool JpegProgressiveDecoder::start(const JpegHeader& header, std::span<const std::byte> file) {
  if (!read_jpeg_scans(file, scans_) || !plan(header, file.size())) return false;
  return std::all_of(scans_.begin(), scans_.end(), [this](const JpegScan& scan) {
    return scan.first == 0 ? Engine::read_dc(*this, scan) : Engine::read_ac(*this, scan);
  });
}

bool JpegProgressiveDecoder::take(std::size_t component, std::size_t row, std::size_t first,
                                  std::span<JpegBlock> blocks) const noexcept {
  const Component& from = components_[component];
  const JpegBlock* block = from.blocks.data() + row * from.columns + first;
  std::uint32_t beyond = 0;
  for (JpegBlock& to : blocks) {
    for (std::size_t i = 0; i < 64; ++i) {
      const std::int32_t product = block->coefficients[i] * from.quantizer[i];
      beyond |= excess(product);
      to.coefficients[i] = static_cast<std::int16_t>(product);
    }
    ++block;
  }
  return fits_sample(beyond);
}

void JpegProgressiveDecoder::shed() noexcept {
  for (Component& component : components_) {
    shed_if_large(component.blocks);
    shed_if_large(component.nonzero);
  }
}

}  // namespace batchcast::inline v0_1::detail

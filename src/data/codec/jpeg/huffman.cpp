// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/huffman.hpp"

#include <algorithm>

#include "data/codec/jpeg/scan_bits-inl.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t slots_max = 16;       // a scan has at most six
constexpr std::uint64_t uses_of_image = 3;  // at most, one for each component

std::uint32_t entry_of(const JpegHuffmanTable& table, std::uint32_t symbol,
                       std::uint32_t code_bits) noexcept {
  const std::uint32_t run = symbol >> 4U;
  const std::uint32_t value_bits = symbol & 15U;
  const std::uint32_t bits = code_bits + value_bits;
  if (table.kind == JpegCodeKind::dc) return bits | code_bits << 8U | (63 - value_bits) << 24U;
  if (value_bits > 0) return bits | code_bits << 8U | run << 16U | (64 - value_bits) << 24U;
  if (table.kind == JpegCodeKind::progressive_ac && run > 0 && run < 15) {
    return (code_bits + run) | code_bits << 8U | (JpegHuffmanTable::end_of_blocks + run) << 16U;
  }
  const std::uint32_t why =
      run == 15 ? JpegHuffmanTable::sixteen_zeros : JpegHuffmanTable::end_of_block;
  return bits | code_bits << 8U | why << 16U;
}

constexpr std::uint32_t long_entry = JpegHuffmanTable::long_code << 16U;

void fill_look(JpegHuffmanTable& table, std::span<const std::uint8_t> counts) noexcept {
  constexpr std::uint32_t bits = JpegHuffmanTable::look_bits;
  std::size_t at = 0;
  std::size_t symbol = 0;
  for (std::uint32_t length = 1; length <= bits; ++length) {
    const std::size_t copies = std::size_t{1} << (bits - length);
    for (std::uint32_t i = 0; i < counts[length - 1]; ++i, at += copies) {
      std::fill_n(table.look.begin() + static_cast<std::ptrdiff_t>(at), copies,
                  entry_of(table, table.symbols[symbol++], length));
    }
  }
  std::fill(table.look.begin() + static_cast<std::ptrdiff_t>(at), table.look.end(), long_entry);
}

void fill_skip(JpegHuffmanTable& table) noexcept {
  constexpr std::uint32_t size = std::uint32_t{1} << JpegHuffmanTable::skip_bits;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint32_t bits = 0;
    std::uint32_t coefficients = 0;
    std::uint32_t end = 0;
    while (bits < JpegHuffmanTable::skip_bits && end == 0) {
      const std::uint32_t rest = i << bits & (size - 1);
      std::uint32_t entry =
          table.look[rest >> (JpegHuffmanTable::skip_bits - JpegHuffmanTable::look_bits)];
      if (entry == long_entry) {
        entry = table.find(static_cast<std::uint64_t>(rest) << (64 - JpegHuffmanTable::skip_bits));
      }
      const std::uint32_t code_bits = entry >> 8U & 0xFF;
      if (entry == long_entry || bits + code_bits > JpegHuffmanTable::skip_bits) break;
      const std::uint32_t run = entry >> 16U & 0xFF;
      bits += entry & 0xFF;
      if (entry < JpegHuffmanTable::valued && run == JpegHuffmanTable::end_of_block) {
        end = JpegHuffmanTable::ends_block;
      }
      coefficients += entry < JpegHuffmanTable::valued && end == 0 ? run : run + 1;
    }
    // This is more than a block has. Reading symbol by symbol sees where the block ends.
    if (coefficients > 127) bits = coefficients = end = 0;
    table.skip[i] = static_cast<std::uint16_t>(bits | end | coefficients << 8U);
  }
}

/// A symbol with its value, if all its bits lie within `room` at the top of `bits`; else an entry
/// without bits.
struct Single {
  std::uint32_t bits = 0;
  std::uint32_t run = 0;
  std::int32_t value = 0;
  bool is_end = false;
};

Single single_of(const JpegHuffmanTable& table, std::uint64_t window, std::uint32_t room) noexcept {
  std::uint32_t entry = table.look[window >> (64 - JpegHuffmanTable::look_bits)];
  if (entry == long_entry) entry = table.find(window);
  const std::uint32_t bits = entry & 0xFF;
  if (entry == long_entry || bits > room) return {};
  const std::uint32_t run = entry >> 16U & 0xFF;
  if (entry >= JpegHuffmanTable::valued) {
    return {bits, run, value_at_top(window << (entry >> 8U & 63U), entry >> 24U), false};
  }
  return run == JpegHuffmanTable::end_of_block ? Single{bits, 0, 0, true} : Single{};
}

void fill_pairs(JpegHuffmanTable& table) noexcept {
  constexpr std::uint32_t room = JpegHuffmanTable::pair_bits;
  std::array<Single, std::size_t{1} << room> singles;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    singles[i] = single_of(table, std::uint64_t{i} << (64 - room), room);
  }
  for (std::size_t i = 0; i < singles.size(); ++i) {
    std::array<std::uint64_t, 2> offsets{0, 1};
    std::array<std::uint64_t, 2> values{};
    std::uint32_t bits = 0;
    std::uint32_t coefficients = 0;
    std::uint32_t end = 0;
    for (std::size_t count = 0; end == 0; ++count) {
      const Single& next = singles[i << bits & (singles.size() - 1)];
      if (next.bits == 0 || bits + next.bits > room || (count == 2 && !next.is_end)) break;
      bits += next.bits;
      coefficients += next.run;
      if (next.is_end) {
        end = JpegHuffmanTable::ends_block;
      } else {
        offsets[count] = coefficients;
        values[count] = static_cast<std::uint16_t>(next.value);
        if (count == 0) offsets[1] = coefficients + 1;
      }
      ++coefficients;
    }
    if (bits == 0) coefficients = 255;
    table.pairs[i] = bits | end | coefficients << 8U | offsets[0] << 16U | offsets[1] << 24U |
                     values[0] << 32U | values[1] << 48U;
  }
  table.has_pairs = true;
}

bool build(JpegHuffmanTable& table, std::span<const std::uint8_t> codes,
           JpegCodeKind kind) noexcept {
  const auto counts = codes.first(16);
  const auto symbols = codes.subspan(16);
  table.kind = kind;
  table.has_pairs = false;
  table.symbols.fill(0);
  std::copy(symbols.begin(), symbols.end(), table.symbols.begin());
  if (kind == JpegCodeKind::dc &&
      std::any_of(symbols.begin(), symbols.end(), [](int s) { return s > 15; })) {
    return false;
  }
  std::uint32_t code = 0;
  std::int32_t place = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) {
    table.offsets[length] = place - static_cast<std::int32_t>(code);
    place += counts[length - 1];
    code += counts[length - 1];
    // libjpeg's rule: no code is all ones.
    if (code >= std::uint32_t{1} << length) return false;
    table.limits[length] = code << (16 - length);
    code <<= 1U;
  }
  fill_look(table, counts);
  if (kind == JpegCodeKind::ac) fill_skip(table);
  return true;
}

}  // namespace

std::uint32_t JpegHuffmanTable::find(std::uint64_t window) const noexcept {
  const auto next = static_cast<std::uint32_t>(window >> 48U);
  for (std::uint32_t length = 1; length <= 16; ++length) {
    if (next >= limits[length]) continue;
    const auto place = static_cast<std::int32_t>(next >> (16 - length)) + offsets[length];
    return entry_of(*this, symbols[static_cast<std::size_t>(place)], length);
  }
  return long_entry;
}

const JpegHuffmanTable* JpegHuffmanCache::find(std::span<const std::uint8_t> codes,
                                               JpegCodeKind kind, bool is_long) {
  const bool may_pair = kind == JpegCodeKind::ac;
  ++uses_;
  Slot* oldest = nullptr;
  for (const auto& slot : slots_) {
    if (slot->table.kind == kind &&
        std::equal(codes.begin(), codes.end(), slot->codes.begin(), slot->codes.end())) {
      slot->last_use = uses_;
      const bool is_worth_it = is_long || ++slot->uses == uses_of_image + 1;
      if (may_pair && is_worth_it && !slot->table.has_pairs) fill_pairs(slot->table);
      return &slot->table;
    }
    if (oldest == nullptr || slot->last_use < oldest->last_use) oldest = slot.get();
  }
  if (slots_.size() < slots_max) {
    oldest = slots_.emplace_back(std::make_unique<Slot>()).get();
  }
  oldest->codes.clear();
  if (!build(oldest->table, codes, kind)) return nullptr;
  if (may_pair && is_long) fill_pairs(oldest->table);
  oldest->codes.assign(codes.begin(), codes.end());
  oldest->last_use = uses_;
  oldest->uses = 1;
  return &oldest->table;
}

}  // namespace batchcast::inline v0_1::detail

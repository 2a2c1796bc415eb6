// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/kept_reader.hpp"

#include <algorithm>
#include <cstring>

#include "data/codec/jpeg/block_grid.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace batchcast::inline v0_1::detail {
namespace {

template <class Number>
Number number_at(const std::uint8_t* bytes) noexcept {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

// Several bytes at a time: each MCU row of a window is looked at, and has a hundred blocks or more.
#if defined(__SSE2__)

using ByteVector = __m128i;

ByteVector load_bytes(const std::uint8_t* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// Adds up to sixteen bytes at once.
struct ByteSum {
  __m128i sums = _mm_setzero_si128();

  void take(ByteVector bytes) noexcept {
    sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, _mm_setzero_si128()));
  }
  [[nodiscard]] std::size_t total() const noexcept {
    return static_cast<std::size_t>(
        _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))));
  }
};

/// The most groups and the widest code of heads.
struct LargestHead {
  __m128i groups = _mm_setzero_si128();
  __m128i codes = _mm_setzero_si128();

  void take(ByteVector heads) noexcept {
    const __m128i low = _mm_set1_epi8(15);
    groups = _mm_max_epu8(groups, _mm_and_si128(heads, low));
    codes = _mm_max_epu8(codes, _mm_and_si128(_mm_srli_epi16(heads, 4), low));
  }
  [[nodiscard]] bool is_valid() const noexcept {
    const __m128i beyond = _mm_or_si128(_mm_subs_epu8(groups, _mm_set1_epi8(kept_groups)),
                                        _mm_subs_epu8(codes, _mm_set1_epi8(kept_code_wide)));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(beyond, _mm_setzero_si128())) == 0xFFFF;
  }
};

#else

using ByteVector = std::uint64_t;

ByteVector load_bytes(const std::uint8_t* from) noexcept { return number_at<std::uint64_t>(from); }

/// Adds up to eight bytes at once.
struct ByteSum {
  std::size_t sum = 0;

  void take(ByteVector bytes) noexcept {
    constexpr std::uint64_t halves = 0x00FF00FF00FF00FF;
    const std::uint64_t pairs = (bytes & halves) + (bytes >> 8U & halves);
    sum += static_cast<std::size_t>(pairs * 0x0001000100010001 >> 48U);
  }
  [[nodiscard]] std::size_t total() const noexcept { return sum; }
};

/// Whether heads have more groups, or a wider code, than there are.
struct LargestHead {
  static constexpr std::uint64_t each_byte = 0x0101010101010101;
  std::uint64_t wrong = 0;

  void take(ByteVector heads) noexcept {
    wrong |= (heads & 15 * each_byte) + (15 - kept_groups) * each_byte;
    wrong |= (heads >> 4U & 15 * each_byte) + (15 - kept_code_wide) * each_byte;
  }
  [[nodiscard]] bool is_valid() const noexcept { return (wrong & 16 * each_byte) == 0; }
};

#endif

/// The last bytes are filled up with zeros.
template <class Reading>
Reading read_bytes(const std::uint8_t* bytes, std::size_t count) noexcept {
  Reading reading;
  for (; count >= sizeof(ByteVector); count -= sizeof(ByteVector)) {
    reading.take(load_bytes(bytes));
    bytes += sizeof(ByteVector);
  }
  if (count == 0) return reading;
  std::array<std::uint8_t, sizeof(ByteVector)> last{};
  std::memcpy(last.data(), bytes, count);
  reading.take(load_bytes(last.data()));
  return reading;
}

std::size_t sum_of(const std::uint8_t* bytes, std::size_t count) noexcept {
  return read_bytes<ByteSum>(bytes, count).total();
}

bool are_heads(const std::uint8_t* heads, std::size_t count) noexcept {
  return read_bytes<LargestHead>(heads, count).is_valid();
}

// How far ahead heads are fetched while they are checked.
constexpr std::size_t rows_ahead = 16;

bool is_usual(const KeptHead& head) noexcept {
  const bool is_gray = head.component_count == 1;
  if (!is_gray && head.component_count != 3) return false;
  const auto may_be = [&](int factor) { return factor == 1 || (factor == 2 && !is_gray); };
  if (!may_be(head.across) || !may_be(head.down) || head.width == 0 || head.height == 0)
    return false;
  return head.orientation >= 1 && head.orientation <= 8 && (head.across == 1 || head.width > 4);
}

}  // namespace

bool KeptReader::open(std::span<const std::byte> entry, JpegHeader& header) {
  KeptHead head;
  if (entry.size() < sizeof head) return false;
  std::memcpy(&head, entry.data(), sizeof head);
  if (head.magic != kept_magic || head.byte_count != entry.size() || !is_usual(head)) return false;
  header = {};
  header.size = {head.width, head.height};
  header.orientation = head.orientation;
  header.component_count = head.component_count;
  header.components[0].across = head.across;
  header.components[0].down = head.down;
  entry_ = {reinterpret_cast<const std::uint8_t*>(entry.data()), entry.size()};
  component_count_ = head.component_count;
  const auto blocks = [](int samples, int in_block) {
    return static_cast<std::size_t>(jpeg_divided_up(samples, in_block * jpeg_block_side));
  };
  const std::size_t mcu_columns = blocks(head.width, head.across);
  mcu_rows_ = blocks(head.height, head.down);
  rows_in_mcu_ = 0;
  for (std::size_t i = 0; i < component_count_; ++i) {
    JpegComponent& described = header.components[i];
    described.id = static_cast<std::uint8_t>(i + 1);
    described.quantizer = head.quantizers[i];
    Component& component = components_[i];
    component.columns = mcu_columns * static_cast<std::size_t>(described.across);
    component.down = static_cast<std::size_t>(described.down);
    component.before = rows_in_mcu_;
    component.quantizer.set(head.quantizers[i]);
    rows_in_mcu_ += component.down;
  }
  const std::size_t offsets = sizeof(std::uint32_t) * (mcu_rows_ * rows_in_mcu_ + 1);
  if (entry.size() - sizeof head < offsets) return false;
  dcs_.resize(std::max(dcs_.size(), components_[0].columns));
  return true;
}

std::size_t KeptReader::offset_of(std::size_t row) const noexcept {
  return number_at<std::uint32_t>(entry_.data() + sizeof(KeptHead) + sizeof(std::uint32_t) * row);
}

std::size_t KeptReader::place_of(const Component& component, std::size_t row) const noexcept {
  return row / component.down * rows_in_mcu_ + component.before + row % component.down;
}

KeptReader::Row KeptReader::row_at(const Component& component, std::size_t row) const noexcept {
  const std::size_t place = place_of(component, row);
  const std::size_t begin = offset_of(place);
  const auto bytes = entry_.subspan(begin, offset_of(place + 1) - begin);
  const std::size_t heads = sizeof(std::uint16_t);
  const std::size_t dc = heads + 2 * component.columns;
  const auto dc_bytes = static_cast<std::size_t>(number_at<std::uint16_t>(bytes.data()));
  return {bytes.data() + heads, bytes.data() + heads + component.columns,
          bytes.subspan(dc, dc_bytes), bytes.subspan(dc + dc_bytes)};
}

bool KeptReader::has_row(const Component& component, std::size_t row) const noexcept {
  const std::size_t place = place_of(component, row);
  const std::size_t begin = offset_of(place);
  const std::size_t end = offset_of(place + 1);
  const std::size_t fixed = fixed_bytes(component);
  if (begin > end || end > entry_.size() || end - begin < fixed) return false;
  if (end - begin - fixed < number_at<std::uint16_t>(entry_.data() + begin)) return false;
  const Row found = row_at(component, row);
  return are_heads(found.heads, component.columns) &&
         sum_of(found.lengths, component.columns) <= found.bodies.size();
}

void KeptReader::prefetch(std::size_t place, std::size_t skip, std::size_t bytes) const noexcept {
  constexpr std::size_t line_bytes = 64;
  if (place >= mcu_rows_ * rows_in_mcu_) return;
  const std::size_t begin = offset_of(place) + skip;
  const std::size_t end = std::min(begin + bytes, entry_.size());
  for (std::size_t at = begin; at < end; at += line_bytes) __builtin_prefetch(entry_.data() + at);
}

bool KeptReader::has_rows(std::size_t first, std::size_t end) const noexcept {
  if (end > mcu_rows_) return false;
  for (std::size_t mcu_row = first; mcu_row < end; ++mcu_row) {
    for (std::size_t i = 0; i < component_count_; ++i) {
      const Component& component = components_[i];
      for (std::size_t y = 0; y < component.down; ++y) {
        const std::size_t row = mcu_row * component.down + y;
        prefetch(place_of(component, row) + rows_ahead, 0,
                 fixed_bytes(component) + component.columns);
        if (!has_row(component, row)) return false;
      }
    }
  }
  return true;
}

void KeptReader::read_dc(std::span<const std::uint8_t> bytes, std::size_t count) noexcept {
  std::uint32_t before = 0;
  const std::uint8_t* next = bytes.data();
  const std::uint8_t* const end = next + bytes.size();
  for (std::size_t i = 0; i < count && next < end; ++i) {
    const std::uint32_t byte = *next++;
    if (byte != 0) {
      before += byte - 128;
    } else if (end - next >= 2) {
      before = number_at<std::uint16_t>(next);
      next += 2;
    }
    dcs_[i] = static_cast<std::int16_t>(static_cast<std::uint16_t>(before));
  }
}

void KeptReader::take(std::size_t component, std::size_t row, std::size_t first,
                      std::span<JpegBlock> blocks) noexcept {
  const Component& from = components_[component];
  const Row kept = row_at(from, row);
  read_dc(kept.dc, first + blocks.size());
  const std::size_t passed = sum_of(kept.lengths, first);
  // The row below, which comes next, has its bodies at about the same place.
  const std::size_t next = kept.bodies.size() * blocks.size() / from.columns + 64;
  prefetch(place_of(from, row) + rows_in_mcu_, fixed_bytes(from) + kept.dc.size() + passed, next);
  expand_kept_blocks(
      {kept.heads + first, kept.lengths + first, kept.bodies.data() + passed, dcs_.data() + first},
      blocks.size(), from.quantizer, blocks.data());
}

}  // namespace batchcast::inline v0_1::detail

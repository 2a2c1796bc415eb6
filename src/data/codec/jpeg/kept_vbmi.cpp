// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/kept_vbmi.hpp"

#include <bit>
#include <cstdlib>

#include "data/codec/jpeg/entropy_engine-inl.hpp"
#include "data/codec/jpeg/kept_plain.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

// GCC 12 warns of <immintrin.h>.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define BATCHCAST_VBMI                                                        \
  __attribute__((                                                             \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi," \
             "bmi2,popcnt,lzcnt")))

namespace batchcast::inline v0_1::detail {
namespace {

struct alignas(64) Bytes64 {
  std::array<std::uint8_t, 64> bytes{};
};

template <class Make>
constexpr Bytes64 made(Make make) {
  Bytes64 all;
  for (std::size_t i = 0; i < 64; ++i) all.bytes[i] = static_cast<std::uint8_t>(make(i));
  return all;
}

template <class Make>
constexpr std::array<Bytes64, 4> by_width(Make make) {
  std::array<Bytes64, 4> all;
  for (std::size_t code = 0; code < 4; ++code) {
    all[code] = made([&](std::size_t i) { return make(i, std::size_t{kept_widths[code]}); });
  }
  return all;
}

// Lane i's magnitude is bits [i * width, (i + 1) * width): its eight bytes are brought to the
// lane's group of eight, and then its bits to the low end.
constexpr auto bytes_of_lane =
    by_width([](std::size_t i, std::size_t width) { return i / 8 * width + i % 8; });
constexpr auto bits_of_lane =
    by_width([](std::size_t i, std::size_t width) { return i % 8 * width; });
constexpr auto field_of_lane =
    by_width([](std::size_t, std::size_t width) { return (std::size_t{1} << width) - 1; });
constexpr Bytes64 to_kept_order = made([](std::size_t i) { return kept_order[i]; });
constexpr Bytes64 to_natural_order = made([](std::size_t i) {
  std::size_t at = 0;
  while (kept_order[at] != i) ++at;
  return at;
});

BATCHCAST_VBMI inline __m512i load(const Bytes64& from) {
  return _mm512_load_si512(from.bytes.data());
}

BATCHCAST_VBMI inline void expand_block(std::uint8_t head, const std::uint8_t* body, __m512i low,
                                        __m512i high, JpegBlock& block) {
  const std::uint32_t code = head >> 4U;
  const std::uint64_t mask = _bzhi_u64(load_little(body), 8 * (head & 15U));
  const auto count = static_cast<std::uint32_t>(std::popcount(mask));
  body += head & 15U;
  const std::uint64_t first = load_little(body);
  const std::uint64_t rest = load_little(body + 8);
  const std::uint64_t beside = count == 64 ? rest : first >> count | rest << (63 - count) << 1U;
  const std::uint64_t negative = _pdep_u64(first, mask);
  const std::uint64_t larger = _pdep_u64(code != 0 ? beside : 0, mask);
  body += ((code != 0 ? 2 * count : count) + 7) / 8;
  const __m512i one = _mm512_set1_epi8(1);
  __m512i value = _mm512_permutexvar_epi8(load(bytes_of_lane[code]), _mm512_loadu_si512(body));
  value = _mm512_multishift_epi64_epi8(load(bits_of_lane[code]), value);
  value = _mm512_and_si512(value, load(field_of_lane[code]));
  value = _mm512_maskz_expand_epi8(larger, value);
  value = _mm512_mask_add_epi8(value, larger, value, one);
  value = _mm512_mask_add_epi8(value, mask, value, one);
  value = _mm512_mask_sub_epi8(value, negative, _mm512_setzero_si512(), value);
  value = _mm512_permutexvar_epi8(load(to_natural_order), value);
  std::int16_t* const to = block.coefficients.data();
  _mm512_store_si512(to,
                     _mm512_mullo_epi16(_mm512_cvtepi8_epi16(_mm512_castsi512_si256(value)), low));
  _mm512_store_si512(
      to + 32, _mm512_mullo_epi16(_mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(value, 1)), high));
}

/// The head of a block whose coefficients fit into bytes, and its body.
BATCHCAST_VBMI inline std::uint8_t pack_block(__m512i natural, std::uint8_t*& body) {
  const __m512i value = _mm512_permutexvar_epi8(load(to_kept_order), natural);
  const std::uint64_t mask = _mm512_test_epi8_mask(value, value) & ~std::uint64_t{1};
  const std::uint64_t negative = _mm512_movepi8_mask(value) & mask;
  const __m512i magnitude = _mm512_maskz_abs_epi8(mask, value);
  const auto above = [&](char limit) BATCHCAST_VBMI {
    return _mm512_cmpgt_epi8_mask(magnitude, _mm512_set1_epi8(limit));
  };
  const std::uint64_t larger = above(1);
  const std::uint32_t code =
      (larger != 0 ? 1U : 0U) + (above(5) != 0 ? 1U : 0U) + (above(17) != 0 ? 1U : 0U);
  const auto count = static_cast<std::uint32_t>(std::popcount(mask));
  const auto groups = (71 - static_cast<std::uint32_t>(_lzcnt_u64(mask))) / 8;
  std::memcpy(body, &mask, sizeof mask);
  body += groups;
  const std::uint64_t signs = _pext_u64(negative, mask);
  const std::uint64_t levels = _pext_u64(larger, mask);
  const std::uint64_t first = count == 64 ? signs : signs | levels << count;
  const std::uint64_t rest = count == 0 ? 0 : levels >> 1U >> (63 - count);
  std::memcpy(body, &first, sizeof first);
  std::memcpy(body + 8, &rest, sizeof rest);
  body += ((code != 0 ? 2 * count : count) + 7) / 8;
  // Packed in each width: a branch would be guessed wrong for every other block.
  const __m512i by_8 =
      _mm512_maskz_compress_epi8(larger, _mm512_sub_epi8(magnitude, _mm512_set1_epi8(2)));
  const __m512i pairs = _mm512_maddubs_epi16(by_8, _mm512_set1_epi16(0x1001));
  const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(by_8, _mm512_set1_epi16(0x0401)),
                                          _mm512_set1_epi32(0x00100001));
  const __m512i by_4 = _mm512_castsi256_si512(_mm512_cvtepi16_epi8(pairs));
  const __m512i by_2 = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(fours));
  const auto all_if = [](bool is_set) { return static_cast<__mmask8>(is_set ? 0xFF : 0); };
  const __m512i narrow = _mm512_mask_mov_epi64(by_2, all_if(code == 2), by_4);
  _mm512_storeu_si512(body, _mm512_mask_mov_epi64(narrow, all_if(code == 3), by_8));
  body += (static_cast<std::uint32_t>(std::popcount(larger)) * kept_widths[code] + 7) / 8;
  return static_cast<std::uint8_t>(groups | code << 4U);
}

/// The same for any block, of which the DC coefficient does not count.
BATCHCAST_VBMI inline std::uint8_t pack_any_block(const JpegBlock& block, std::uint8_t*& body) {
  const std::int16_t* const from = block.coefficients.data();
  __m512i low = _mm512_load_si512(from);
  const __m512i high = _mm512_load_si512(from + 32);
  low = _mm512_mask_mov_epi16(low, 1, _mm512_setzero_si512());  // without DC
  const __m512i most = _mm512_max_epu16(_mm512_abs_epi16(low), _mm512_abs_epi16(high));
  if (_mm512_cmpgt_epu16_mask(most, _mm512_set1_epi16(127)) != 0) [[unlikely]] {
    const std::uint64_t nonzero =
        _mm512_test_epi16_mask(low, low) | std::uint64_t{_mm512_test_epi16_mask(high, high)} << 32U;
    const std::uint8_t head = pack_kept_plain(block, nonzero, body);
    body += kept_body_bytes(head, body);
    return head;
  }
  const __m512i bytes = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)),
                                           _mm512_cvtepi16_epi8(high), 1);
  return pack_block(bytes, body);
}

/// Appends a block. False where a product with the quantizer does not fit into 16 bits.
BATCHCAST_VBMI inline bool add_block(const JpegBlock& block, KeptRow& row) {
  const std::int32_t dc = block.coefficients[0];
  std::uint8_t* body = row.body;
  const std::uint8_t head = pack_any_block(block, body);
  *row.head++ = head;
  *row.length++ = static_cast<std::uint8_t>(body - row.body);
  row.body = body;
  row.add_dc(dc);
  // A coefficient of a narrower width is at most 127, and its product with 255 fits.
  if (head >> 4U == kept_code_wide || !row.quantizer->is_narrow) [[unlikely]] {
    if (!kept_products_fit(block, *row.quantizer)) return false;
  }
  return fits_sample(excess(dc * static_cast<std::int32_t>(row.quantizer->natural[0])));
}

}  // namespace

bool kept_machine_has_vbmi() noexcept {
  return __builtin_cpu_supports("avx512vbmi2") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

BATCHCAST_VBMI void expand_kept_vbmi(const KeptBlocks& kept, std::size_t count,
                                     const KeptQuantizer& quantizer, JpegBlock* blocks) noexcept {
  const __m512i low = _mm512_load_si512(quantizer.natural.data());
  const __m512i high = _mm512_load_si512(quantizer.natural.data() + 32);
  const std::uint8_t* body = kept.bodies;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t head = kept.heads[i];
    if (head >> 4U == kept_code_wide) [[unlikely]] {
      expand_kept_plain(head, body, quantizer, blocks[i]);
    } else {
      expand_block(head, body, low, high, blocks[i]);
    }
    blocks[i].coefficients[0] = kept_product(kept.dcs[i], quantizer.natural[0]);
    body += kept.lengths[i];
  }
}

BATCHCAST_VBMI std::size_t pack_kept_vbmi(const JpegBlock* blocks, std::size_t count,
                                          std::uint8_t* heads, std::uint8_t* lengths,
                                          std::uint8_t* bodies) noexcept {
  std::uint8_t* body = bodies;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* const begun = body;
    heads[i] = pack_any_block(blocks[i], body);
    lengths[i] = static_cast<std::uint8_t>(body - begun);
  }
  return static_cast<std::size_t>(body - bodies);
}

// A block is packed once the next one is decoded: its coefficients have reached the cache by then,
// and can be loaded as vectors without a wait.
BATCHCAST_VBMI bool JpegEntropyDecoder::Engine::pack(JpegEntropyDecoder& decoder, std::size_t mcus,
                                                     KeptRow* const* rows) noexcept {
  JpegBits bits{decoder.window_, decoder.count_, decoder.next_};
  std::array<JpegBlock, 2> blocks;
  std::size_t turn = 0;
  KeptRow* before = nullptr;  // has the block that is still to be packed
  for (std::size_t mcu = 0; mcu < mcus; ++mcu) {
    for (std::size_t i = 0; i < decoder.block_count_; ++i) {
      Component& component = *decoder.component_of_[i];
      JpegBlock& block = blocks[turn];
      block.coefficients.fill(0);
      if (!read_dc(bits, component)) return false;
      block.coefficients[0] = static_cast<std::int16_t>(component.prediction);
      if (!read_ac<false>(bits, component, block.coefficients.data())) return false;
      turn = 1 - turn;
      if (before != nullptr && !add_block(blocks[turn], *before)) return false;
      before = rows[i];
    }
    if (!settle(decoder, bits)) return false;
  }
  decoder.window_ = bits.window;
  decoder.count_ = bits.count;
  decoder.next_ = bits.next;
  return before == nullptr || add_block(blocks[1 - turn], *before);
}

}  // namespace batchcast::inline v0_1::detail

#else

namespace batchcast::inline v0_1::detail {

bool kept_machine_has_vbmi() noexcept { return false; }
void expand_kept_vbmi(const KeptBlocks& /*kept*/, std::size_t /*count*/,
                      const KeptQuantizer& /*quantizer*/, JpegBlock* /*blocks*/) noexcept {
  std::abort();
}
std::size_t pack_kept_vbmi(const JpegBlock* /*blocks*/, std::size_t /*count*/,
                           std::uint8_t* /*heads*/, std::uint8_t* /*lengths*/,
                           std::uint8_t* /*bodies*/) noexcept {
  std::abort();
}
bool JpegEntropyDecoder::Engine::pack(JpegEntropyDecoder& /*decoder*/, std::size_t /*mcus*/,
                                      KeptRow* const* /*rows*/) noexcept {
  std::abort();
}

}  // namespace batchcast::inline v0_1::detail

#endif

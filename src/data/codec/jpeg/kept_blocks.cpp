// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/kept_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "data/codec/jpeg/kept_plain.hpp"
#include "data/codec/jpeg/kept_vbmi.hpp"
#include "data/codec/jpeg/scan_bits-inl.hpp"

// Vectors whose length is unknown at compile time cannot be kept in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codec/jpeg/kept_blocks.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/codec/jpeg/kept_tables.hpp"
#include "data/codec/jpeg/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

void expand_kept(const KeptBlocks& kept, std::size_t count, const KeptQuantizer& quantizer,
                 JpegBlock* blocks) {
  const std::uint8_t* body = kept.bodies;
  for (std::size_t i = 0; i < count; ++i) {
    expand_kept_plain(kept.heads[i], body, quantizer, blocks[i]);
    blocks[i].coefficients[0] = kept_product(kept.dcs[i], quantizer.natural[0]);
    body += kept.lengths[i];
  }
}

#else

// A group after the other, eight coefficients in a vector.
HWY_INLINE void expand_block(std::uint8_t head, const std::uint8_t* body,
                             const KeptQuantizer& quantizer, JpegBlock& block) {
  const hn::CappedTag<std::uint16_t, 8> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Repartition<std::uint8_t, decltype(d)> d8;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const hn::Half<decltype(d)> half;
  const std::uint32_t groups = head & 15U;
  const std::uint32_t code = head >> 4U;
  KeptBits bits(head, body);
  std::int16_t* const to = block.coefficients.data();
  block.coefficients.fill(0);
  const auto bit_of_lane = hn::Load(d, kept_lane_bits.data());
  const auto spread = hn::Load(d8, kept_spread[code].data());
  const auto lift = hn::Load(d, kept_lift[code].data());
  const auto field = hn::Set(d, kept_field[code]);
  const auto one = hn::Set(d, 1);
  const std::uint32_t width = kept_widths[code];
  std::uint32_t at = 0;  // bits of magnitudes that are passed
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::uint32_t mask = bits.mask & 0xFF;
    const auto found = static_cast<std::uint32_t>(std::popcount(mask));
    const auto larger = static_cast<std::uint32_t>(bits.larger) & ((std::uint32_t{1} << found) - 1);
    const auto lanes_of = [&](std::uint32_t some) HWY_ATTR {
      const auto all = hn::Set(d, static_cast<std::uint16_t>(some & 0xFF));
      return hn::VecFromMask(d, hn::Eq(hn::And(all, bit_of_lane), bit_of_lane));
    };
    const auto expanded = [&](hn::Vec<decltype(d)> values, std::uint32_t by) HWY_ATTR {
      const auto places = hn::Load(d8, kept_expansion[by].data());
      return hn::BitCast(d, hn::TableLookupBytesOr0(hn::BitCast(d8, values), places));
    };
    const std::uint64_t next = load_little(bits.magnitudes + at / 8) >> (at % 8);
    auto value =
        hn::BitCast(d, hn::TableLookupBytesOr0(hn::BitCast(d8, hn::Set(d64, next)), spread));
    value = hn::ShiftRightSame(hn::And(hn::Mul(value, lift), field), static_cast<int>(8 - width));
    const auto is_larger = lanes_of(larger);
    // The lanes of the smaller ones are zero; a mask is -1.
    value = hn::Sub(hn::Add(expanded(value, larger), one), is_larger);
    const auto is_negative = lanes_of(static_cast<std::uint32_t>(bits.signs));
    value = hn::Sub(hn::Xor(value, is_negative), is_negative);
    value = hn::Mul(expanded(value, mask), hn::Load(d, quantizer.ordered.data() + 8 * group));
    const auto made = hn::BitCast(di, value);
    const hn::RebindToSigned<decltype(half)> half_signed;
    hn::StoreU(hn::LowerHalf(half_signed, made), half_signed, to + kept_order[8 * group]);
    hn::StoreU(hn::UpperHalf(half_signed, made), half_signed, to + kept_order[8 * group + 4]);
    bits.pass(found);
    at += width * static_cast<std::uint32_t>(std::popcount(larger));
  }
}

void expand_kept(const KeptBlocks& kept, std::size_t count, const KeptQuantizer& quantizer,
                 JpegBlock* blocks) {
#if HWY_TARGET == HWY_AVX3
  if (kept_has_vbmi()) return expand_kept_vbmi(kept, count, quantizer, blocks);
#endif
  const std::uint8_t* body = kept.bodies;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t head = kept.heads[i];
    if (head >> 4U == kept_code_wide) [[unlikely]] {
      expand_kept_plain(head, body, quantizer, blocks[i]);
    } else {
      expand_block(head, body, quantizer, blocks[i]);
    }
    blocks[i].coefficients[0] = kept_product(kept.dcs[i], quantizer.natural[0]);
    body += kept.lengths[i];
  }
}

#endif

// Bit i: whether the block's coefficient i, in natural order, is not zero.
HWY_INLINE std::uint64_t nonzero_of(const JpegBlock& block) {
  std::uint64_t found = 0;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (std::size_t i = 0; i < 64; ++i) {
    found |= std::uint64_t{block.coefficients[i] != 0} << i;
  }
#else
  const hn::CappedTag<std::int16_t, 8> d;
  for (std::size_t row = 0; row < 8; ++row) {
    const auto is_set = hn::Ne(hn::LoadU(d, block.coefficients.data() + 8 * row), hn::Zero(d));
    std::uint8_t bits[8] = {};
    (void)hn::StoreMaskBits(d, is_set, bits);
    found |= std::uint64_t{bits[0]} << (8 * row);
  }
#endif
  return found;
}

std::size_t pack_kept(const JpegBlock* blocks, std::size_t count, std::uint8_t* heads,
                      std::uint8_t* lengths, std::uint8_t* bodies) {
#if HWY_TARGET == HWY_AVX3
  if (kept_has_vbmi()) return pack_kept_vbmi(blocks, count, heads, lengths, bodies);
#endif
  std::uint8_t* body = bodies;
  for (std::size_t i = 0; i < count; ++i) {
    heads[i] = pack_kept_plain(blocks[i], nonzero_of(blocks[i]), body);
    lengths[i] = static_cast<std::uint8_t>(kept_body_bytes(heads[i], body));
    body += lengths[i];
  }
  return static_cast<std::size_t>(body - bodies);
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {
namespace {

std::atomic<bool> vbmi_allowed{true};

}  // namespace

bool kept_products_fit(const JpegBlock& block, const KeptQuantizer& quantizer) noexcept {
  std::uint32_t beyond = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    beyond |= excess(block.coefficients[i] * static_cast<std::int32_t>(quantizer.natural[i]));
  }
  return fits_sample(beyond);
}

HWY_EXPORT(expand_kept);
HWY_EXPORT(pack_kept);

void KeptQuantizer::set(const std::array<std::uint16_t, 64>& zigzag) noexcept {
  is_narrow = true;
  for (std::size_t at = 0; at < 64; ++at) {
    natural[jpeg_natural_order[at]] = zigzag[at];
    is_narrow = is_narrow && zigzag[at] <= 255;
  }
  for (std::size_t at = 0; at < 64; ++at) ordered[at] = natural[kept_order[at]];
}

void allow_kept_vbmi(bool allowed) noexcept { vbmi_allowed = allowed; }

bool kept_has_vbmi() noexcept {
  static const bool has = kept_machine_has_vbmi();
  return has && vbmi_allowed.load(std::memory_order_relaxed);
}

void expand_kept_blocks(const KeptBlocks& kept, std::size_t count, const KeptQuantizer& quantizer,
                        JpegBlock* blocks) noexcept {
  HWY_DYNAMIC_DISPATCH(expand_kept)(kept, count, quantizer, blocks);
}

std::optional<std::size_t> pack_kept_blocks(const JpegBlock* blocks, std::size_t count,
                                            const KeptQuantizer& quantizer, std::uint8_t* heads,
                                            std::uint8_t* lengths, std::uint8_t* bodies) noexcept {
  const std::size_t bytes = HWY_DYNAMIC_DISPATCH(pack_kept)(blocks, count, heads, lengths, bodies);
  std::uint32_t beyond = 0;
  for (std::size_t i = 0; i < count; ++i) {
    beyond |= excess(blocks[i].coefficients[0] * static_cast<std::int32_t>(quantizer.natural[0]));
    // A coefficient of a narrower width is at most 127, and its product with 255 fits.
    const bool may_exceed = heads[i] >> 4U == kept_code_wide || !quantizer.is_narrow;
    if (may_exceed && !kept_products_fit(blocks[i], quantizer)) return std::nullopt;
  }
  if (!fits_sample(beyond)) return std::nullopt;
  return bytes;
}

}  // namespace batchcast::inline v0_1::detail
#endif

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/forward_dct_block.hpp"
#include "data/codec/jpeg/pixels.hpp"

// Vectors whose length is unknown at compile time cannot be kept in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codec/jpeg/forward_dct.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/codec/jpeg/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void quantised_dct(const std::uint8_t* samples, std::size_t stride, std::size_t count,
                   const JpegQuantisation& by, std::int16_t* blocks) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto exact = forward_dct_block(samples + 8 * i, stride);
    for (std::size_t k = 0; k < exact.size(); ++k) {
      const int size = exact[k] < 0 ? -exact[k] : exact[k];
      const int divisor = 8 * by.steps[k];
      const int rounded = (size + divisor / 2) / divisor * by.steps[k];
      blocks[64 * i + k] = static_cast<std::int16_t>(exact[k] < 0 ? -rounded : rounded);
    }
  }
}

#else

template <class D>
HWY_INLINE void store_row(D d, hn::Vec<D> row, std::int16_t* out) {
  if constexpr (blocks_of<D> == 1) {
    hn::StoreU(row, d, out);
  } else {
    const hn::Half<D> half;
    store_row(half, hn::LowerHalf(half, row), out);
    store_row(half, hn::UpperHalf(half, row), out + 64 * blocks_of<decltype(half)>);
  }
}

// Sums of products of one half of each block's lanes, rounded.
template <int shift, class D, class V>
struct Products {
  const D d;
  const hn::RepartitionToWide<D> d32;

  HWY_INLINE auto of(V pairs, int even, int odd) const {
    return multiply_pairs(
        d32, pairs, pair_of(d, static_cast<std::int16_t>(even), static_cast<std::int16_t>(odd)));
  }
  template <class Sum>
  HWY_INLINE Sum rounded(Sum sum) const {
    return hn::ShiftRight<shift>(hn::Add(sum, hn::Set(d32, 1 << (shift - 1))));
  }
};

// Frequencies from the eight numbers of each lane. `is_last` is of the pass that takes the two bits
// off again.
template <bool is_last, class D, class V>
HWY_INLINE void transform_forward(D d, V (&rows)[8]) {
  constexpr int shift = is_last ? 15 : 11;
  const Products<shift, D, V> products{d, {}};
  V sums[4];
  V parts[4];
  for (std::size_t i = 0; i < 4; ++i) {
    sums[i] = hn::Add(rows[i], rows[7 - i]);
    parts[i] = hn::Sub(rows[3 - i], rows[4 + i]);
  }
  const V outer = hn::Add(sums[0], sums[3]);
  const V inner = hn::Add(sums[1], sums[2]);
  const auto whole = [&](V sum) HWY_ATTR {
    if constexpr (is_last) {
      return hn::ShiftRight<2>(hn::Add(sum, hn::Set(d, 2)));
    } else {
      return hn::ShiftLeft<2>(sum);
    }
  };
  // Both halves of the lanes of pairs (a, b), times two constants each.
  const auto both = [&](V a, V b, int even, int odd) HWY_ATTR {
    return hn::ReorderDemote2To(
        d, products.rounded(products.of(hn::InterleaveLower(d, a, b), even, odd)),
        products.rounded(products.of(hn::InterleaveUpper(d, a, b), even, odd)));
  };
  const V across = hn::Sub(sums[0], sums[3]);
  const V along = hn::Sub(sums[1], sums[2]);
  const V z3 = hn::Add(parts[0], parts[2]);
  const V z4 = hn::Add(parts[1], parts[3]);
  const auto odd_one = [&](V a, V b, int even, int odd, int even_z, int odd_z) HWY_ATTR {
    const auto half = [&](V pairs, V z) HWY_ATTR {
      return products.rounded(
          hn::Add(products.of(pairs, even, odd), products.of(z, even_z, odd_z)));
    };
    return hn::ReorderDemote2To(d,
                                half(hn::InterleaveLower(d, a, b), hn::InterleaveLower(d, z3, z4)),
                                half(hn::InterleaveUpper(d, a, b), hn::InterleaveUpper(d, z3, z4)));
  };
  rows[0] = whole(hn::Add(outer, inner));
  rows[4] = whole(hn::Sub(outer, inner));
  rows[2] = both(along, across, 4433, 4433 + 6270);
  rows[6] = both(along, across, 4433 - 15137, 4433);
  rows[7] = odd_one(parts[0], parts[3], 2446 - 7373, -7373, 9633 - 16069, 9633);
  rows[1] = odd_one(parts[0], parts[3], -7373, 12299 - 7373, 9633, 9633 - 3196);
  rows[5] = odd_one(parts[1], parts[2], 16819 - 20995, -20995, 9633, 9633 - 3196);
  rows[3] = odd_one(parts[1], parts[2], -20995, 25172 - 20995, 9633 - 16069, 9633);
}

template <class D>
HWY_INLINE void some_blocks_forward(D d, const std::uint8_t* samples, std::size_t stride,
                                    const JpegQuantisation& by, std::int16_t* blocks) {
  using V = hn::Vec<D>;
  const hn::Rebind<std::uint8_t, D> bytes;
  const hn::RebindToUnsigned<D> unsigned_d;
  V rows[8];
  for (std::size_t y = 0; y < 8; ++y) {
    rows[y] = hn::Sub(hn::PromoteTo(d, hn::LoadU(bytes, samples + y * stride)), hn::Set(d, 128));
  }
  transpose(d, rows);
  transform_forward<false>(d, rows);
  transpose(d, rows);
  transform_forward<true>(d, rows);
  for (std::size_t y = 0; y < 8; ++y) {
    const auto table = [&](const std::array<std::uint16_t, 64>& values)
                           HWY_ATTR { return hn::LoadDup128(unsigned_d, values.data() + 8 * y); };
    const V sign = hn::BroadcastSignBit(rows[y]);
    const auto size = hn::BitCast(unsigned_d, hn::Sub(hn::Xor(rows[y], sign), sign));
    const auto high = hn::MulHigh(hn::Add(size, table(by.roundings)), table(by.reciprocals));
    const auto count = hn::MulHigh(high, table(by.scales));
    const V rounded = hn::BitCast(d, hn::Mul(count, table(by.steps)));
    store_row(d, hn::Sub(hn::Xor(rounded, sign), sign), blocks + 8 * y);
  }
}

void quantised_dct(const std::uint8_t* samples, std::size_t stride, std::size_t count,
                   const JpegQuantisation& by, std::int16_t* blocks) {
  const hn::Repartition<std::int16_t, DBytes> many;
  constexpr std::size_t step = blocks_of<decltype(many)>;
  if (count < step) {
    const hn::Repartition<std::int16_t, DSixteen> one;
    for (std::size_t i = 0; i < count; ++i) {
      some_blocks_forward(one, samples + 8 * i, stride, by, blocks + 64 * i);
    }
    return;
  }
  for (std::size_t i = 0; i < count; i += step) {
    // The last ones may be made twice.
    const std::size_t first = i + step <= count ? i : count - step;
    some_blocks_forward(many, samples + 8 * first, stride, by, blocks + 64 * first);
  }
}

#endif

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(quantised_dct);

void jpeg_quantised_dct(const std::uint8_t* samples, std::size_t stride, std::size_t count,
                        const JpegQuantisation& quantisation, std::int16_t* blocks) {
  HWY_DYNAMIC_DISPATCH(quantised_dct)(samples, stride, count, quantisation, blocks);
}

}  // namespace batchcast::inline v0_1::detail
#endif

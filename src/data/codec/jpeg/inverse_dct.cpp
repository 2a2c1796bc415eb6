// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/inverse_dct_block.hpp"
#include "data/codec/jpeg/pixels.hpp"

// Vectors whose length is unknown at compile time cannot be kept in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codec/jpeg/inverse_dct.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/codec/jpeg/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void inverse_dct(const std::int16_t* blocks, std::size_t count, std::uint8_t* out,
                 std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    inverse_dct_block(blocks + 64 * i, out + 8 * i, stride);
  }
}

#else

template <class D>
HWY_INLINE hn::Vec<D> load_row(D d, const std::int16_t* row) {
  if constexpr (blocks_of<D> == 1) {
    return hn::LoadU(d, row);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_row(half, row + 64 * blocks_of<decltype(half)>),
                       load_row(half, row));
  }
}

// The sums of one half of each block's lanes.
template <class V>
struct Sums {
  V even[4];
  V odd[4];
};

template <int shift, class D, class S, class V>
HWY_INLINE void demote_sums(D d, const S& low, const S& high, std::size_t i, V (&rows)[8]) {
  rows[i] = hn::ReorderDemote2To(d, hn::ShiftRight<shift>(hn::Add(low.even[i], low.odd[i])),
                                 hn::ShiftRight<shift>(hn::Add(high.even[i], high.odd[i])));
  rows[7 - i] = hn::ReorderDemote2To(d, hn::ShiftRight<shift>(hn::Sub(low.even[i], low.odd[i])),
                                     hn::ShiftRight<shift>(hn::Sub(high.even[i], high.odd[i])));
}

template <int shift, class D, class V, class Zip>
HWY_INLINE Sums<hn::Vec<hn::RepartitionToWide<D>>> add_up(D d, const V (&in)[8], V sum,
                                                          V difference, V z3, V z4,
                                                          const Zip& zip) {
  const hn::RepartitionToWide<D> d32;
  const auto times = [&](V pairs, int even, int odd) HWY_ATTR {
    return multiply_pairs(
        d32, pairs, pair_of(d, static_cast<std::int16_t>(even), static_cast<std::int16_t>(odd)));
  };
  const auto rounding = hn::Set(d32, 1 << (shift - 1));
  const auto scaled = [&](V value) HWY_ATTR {
    const auto high = hn::BitCast(d32, zip(hn::Zero(d), value));
    return hn::Add(hn::ShiftRight<3>(high), rounding);
  };
  const auto e0 = scaled(sum);
  const auto e1 = scaled(difference);
  const V in26 = zip(in[2], in[6]);
  const auto e2 = times(in26, 4433, 4433 - 15137);
  const auto e3 = times(in26, 4433 + 6270, 4433);
  const V z34 = zip(z3, z4);
  const auto s3 = times(z34, 9633 - 16069, 9633);
  const auto s4 = times(z34, 9633, 9633 - 3196);
  const V in17 = zip(in[1], in[7]);
  const V in35 = zip(in[3], in[5]);
  return {{hn::Add(e0, e3), hn::Add(e1, e2), hn::Sub(e1, e2), hn::Sub(e0, e3)},
          {hn::Add(times(in17, 12299 - 7373, -7373), s4),
           hn::Add(times(in35, 25172 - 20995, -20995), s3),
           hn::Add(times(in35, -20995, 16819 - 20995), s4),
           hn::Add(times(in17, -7373, 2446 - 7373), s3)}};
}

template <int shift, class D, class V>
HWY_INLINE void transform(D d, V (&rows)[8]) {
  const V sum = hn::Add(rows[0], rows[4]);
  const V difference = hn::Sub(rows[0], rows[4]);
  const V z3 = hn::Add(rows[7], rows[3]);
  const V z4 = hn::Add(rows[5], rows[1]);
  const auto low = add_up<shift>(d, rows, sum, difference, z3, z4,
                                 [&](V a, V b) HWY_ATTR { return hn::InterleaveLower(d, a, b); });
  const auto high = add_up<shift>(d, rows, sum, difference, z3, z4,
                                  [&](V a, V b) HWY_ATTR { return hn::InterleaveUpper(d, a, b); });
  for (std::size_t i = 0; i < 4; ++i) demote_sums<shift>(d, low, high, i, rows);
}

// The same where inputs 4 to 7 are zero. The products of each input are added up in advance. Sums
// wrap, so that they come to the same. `even` has pairs of inputs 0 and 2, `odd` those of 1 and 3.
template <int shift, class D, class V>
HWY_INLINE Sums<hn::Vec<hn::RepartitionToWide<D>>> add_up_low(D d, V even, V odd) {
  const hn::RepartitionToWide<D> d32;
  const auto rounding = hn::Set(d32, 1 << (shift - 1));
  const auto from_even = [&](int factor) HWY_ATTR {
    const V factors = pair_of(d, 8192, static_cast<std::int16_t>(factor));
    return hn::Add(multiply_pairs(d32, even, factors), rounding);
  };
  const auto from_odd = [&](int first, int third) HWY_ATTR {
    return multiply_pairs(
        d32, odd, pair_of(d, static_cast<std::int16_t>(first), static_cast<std::int16_t>(third)));
  };
  return {{from_even(4433 + 6270), from_even(4433), from_even(-4433), from_even(-4433 - 6270)},
          {from_odd(12299 - 7373 + 9633 - 3196, 9633), from_odd(9633, 25172 - 20995 + 9633 - 16069),
           from_odd(9633 - 3196, 9633 - 20995), from_odd(9633 - 7373, 9633 - 16069)}};
}

// Samples of blocks of which only the first four coefficients of the first four rows count.
template <class D, class V>
HWY_INLINE void transform_low(D d, V (&rows)[8]) {
  const hn::RepartitionToWide<D> d32;
  const hn::RepartitionToWide<decltype(d32)> d64;
  const hn::Repartition<std::uint8_t, D> d8;
  // Columns 0 and 2 come to lie side by side, as do 1 and 3.
  alignas(16) static constexpr std::uint8_t places[16] = {0, 1, 2, 3, 8,  9,  10, 11,
                                                          4, 5, 6, 7, 12, 13, 14, 15};
  const auto zip = [&](V a, V b) HWY_ATTR {
    const auto pairs = hn::BitCast(d8, hn::InterleaveLower(d, a, b));
    return hn::BitCast(d, hn::TableLookupBytes(pairs, hn::LoadDup128(d8, places)));
  };
  const auto first = add_up_low<11>(d, zip(rows[0], rows[2]), zip(rows[1], rows[3]));
  hn::Vec<decltype(d32)> made[8];
  for (std::size_t i = 0; i < 4; ++i) {
    made[i] = hn::ShiftRight<11>(hn::Add(first.even[i], first.odd[i]));
    made[7 - i] = hn::ShiftRight<11>(hn::Sub(first.even[i], first.odd[i]));
  }
  V even[2];
  V odd[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto upper = hn::BitCast(d32, hn::ReorderDemote2To(d, made[4 * i], made[4 * i + 2]));
    const auto lower = hn::BitCast(d32, hn::ReorderDemote2To(d, made[4 * i + 1], made[4 * i + 3]));
    const auto two = hn::BitCast(d64, hn::InterleaveLower(d32, upper, lower));
    const auto more = hn::BitCast(d64, hn::InterleaveUpper(d32, upper, lower));
    even[i] = hn::BitCast(d, hn::InterleaveLower(d64, two, more));
    odd[i] = hn::BitCast(d, hn::InterleaveUpper(d64, two, more));
  }
  const auto low = add_up_low<18>(d, even[0], odd[0]);
  const auto high = add_up_low<18>(d, even[1], odd[1]);
  for (std::size_t i = 0; i < 4; ++i) demote_sums<18>(d, low, high, i, rows);
}

// Turns each pair of rows into bytes, and transposes rows.
template <class D, class V>
HWY_INLINE void store(D d, const V (&columns)[8], std::uint8_t* out, std::size_t stride) {
  const hn::Repartition<std::uint8_t, D> d8;
  const hn::Repartition<std::uint64_t, D> d64;
  const hn::Half<decltype(d8)> row;
  const V center = hn::Set(d, 128);
  hn::Vec<decltype(d8)> pairs[4];
  for (std::size_t i = 0; i < 4; ++i) {
    pairs[i] = narrow(hn::SaturatedAdd(columns[2 * i], center),
                      hn::SaturatedAdd(columns[2 * i + 1], center));
  }
  transpose(d8, pairs);
  for (std::size_t i = 0; i < 4; i += 2) {
    const auto lower = hn::BitCast(d64, pairs[i]);
    const auto upper = hn::BitCast(d64, pairs[i + 1]);
    const auto even = hn::BitCast(d8, hn::ConcatEven(d64, upper, lower));
    const auto odd = hn::BitCast(d8, hn::ConcatOdd(d64, upper, lower));
    std::uint8_t* const at = out + 2 * i * stride;
    hn::StoreU(hn::LowerHalf(row, even), row, at);
    hn::StoreU(hn::LowerHalf(row, odd), row, at + stride);
    hn::StoreU(hn::UpperHalf(row, even), row, at + 2 * stride);
    hn::StoreU(hn::UpperHalf(row, odd), row, at + 3 * stride);
  }
}

// Blocks of nothing but their mean.
template <class D, class V>
HWY_INLINE void store_flat(D d, V means, std::uint8_t* out, std::size_t stride) {
  const hn::Repartition<std::uint8_t, D> d8;
  const hn::Repartition<std::uint64_t, D> d64;
  const hn::Half<decltype(d8)> half;
  const V scaled = hn::ShiftLeft<2>(hn::Broadcast<0>(means));
  const V rounded = hn::ShiftRight<5>(hn::SaturatedAdd(scaled, hn::Set(d, 16)));
  const V centered = hn::SaturatedAdd(rounded, hn::Set(d, 128));
  const auto samples = hn::BitCast(d64, narrow(centered, centered));
  const auto row = hn::LowerHalf(half, hn::BitCast(d8, hn::ConcatEven(d64, samples, samples)));
  for (std::size_t y = 0; y < 8; ++y) hn::StoreU(row, half, out + y * stride);
}

template <class D, class V>
HWY_INLINE bool is_zero(D d, V v) {
  return hn::AllTrue(d, hn::Eq(v, hn::Zero(d)));
}
// Sets each block's lanes from `first` on.
template <int first, class D>
HWY_INLINE hn::Vec<D> lanes_from(D d) {
  constexpr auto lane = [](int i) { return static_cast<std::int16_t>(i < first ? 0 : -1); };
  alignas(16) static constexpr std::int16_t lanes[8] = {lane(0), lane(1), lane(2), lane(3),
                                                        lane(4), lane(5), lane(6), lane(7)};
  return hn::LoadDup128(d, lanes);
}

template <class D>
HWY_INLINE void some_blocks(D d, const std::int16_t* blocks, std::uint8_t* out,
                            std::size_t stride) {
  using V = hn::Vec<D>;
  V rows[8];
  for (std::size_t y = 0; y < 8; ++y) rows[y] = load_row(d, blocks + 8 * y);
  const V upper = hn::Or(rows[1], hn::Or(rows[2], rows[3]));
  const V lower = hn::Or(hn::Or(rows[4], rows[5]), hn::Or(rows[6], rows[7]));
  const bool is_low = is_zero(d, hn::Or(lower, hn::And(hn::Or(rows[0], upper), lanes_from<4>(d))));
  if (is_low && is_zero(d, hn::Or(upper, hn::And(rows[0], lanes_from<1>(d))))) {
    store_flat(d, rows[0], out, stride);
    return;
  }
  // Where a flat block exceeds what the first pass can hold, the result depends on the whole block.
  if (HWY_UNLIKELY(
          !hn::AllTrue(d, hn::Eq(hn::ShiftRight<2>(hn::ShiftLeft<2>(rows[0])), rows[0])))) {
    for (std::size_t i = 0; i < blocks_of<D>; ++i) {
      inverse_dct_block(blocks + 64 * i, out + 8 * i, stride);
    }
    return;
  }
  if (is_low) {
    transform_low(d, rows);
  } else {
    transform<11>(d, rows);
    transpose(d, rows);
    transform<18>(d, rows);
  }
  store(d, rows, out, stride);
}

void inverse_dct(const std::int16_t* blocks, std::size_t count, std::uint8_t* out,
                 std::size_t stride) {
  const hn::Repartition<std::int16_t, DBytes> many;
  constexpr std::size_t step = blocks_of<decltype(many)>;
  if (count < step) {
    const hn::Repartition<std::int16_t, DSixteen> one;
    for (std::size_t i = 0; i < count; ++i) some_blocks(one, blocks + 64 * i, out + 8 * i, stride);
    return;
  }
  for (std::size_t i = 0; i < count; i += step) {
    // The last ones may be made twice.
    const std::size_t first = i + step <= count ? i : count - step;
    some_blocks(many, blocks + 64 * first, out + 8 * first, stride);
  }
}

#endif

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(inverse_dct);

void jpeg_inverse_dct(const std::int16_t* blocks, std::size_t count, std::uint8_t* out,
                      std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(inverse_dct)(blocks, count, out, stride);
}

}  // namespace batchcast::inline v0_1::detail
#endif

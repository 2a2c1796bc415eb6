// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/box_blur.hpp"

// Vectors whose length is unknown at compile time are not what the rest is made for.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/pixels/box_blur_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::CappedTag<std::uint32_t, 16>;
using One = hn::CappedTag<std::uint32_t, 1>;

template <class D>
HWY_INLINE auto levels(D d, const std::uint8_t* at) {
  const hn::Rebind<std::uint8_t, D> d8;
  return hn::PromoteTo(d, hn::LoadU(d8, at));
}

template <class D, class V>
HWY_INLINE void store_weighed(D d, const BoxBlur& blur, V sum, V edges, std::uint8_t* out) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto inner = hn::Mul(sum, hn::Set(d, blur.weight));
  const auto outer = hn::Mul(edges, hn::Set(d, blur.edge_weight));
  const auto bulk = hn::Add(hn::Add(inner, outer), hn::Set(d, 1U << 23U));
  const auto made = hn::BitCast(di, hn::ShiftRight<24>(bulk));
  hn::StoreU(hn::DemoteTo(d8, made), d8, out);
}

template <class Block>
HWY_INLINE void for_blocks(std::size_t count, Block block) {
  const Wide wide;
  const One one;
  std::size_t at = 0;
  for (; at + hn::Lanes(wide) <= count; at += hn::Lanes(wide)) block(wide, at);
  for (; at < count; ++at) block(one, at);
}

void down(const BoxBlur& blur, const BoxRow& row, std::size_t count, std::uint32_t* sums,
          std::uint8_t* out) {
  for_blocks(count, [&](auto d, std::size_t at) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(d, sums + at), levels(d, row.entering + at));
    const auto edges = hn::Add(levels(d, row.first + at), levels(d, row.last + at));
    store_weighed(d, blur, sum, edges, out + at);
    hn::StoreU(hn::Sub(sum, levels(d, row.leaving + at)), d, sums + at);
  });
}

void across_few(const BoxBlur& blur, const std::uint8_t* in, std::size_t step, std::size_t count,
                std::uint8_t* out) {
  const auto taps = static_cast<std::size_t>(2 * blur.radius + 1);
  for_blocks(count, [&](auto d, std::size_t at) HWY_ATTR {
    const std::uint8_t* const first = in + at;
    auto sum = levels(d, first + step);
    for (std::size_t i = 2; i <= taps; ++i) sum = hn::Add(sum, levels(d, first + i * step));
    const auto edges = hn::Add(levels(d, first), levels(d, first + (taps + 1) * step));
    store_weighed(d, blur, sum, edges, out + at);
  });
}

// Sums of many pixels are carried along the row.
void across_many(const BoxBlur& blur, const std::uint8_t* in, std::size_t step, std::size_t count,
                 std::uint8_t* out) {
  const auto taps = static_cast<std::size_t>(2 * blur.radius + 1);
  for (std::size_t c = 0; c < step; ++c) {
    std::uint32_t sum = 0;
    for (std::size_t i = 1; i < taps; ++i) sum += in[i * step + c];
    for (std::size_t at = c; at < count; at += step) {
      sum += in[at + taps * step];
      const std::uint32_t edges = std::uint32_t{in[at]} + in[at + (taps + 1) * step];
      const std::uint32_t bulk = sum * blur.weight + edges * blur.edge_weight + (1U << 23U);
      out[at] = static_cast<std::uint8_t>(bulk >> 24U);
      sum -= in[at + step];
    }
  }
}

void across(const BoxBlur& blur, const std::uint8_t* in, std::size_t step, std::size_t count,
            std::uint8_t* out) {
  // From about here on the loop over taps costs more than the vectors save.
  constexpr std::int32_t few = 12;
  if (blur.radius <= few) return across_few(blur, in, step, count, out);
  across_many(blur, in, step, count, out);
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(down);
HWY_EXPORT(across);

void box_blur_row(const BoxBlur& blur, const BoxRow& row, std::size_t count, std::uint32_t* sums,
                  std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(down)(blur, row, count, sums, out);
}

void box_blur_across(const BoxBlur& blur, const std::uint8_t* in, std::size_t step,
                     std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(across)(blur, in, step, count, out);
}

}  // namespace batchcast::inline v0_1::detail
#endif

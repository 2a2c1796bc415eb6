// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/level_rows.hpp"

// Vectors whose length is unknown at compile time are not what the rest is made for.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/pixels/level_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::CappedTag<float, 16>;
using One = hn::CappedTag<float, 1>;

template <class D>
HWY_INLINE auto levels(D, const std::uint8_t* at) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  return hn::PromoteTo(di, hn::LoadU(d8, at));
}

template <class D, class V>
HWY_INLINE void store_levels(D, V values, std::uint8_t* out) {
  const hn::Rebind<std::uint8_t, D> d8;
  hn::StoreU(hn::DemoteTo(d8, values), d8, out);
}

template <class Block>
HWY_INLINE void for_blocks(std::size_t count, Block block) {
  const Wide wide;
  const One one;
  std::size_t at = 0;
  for (; at + hn::Lanes(wide) <= count; at += hn::Lanes(wide)) block(wide, at);
  for (; at < count; ++at) block(one, at);
}

void blend(const std::uint8_t* from, const std::uint8_t* to, std::size_t count, float factor,
           std::uint8_t* out) {
  for_blocks(count, [=](auto d, std::size_t at) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto first = levels(d, from + at);
    const auto distance = hn::ConvertTo(d, hn::Sub(levels(d, to + at), first));
    const auto sum = hn::Add(hn::ConvertTo(d, first), hn::Mul(hn::Set(d, factor), distance));
    const auto clamped = hn::Min(hn::Max(sum, hn::Zero(d)), hn::Set(d, 255.0F));
    store_levels(d, hn::ConvertTo(di, clamped), out + at);
  });
}

// PIL adds nine products in single precision. Thirteenths and a half lie at least a 26th from a
// whole number, so that rounding never shows.
void smooth(const SmoothRows& rows, std::size_t count, std::uint8_t* out) {
  for_blocks(count, [&](auto d, std::size_t at) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto three = [&](const std::uint8_t* row) HWY_ATTR {
      return hn::Add(hn::Add(levels(d, row + at), levels(d, row + at + rows.step)),
                     levels(d, row + at + 2 * rows.step));
    };
    const auto middle = levels(d, rows.row + at + rows.step);
    const auto sum = hn::Add(hn::Add(three(rows.above), three(rows.below)),
                             hn::Add(three(rows.row), hn::ShiftLeft<2>(middle)));
    const auto mean =
        hn::Add(hn::Mul(hn::ConvertTo(d, sum), hn::Set(d, 1.0F / 13.0F)), hn::Set(d, 0.5F));
    store_levels(d, hn::ConvertTo(di, mean), out + at);
  });
}

void luma(const std::uint8_t* const* planes, std::size_t count, std::uint8_t* out) {
  for_blocks(count, [=](auto d, std::size_t at) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto part = [&](std::size_t c, int weight) HWY_ATTR {
      return hn::Mul(levels(d, planes[c] + at), hn::Set(di, weight));
    };
    const auto sum = hn::Add(hn::Add(part(0, 19595), part(1, 38470)),
                             hn::Add(part(2, 7471), hn::Set(di, 0x8000)));
    store_levels(d, hn::ShiftRight<16>(sum), out + at);
  });
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(blend);
HWY_EXPORT(smooth);
HWY_EXPORT(luma);

void blend_rows(const std::uint8_t* from, const std::uint8_t* to, std::size_t count, float factor,
                std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blend)(from, to, count, factor, out);
}

void smooth_row(const SmoothRows& rows, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(smooth)(rows, count, out);
}

void luma_of_planes(const std::uint8_t* const* planes, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(luma)(planes, count, out);
}

}  // namespace batchcast::inline v0_1::detail
#endif

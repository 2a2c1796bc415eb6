// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/pixels.hpp"

// Vectors whose length is unknown at compile time are not what the rest is made for.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codec/jpeg/downsampling.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/codec/jpeg/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

using Pairs = hn::CappedTag<std::uint16_t, 32>;

template <class D, class Step>
HWY_INLINE void for_lanes(std::size_t count, const Step& step) {
  const D d;
  const hn::CappedTag<hn::TFromD<D>, 1> one;
  std::size_t x = 0;
  for (; x + hn::Lanes(d) <= count; x += hn::Lanes(d)) step(d, x);
  for (; x < count; ++x) step(one, x);
}

// The sums of each two neighbours.
template <class D>
HWY_INLINE hn::Vec<D> pair_sums(D d, const std::uint8_t* in) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, static_cast<std::uint16_t>(in[0] + in[1]));
#else
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::Set(d, static_cast<std::uint16_t>(in[0] + in[1]));
  } else {
    const hn::Repartition<std::uint8_t, D> bytes;
    const auto both = hn::BitCast(d, hn::LoadU(bytes, in));
    return hn::Add(hn::And(both, hn::Set(d, 0xFF)), hn::ShiftRight<8>(both));
  }
#endif
}

// `even` for an even place, `odd` for an odd one.
template <class D>
HWY_INLINE hn::Vec<D> in_turns(D d, std::size_t x, std::uint16_t even, std::uint16_t odd) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::Set(d, x % 2 == 0 ? even : odd);
  } else {
    return hn::OddEven(hn::Set(d, odd), hn::Set(d, even));
  }
}

template <class D, class V>
HWY_INLINE void store_narrow(D, V values, std::uint8_t* out) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(di, values)), bytes, out);
}

void halve_across(const std::uint8_t* in, std::size_t width_out, std::uint8_t* out) {
  for_lanes<Pairs>(width_out, [&](auto d, std::size_t x) HWY_ATTR {
    const auto sum = hn::Add(pair_sums(d, in + 2 * x), in_turns(d, x, 0, 1));
    store_narrow(d, hn::ShiftRight<1>(sum), out + x);
  });
}

void halve_both(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t width_out,
                std::uint8_t* out) {
  for_lanes<Pairs>(width_out, [&](auto d, std::size_t x) HWY_ATTR {
    const auto sum = hn::Add(pair_sums(d, upper + 2 * x), pair_sums(d, lower + 2 * x));
    store_narrow(d, hn::ShiftRight<2>(hn::Add(sum, in_turns(d, x, 1, 2))), out + x);
  });
}

// JFIF's weights times 65536.
constexpr int rounding = 1 << 15;
constexpr int center = (128 << 16) + rounding - 1;

void to_ycc(const std::uint8_t* rgb, std::size_t width, std::uint8_t* y, std::uint8_t* cb,
            std::uint8_t* cr) {
#if HWY_TARGET != HWY_SCALAR
  sweep(width, [&](auto bytes, std::size_t x) HWY_ATTR {
    using Bytes = decltype(bytes);
    const hn::Repartition<std::int16_t, Bytes> d16;
    const hn::RepartitionToWide<decltype(d16)> d32;
    const auto zero = hn::Zero(bytes);
    hn::Vec<Bytes> red;
    hn::Vec<Bytes> green;
    hn::Vec<Bytes> blue;
    hn::LoadInterleaved3(bytes, rgb + 3 * x, red, green, blue);
    // A constant of 16 bits has a sign: green's weight of luma goes in two halves, and half of a
    // level is a shift.
    const auto half = [&](auto interleaved) HWY_ATTR {
      const auto r = hn::BitCast(d16, interleaved(red));
      const auto g = hn::BitCast(d16, interleaved(green));
      const auto b = hn::BitCast(d16, interleaved(blue));
      const auto sum = [&](auto pairs, int even, int odd) HWY_ATTR {
        return multiply_pairs(
            d32, pairs,
            pair_of(d16, static_cast<std::int16_t>(even), static_cast<std::int16_t>(odd)));
      };
      const auto luma = [&](auto rg, auto bg) HWY_ATTR {
        const auto all = hn::Add(sum(rg, 19595, 38470 - 16384), sum(bg, 7471, 16384));
        return hn::ShiftRight<16>(hn::Add(all, hn::Set(d32, rounding)));
      };
      // `own` has 32768, which is twice what fits.
      const auto chroma = [&](auto own_other, auto own_rest, int other, int rest) HWY_ATTR {
        const auto all = hn::Add(sum(own_other, 16384, other), sum(own_rest, 16384, rest));
        return hn::ShiftRight<16>(hn::Add(all, hn::Set(d32, center)));
      };
      const auto lower = [&](auto a, auto c) HWY_ATTR { return hn::InterleaveLower(d16, a, c); };
      const auto upper = [&](auto a, auto c) HWY_ATTR { return hn::InterleaveUpper(d16, a, c); };
      struct Half {
        hn::Vec<decltype(d16)> y, cb, cr;
      };
      return Half{
          hn::ReorderDemote2To(d16, luma(lower(r, g), lower(b, g)), luma(upper(r, g), upper(b, g))),
          hn::ReorderDemote2To(d16, chroma(lower(b, r), lower(b, g), -11059, -21709),
                               chroma(upper(b, r), upper(b, g), -11059, -21709)),
          hn::ReorderDemote2To(d16, chroma(lower(r, g), lower(r, b), -27439, -5329),
                               chroma(upper(r, g), upper(r, b), -27439, -5329))};
    };
    const auto low = half([&](auto v) HWY_ATTR { return hn::InterleaveLower(bytes, v, zero); });
    const auto high = half([&](auto v) HWY_ATTR { return hn::InterleaveUpper(bytes, v, zero); });
    hn::StoreU(narrow(low.y, high.y), bytes, y + x);
    hn::StoreU(narrow(low.cb, high.cb), bytes, cb + x);
    hn::StoreU(narrow(low.cr, high.cr), bytes, cr + x);
  });
#else
  for (std::size_t x = 0; x < width; ++x) {
    const int r = rgb[3 * x];
    const int g = rgb[3 * x + 1];
    const int b = rgb[3 * x + 2];
    y[x] = static_cast<std::uint8_t>((19595 * r + 38470 * g + 7471 * b + rounding) >> 16);
    cb[x] = static_cast<std::uint8_t>((32768 * b - 11059 * r - 21709 * g + center) >> 16);
    cr[x] = static_cast<std::uint8_t>((32768 * r - 27439 * g - 5329 * b + center) >> 16);
  }
#endif
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(halve_across);
HWY_EXPORT(halve_both);
HWY_EXPORT(to_ycc);

void jpeg_downsample_h2v1(const std::uint8_t* in, std::size_t width_out, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(halve_across)(in, width_out, out);
}
void jpeg_downsample_h2v2(const std::uint8_t* upper, const std::uint8_t* lower,
                          std::size_t width_out, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(halve_both)(upper, lower, width_out, out);
}
void jpeg_ycc_from_rgb(const std::uint8_t* rgb, std::size_t width, std::uint8_t* y,
                       std::uint8_t* cb, std::uint8_t* cr) {
  HWY_DYNAMIC_DISPATCH(to_ycc)(rgb, width, y, cb, cr);
}

}  // namespace batchcast::inline v0_1::detail
#endif

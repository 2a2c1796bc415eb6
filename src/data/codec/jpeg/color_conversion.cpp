// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/pixels.hpp"

#include <algorithm>

// Vectors whose length is unknown at compile time cannot be kept in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codec/jpeg/color_conversion.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/codec/jpeg/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void from_ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
              std::size_t width, std::uint8_t* rgb) {
  const auto byte = [](int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); };
  constexpr int half = 1 << 15;
  for (std::size_t x = 0; x < width; ++x) {
    const int b = cb[x] - 128;
    const int r = cr[x] - 128;
    rgb[3 * x] = byte(y[x] + ((91881 * r + half) >> 16));
    rgb[3 * x + 1] = byte(y[x] + ((-22554 * b - 46802 * r + half) >> 16));
    rgb[3 * x + 2] = byte(y[x] + ((116130 * b + half) >> 16));
  }
}

#else

// JFIF's matrix times 65536: red 91881 cr, green -22554 cb - 46802 cr, blue 116130 cb; each sum is
// rounded once. Whole multiples of 65536 are added separately, so that the rest has 16 bits.
template <class D16>
struct Colors {
  hn::Vec<D16> red, green, blue;
};
template <class D16, class V = hn::Vec<D16>>
HWY_INLINE Colors<D16> convert(D16 d, V y, V cb, V cr) {
  const hn::RepartitionToWide<D16> d32;
  cb = hn::Sub(cb, hn::Set(d, 128));
  cr = hn::Sub(cr, hn::Set(d, 128));
  // 26345 / 2 is no integer, but the result is the same for each of the 256 values of cr.
  const V red = hn::Add(hn::Add(y, cr), hn::MulFixedPoint15(cr, hn::Set(d, 13173)));
  const V blue = hn::Add(hn::Add(y, hn::Add(cb, cb)), hn::MulFixedPoint15(cb, hn::Set(d, -7471)));
  const V shares = pair_of(d, -22554, 65536 - 46802);
  const auto share = [&](V pairs) HWY_ATTR {
    return hn::ShiftRight<16>(hn::Add(multiply_pairs(d32, pairs, shares), hn::Set(d32, 1 << 15)));
  };
  const V rest = hn::ReorderDemote2To(d, share(hn::InterleaveLower(d, cb, cr)),
                                      share(hn::InterleaveUpper(d, cb, cr)));
  return {red, hn::Add(hn::Sub(y, cr), rest), blue};
}

void from_ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
              std::size_t width, std::uint8_t* rgb) {
  sweep(width, [&](auto d, std::size_t x) HWY_ATTR {
    const hn::Repartition<std::int16_t, decltype(d)> d16;
    const auto zero = hn::Zero(d);
    const auto lower = [&](const std::uint8_t* row) HWY_ATTR {
      return hn::BitCast(d16, hn::InterleaveLower(d, hn::LoadU(d, row + x), zero));
    };
    const auto upper = [&](const std::uint8_t* row) HWY_ATTR {
      return hn::BitCast(d16, hn::InterleaveUpper(d, hn::LoadU(d, row + x), zero));
    };
    const auto low = convert(d16, lower(y), lower(cb), lower(cr));
    const auto high = convert(d16, upper(y), upper(cb), upper(cr));
    hn::StoreInterleaved3(narrow(low.red, high.red), narrow(low.green, high.green),
                          narrow(low.blue, high.blue), d, rgb + 3 * x);
  });
}

#endif

void from_gray(const std::uint8_t* y, std::size_t width, std::uint8_t* rgb) {
  sweep(width, [&](auto d, std::size_t x) HWY_ATTR {
    const auto gray = hn::LoadU(d, y + x);
    hn::StoreInterleaved3(gray, gray, gray, d, rgb + 3 * x);
  });
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(from_ycc);
HWY_EXPORT(from_gray);

void jpeg_rgb_from_ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                       std::size_t width, std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(from_ycc)(y, cb, cr, width, rgb);
}
void jpeg_rgb_from_gray(const std::uint8_t* y, std::size_t width, std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(from_gray)(y, width, rgb);
}

}  // namespace batchcast::inline v0_1::detail
#endif

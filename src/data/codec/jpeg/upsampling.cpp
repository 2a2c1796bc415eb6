// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/pixels.hpp"

#include <algorithm>

// Vectors whose length is unknown at compile time cannot be kept in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codec/jpeg/upsampling.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

#include "data/codec/jpeg/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

// (a + b) >> 1
template <class D, class V>
HWY_INLINE V average_down(D d, V a, V b) {
  return hn::Sub(hn::AverageRound(a, b), hn::And(hn::Xor(a, b), hn::Set(d, 1)));
}
// (3 * a + b + 1) >> 2, without needing more bits
template <class D, class V>
HWY_INLINE V quarter_plus_1(D d, V a, V b) {
  return average_down(d, a, hn::AverageRound(a, b));
}
// (3 * a + b + 2) >> 2
template <class D, class V>
HWY_INLINE V quarter_plus_2(D d, V a, V b) {
  return hn::AverageRound(a, average_down(d, a, b));
}

void h2v1(const std::uint8_t* in, std::size_t width, std::uint8_t* out) {
  const std::uint8_t first = in[0];
  const std::uint8_t last = in[width - 1];
  if (width > 1) {
    const int second = in[1];
    const int last_but_one = in[width - 2];
    sweep(width - 2, [&](auto d, std::size_t i) HWY_ATTR {
      const std::size_t x = i + 1;
      const auto here = hn::LoadU(d, in + x);
      const auto even = quarter_plus_1(d, here, hn::LoadU(d, in + x - 1));
      const auto odd = quarter_plus_2(d, here, hn::LoadU(d, in + x + 1));
      hn::StoreInterleaved2(even, odd, d, out + 2 * x);
    });
    out[1] = static_cast<std::uint8_t>((3 * first + second + 2) >> 2);
    out[2 * width - 2] = static_cast<std::uint8_t>((3 * last + last_but_one + 1) >> 2);
  }
  out[0] = first;
  out[2 * width - 1] = last;
}

#if HWY_TARGET == HWY_SCALAR

void h2v2_inner(const std::uint8_t* near_row, const std::uint8_t* far_row, std::size_t width,
                std::uint8_t* out) {
  const auto sum = [&](std::size_t x) { return 3 * near_row[x] + far_row[x]; };
  for (std::size_t x = 1; x + 1 < width; ++x) {
    out[2 * x] = static_cast<std::uint8_t>((3 * sum(x) + sum(x - 1) + 8) >> 4);
    out[2 * x + 1] = static_cast<std::uint8_t>((3 * sum(x) + sum(x + 1) + 7) >> 4);
  }
}

#else

using DSums = hn::Repartition<std::uint16_t, DBytes>;

void h2v2_inner(const std::uint8_t* near_row, const std::uint8_t* far_row, std::size_t width,
                std::uint8_t* out) {
  const DSums d;
  const hn::Rebind<std::uint8_t, DSums> half;
  const DBytes bytes;
  const std::size_t lanes = hn::Lanes(d);
  const auto three = hn::Set(d, 3);
  // Samples that neighbours need. Whole vectors reach beyond, at most as far as the row's slack.
  constexpr std::size_t kept = 512;
  alignas(64) std::uint16_t sums[kept + 2 + 2 * hn::MaxLanes(DSums())];
  for (std::size_t x = 0; x + 2 < width; x += kept) {
    const std::size_t count = std::min(kept, width - 2 - x);
    for (std::size_t i = 0; i < count + 2; i += lanes) {
      const auto near_one = hn::PromoteTo(d, hn::LoadU(half, near_row + x + i));
      const auto far_one = hn::PromoteTo(d, hn::LoadU(half, far_row + x + i));
      hn::Store(hn::Add(hn::Mul(near_one, three), far_one), d, sums + i);
    }
    for (std::size_t i = 0; i < count; i += lanes) {
      const auto here = hn::Mul(hn::LoadU(d, sums + i + 1), three);
      const auto left = hn::Add(hn::Load(d, sums + i), hn::Set(d, 8));
      const auto right = hn::Add(hn::LoadU(d, sums + i + 2), hn::Set(d, 7));
      const auto even = hn::ShiftRight<4>(hn::Add(here, left));
      const auto odd = hn::ShiftRight<4>(hn::Add(here, right));
      const auto both = hn::Or(even, hn::ShiftLeft<8>(odd));
      hn::StoreU(hn::BitCast(bytes, both), bytes, out + 2 * (x + i + 1));
    }
  }
}

#endif

void h2v2(const std::uint8_t* near_row, const std::uint8_t* far_row, std::size_t width,
          std::uint8_t* out) {
  const auto sum = [&](std::size_t x) { return 3 * near_row[x] + far_row[x]; };
  const int first = sum(0);
  const int last = sum(width - 1);
  if (width > 1) {
    h2v2_inner(near_row, far_row, width, out);
    out[1] = static_cast<std::uint8_t>((3 * first + sum(1) + 7) >> 4);
    out[2 * width - 2] = static_cast<std::uint8_t>((3 * last + sum(width - 2) + 8) >> 4);
  }
  out[0] = static_cast<std::uint8_t>((4 * first + 8) >> 4);
  out[2 * width - 1] = static_cast<std::uint8_t>((4 * last + 7) >> 4);
}

void h1v2(const std::uint8_t* near_row, const std::uint8_t* far_row, int bias, std::size_t width,
          std::uint8_t* out) {
  sweep(width, [&](auto d, std::size_t x) HWY_ATTR {
    const auto near_one = hn::LoadU(d, near_row + x);
    const auto far_one = hn::LoadU(d, far_row + x);
    hn::StoreU(
        bias == 1 ? quarter_plus_1(d, near_one, far_one) : quarter_plus_2(d, near_one, far_one), d,
        out + x);
  });
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(h2v1);
HWY_EXPORT(h2v2);
HWY_EXPORT(h1v2);

void jpeg_upsample_h2v1(const std::uint8_t* in, std::size_t width, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(h2v1)(in, width, out);
}
void jpeg_upsample_h2v2(const std::uint8_t* near_row, const std::uint8_t* far_row,
                        std::size_t width, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(h2v2)(near_row, far_row, width, out);
}
void jpeg_upsample_h1v2(const std::uint8_t* near_row, const std::uint8_t* far_row, int bias,
                        std::size_t width, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(h1v2)(near_row, far_row, bias, width, out);
}

}  // namespace batchcast::inline v0_1::detail
#endif

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/kernels.hpp"

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/resample/arrange.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Takes sixteen pixels at a time, the last sixteen where the row ends, and fewer one by one.
template <class Sixteen, class One>
HWY_INLINE void for_pixels(std::size_t count, const Sixteen& sixteen, const One& one) {
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; x + 16 <= count; x += 16) sixteen(x);
  if (x == count) return;
  if (count >= 16) {
    sixteen(count - 16);
    return;
  }
#else
  static_cast<void>(sixteen);
#endif
  for (; x < count; ++x) one(x);
}

#if HWY_TARGET == HWY_SCALAR

struct Pixels {
  static Pixels load(const std::uint8_t*) { return {}; }
  static Pixels load_planes(const std::uint8_t*, std::size_t) { return {}; }
  [[nodiscard]] Pixels mirrored() const { return {}; }
  [[nodiscard]] Pixels swapped() const { return {}; }
  void store(std::uint8_t*) const {}
  void store_planes(std::uint8_t*, std::size_t) const {}
};
void mirror_gray(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for (std::size_t x = 0; x < count; ++x) out[x] = in[count - 1 - x];
}

#else

using D = hn::FixedTag<std::uint8_t, 16>;
using V = hn::Vec<D>;

HWY_INLINE V reversed(V v) {
  alignas(16) static constexpr std::uint8_t order[16] = {15, 14, 13, 12, 11, 10, 9, 8,
                                                         7,  6,  5,  4,  3,  2,  1, 0};
  return hn::TableLookupBytes(v, hn::Load(D(), order));
}

// Sixteen pixels.
struct Pixels {
  V r;
  V g;
  V b;

  static HWY_INLINE Pixels load(const std::uint8_t* rgb) {
    Pixels p;
    hn::LoadInterleaved3(D(), rgb, p.r, p.g, p.b);
    return p;
  }
  static HWY_INLINE Pixels load_planes(const std::uint8_t* planes, std::size_t stride) {
    return {hn::LoadU(D(), planes), hn::LoadU(D(), planes + stride),
            hn::LoadU(D(), planes + 2 * stride)};
  }
  [[nodiscard]] HWY_INLINE Pixels mirrored() const {
    return {reversed(r), reversed(g), reversed(b)};
  }
  [[nodiscard]] HWY_INLINE Pixels swapped() const { return {b, g, r}; }
  HWY_INLINE void store(std::uint8_t* rgb) const { hn::StoreInterleaved3(r, g, b, D(), rgb); }
  HWY_INLINE void store_planes(std::uint8_t* planes, std::size_t stride) const {
    hn::StoreU(r, D(), planes);
    hn::StoreU(g, D(), planes + stride);
    hn::StoreU(b, D(), planes + 2 * stride);
  }
};

void mirror_gray(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for_pixels(
      count,
      [&](std::size_t x)
          HWY_ATTR { hn::StoreU(reversed(hn::LoadU(D(), in + count - 16 - x)), D(), out + x); },
      [&](std::size_t x) HWY_ATTR { out[x] = in[count - 1 - x]; });
}

#endif

void split(const std::uint8_t* rgb, std::size_t count, std::uint8_t* planes, std::size_t stride) {
  for_pixels(
      count,
      [&](std::size_t x) HWY_ATTR { Pixels::load(rgb + 3 * x).store_planes(planes + x, stride); },
      [&](std::size_t x) HWY_ATTR {
        for (std::size_t c = 0; c < 3; ++c) planes[x + c * stride] = rgb[3 * x + c];
      });
}

void join(const std::uint8_t* planes, std::size_t stride, std::size_t count, std::uint8_t* rgb) {
  for_pixels(
      count,
      [&](std::size_t x) HWY_ATTR { Pixels::load_planes(planes + x, stride).store(rgb + 3 * x); },
      [&](std::size_t x) HWY_ATTR {
        for (std::size_t c = 0; c < 3; ++c) rgb[3 * x + c] = planes[x + c * stride];
      });
}

void swap(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for_pixels(
      count, [&](std::size_t x) HWY_ATTR { Pixels::load(in + 3 * x).swapped().store(out + 3 * x); },
      [&](std::size_t x) HWY_ATTR {
        for (std::size_t c = 0; c < 3; ++c) out[3 * x + c] = in[3 * x + 2 - c];
      });
}

void mirror_planar(const std::uint8_t* rgb, std::size_t count, std::uint8_t* planes) {
  for_pixels(
      count,
      [&](std::size_t x) HWY_ATTR {
        Pixels::load(rgb + 3 * (count - 16 - x)).mirrored().store_planes(planes + x, count);
      },
      [&](std::size_t x) HWY_ATTR {
        for (std::size_t c = 0; c < 3; ++c) planes[x + c * count] = rgb[3 * (count - 1 - x) + c];
      });
}

void mirror_interleaved(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  for_pixels(
      count,
      [&](std::size_t x)
          HWY_ATTR { Pixels::load(in + 3 * (count - 16 - x)).mirrored().store(out + 3 * x); },
      [&](std::size_t x) HWY_ATTR {
        for (std::size_t c = 0; c < 3; ++c) out[3 * x + c] = in[3 * (count - 1 - x) + c];
      });
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(split);
HWY_EXPORT(join);
HWY_EXPORT(swap);
HWY_EXPORT(mirror_gray);
HWY_EXPORT(mirror_planar);
HWY_EXPORT(mirror_interleaved);

void deinterleave(const std::uint8_t* rgb, std::size_t pixel_count, std::uint8_t* planes,
                  std::size_t plane_stride) {
  HWY_DYNAMIC_DISPATCH(split)(rgb, pixel_count, planes, plane_stride);
}

void interleave(const std::uint8_t* planes, std::size_t plane_stride, std::size_t pixel_count,
                std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(join)(planes, plane_stride, pixel_count, rgb);
}

void swap_red_and_blue(const std::uint8_t* in, std::size_t pixel_count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(swap)(in, pixel_count, out);
}

void mirror(const std::uint8_t* pixels, std::size_t pixel_count, std::size_t channels, bool planar,
            std::uint8_t* out) {
  if (channels == 1) {
    HWY_DYNAMIC_DISPATCH(mirror_gray)(pixels, pixel_count, out);
  } else if (planar) {
    HWY_DYNAMIC_DISPATCH(mirror_planar)(pixels, pixel_count, out);
  } else {
    HWY_DYNAMIC_DISPATCH(mirror_interleaved)(pixels, pixel_count, out);
  }
}

}  // namespace batchcast::inline v0_1::detail
#endif

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/warp_filters.hpp"

#include "data/pixels/warp_pixels.hpp"

#include <algorithm>

// Vectors whose length is unknown at compile time are not what the rest is made for.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/pixels/warp_filters.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h
#include <hwy/highway.h>

// PIL's filters (libImaging/Geometry.c), with PIL's order and precision in each step.
HWY_BEFORE_NAMESPACE();
namespace batchcast::inline v0_1::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A pixel's channels side by side, in one vector or two.
using DF = hn::CappedTag<double, 4>;
using DI = hn::Rebind<std::int32_t, DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
constexpr std::size_t lanes = hn::MaxLanes(DF());

HWY_INLINE VI levels(const std::uint8_t* at) {
  const hn::Rebind<std::uint8_t, DF> d8;
  return hn::PromoteTo(DI(), hn::LoadU(d8, at));
}

HWY_INLINE VF wide(VI values) { return hn::PromoteTo(DF(), values); }

// Cuts levels off, and stores the pixel's channels from `first` on.
HWY_INLINE void store_levels(VF values, std::size_t first, std::uint8_t* out) {
  const VF clamped = hn::Min(hn::Max(values, hn::Zero(DF())), hn::Set(DF(), 255.0));
  std::array<std::int32_t, lanes> made;
  hn::StoreU(hn::DemoteTo(DI(), clamped), DI(), made.data());
  for (std::size_t i = 0; i < lanes && first + i < 3; ++i) {
    out[first + i] = static_cast<std::uint8_t>(made[i]);
  }
}

/// A place between pixels: the whole ones to the left and above, and the distance beyond them.
struct Between {
  std::int32_t x = 0;
  std::int32_t y = 0;
  double dx = 0;
  double dy = 0;
};

Between between(double x, double y) noexcept {
  x -= 0.5;
  y -= 0.5;
  const auto floor = [](double v) { return v < 0 ? -1 : static_cast<std::int32_t>(v); };
  const std::int32_t left = floor(x);
  const std::int32_t top = floor(y);
  return {left, top, x - left, y - top};
}

struct Nearest {
  template <std::size_t channels>
  static void store(const Pixels<channels>& in, double x, double y, std::uint8_t* out) noexcept {
    in.copy(whole(x), whole(y), out);
  }
};

struct Bilinear {
  // For three channels, with an unused byte after them.
  static void store_inside(const std::uint8_t* above, const std::uint8_t* below, const Between& at,
                           std::uint8_t* out) noexcept {
    const auto mix = [&at](const std::uint8_t* row, std::size_t c) HWY_ATTR {
      const VI left = levels(row + c);
      const VI step = hn::Sub(levels(row + 3 + c), left);
      return hn::Add(wide(left), hn::Mul(wide(step), hn::Set(DF(), at.dx)));
    };
    for (std::size_t c = 0; c < 4; c += lanes) {
      const VF first = mix(above, c);
      const VF step = hn::Sub(mix(below, c), first);
      store_levels(hn::Add(first, hn::Mul(step, hn::Set(DF(), at.dy))), c, out);
    }
  }
  template <std::size_t channels>
  static void store(const Pixels<channels>& in, double x, double y, std::uint8_t* out) noexcept {
    if (!in.holds(x, y)) return in.store_fill(out);
    const Between at = between(x, y);
    if (channels == 3 && at.x >= 0 && at.y >= 0 && at.x < in.width - 2 && at.y < in.height - 1) {
      return store_inside(in.row(at.y) + 3 * at.x, in.row(at.y + 1) + 3 * at.x, at, out);
    }
    const auto column = [&](std::int32_t i) {
      return static_cast<std::size_t>(std::clamp(i, 0, in.width - 1)) * channels;
    };
    const std::size_t left = column(at.x);
    const std::size_t right = column(at.x + 1);
    const std::uint8_t* above = in.row(std::clamp(at.y, 0, in.height - 1));
    const std::uint8_t* below = in.row(std::min(at.y + 1, in.height - 1));
    for (std::size_t c = 0; c < channels; ++c) {
      const auto mix = [&](const std::uint8_t* row) {
        return row[left + c] + (row[right + c] - row[left + c]) * at.dx;
      };
      const double first = mix(above);
      out[c] = static_cast<std::uint8_t>(first + (mix(below) - first) * at.dy);
    }
  }
};

struct Bicubic {
  // Levels are whole numbers, whose sums are exact.
  template <class Value>
  static double cubic(Value v1, Value v2, Value v3, Value v4, double d) noexcept {
    const double p2 = -v1 + v3;
    const double p3 = 2 * (v1 - v2) + v3 - v4;
    const double p4 = -v1 + v2 - v3 + v4;
    return v2 + d * (p2 + d * (p3 + d * p4));
  }
  static VF along(const std::uint8_t* at, double d) noexcept {
    const VI v1 = levels(at);
    const VI v2 = levels(at + 3);
    const VI v3 = levels(at + 6);
    const VI v4 = levels(at + 9);
    const VI back = hn::Sub(v1, v2);
    const VI ahead = hn::Sub(v3, v4);
    const VF by = hn::Set(DF(), d);
    const VF p2 = wide(hn::Sub(v3, v1));
    const VF p3 = wide(hn::Add(hn::Add(back, back), ahead));
    const VF p4 = wide(hn::Neg(hn::Add(back, ahead)));
    const VF curve = hn::Add(p2, hn::Mul(by, hn::Add(p3, hn::Mul(by, p4))));
    return hn::Add(wide(v2), hn::Mul(by, curve));
  }
  // The same for numbers that are not whole, in PIL's order.
  static VF down(VF v1, VF v2, VF v3, VF v4, double d) noexcept {
    const VF by = hn::Set(DF(), d);
    const VF back = hn::Sub(v1, v2);
    const VF p2 = hn::Sub(v3, v1);
    const VF p3 = hn::Sub(hn::Add(hn::Add(back, back), v3), v4);
    const VF p4 = hn::Add(hn::Sub(hn::Sub(v2, v1), v3), v4);
    const VF curve = hn::Add(p2, hn::Mul(by, hn::Add(p3, hn::Mul(by, p4))));
    return hn::Add(v2, hn::Mul(by, curve));
  }
  // For three channels, with an unused byte after them.
  static void store_inside(const std::uint8_t* first, std::size_t stride, const Between& at,
                           std::uint8_t* out) noexcept {
    for (std::size_t c = 0; c < 4; c += lanes) {
      const std::uint8_t* row = first + c;
      const VF v1 = along(row, at.dx);
      const VF v2 = along(row + stride, at.dx);
      const VF v3 = along(row + 2 * stride, at.dx);
      const VF v4 = along(row + 3 * stride, at.dx);
      store_levels(down(v1, v2, v3, v4, at.dy), c, out);
    }
  }
  template <std::size_t channels>
  static void store(const Pixels<channels>& in, double x, double y, std::uint8_t* out) noexcept {
    if (!in.holds(x, y)) return in.store_fill(out);
    const Between at = between(x, y);
    if (channels == 3 && at.x >= 1 && at.y >= 1 && at.x < in.width - 3 && at.y < in.height - 2) {
      return store_inside(in.row(at.y - 1) + 3 * (at.x - 1), static_cast<std::size_t>(in.width) * 3,
                          at, out);
    }
    std::array<std::size_t, 4> columns{};
    std::array<const std::uint8_t*, 4> rows{};
    for (std::int32_t i = 0; i < 4; ++i) {
      const auto k = static_cast<std::size_t>(i);
      columns[k] = static_cast<std::size_t>(std::clamp(at.x - 1 + i, 0, in.width - 1)) * channels;
      rows[k] = in.row(std::clamp(at.y - 1 + i, 0, in.height - 1));
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const auto in_row = [&](const std::uint8_t* row) {
        const auto level = [&](std::size_t i) { return int{row[columns[i] + c]}; };
        return cubic(level(0), level(1), level(2), level(3), at.dx);
      };
      const double value =
          cubic(in_row(rows[0]), in_row(rows[1]), in_row(rows[2]), in_row(rows[3]), at.dy);
      out[c] = value <= 0 ? 0 : value >= 255 ? 255 : static_cast<std::uint8_t>(value);
    }
  }
};

// `map` gives the place in the input for the middle of a pixel.
template <class Filter, std::size_t channels, class Map>
void transform(const Pixels<channels>& in, std::uint8_t* out, Map map) noexcept {
  for (std::int32_t y = 0; y < in.height; ++y) {
    const auto place = map(y + 0.5);
    for (std::int32_t x = 0; x < in.width; ++x, out += channels) {
      const Point at = place(x + 0.5);
      Filter::template store<channels>(in, at[0], at[1], out);
    }
  }
}

template <class Filter, std::size_t channels>
void transform_affine(const Pixels<channels>& in, std::uint8_t* out,
                      const AffineMatrix& a) noexcept {
  transform<Filter>(in, out, [&a](double y) {
    return [&a, by_y = Point{a[1] * y, a[4] * y}](double x) {
      return Point{a[0] * x + by_y[0] + a[2], a[3] * x + by_y[1] + a[5]};
    };
  });
}

template <class Filter, std::size_t channels>
void transform_perspective(const Pixels<channels>& in, std::uint8_t* out,
                           const PerspectiveMatrix& a) noexcept {
  transform<Filter>(in, out, [&a](double y) {
    return [&a, y](double x) {
      const double depth = a[6] * x + a[7] * y + 1;
      return Point{(a[0] * x + a[1] * y + a[2]) / depth, (a[3] * x + a[4] * y + a[5]) / depth};
    };
  });
}

}  // namespace

void affine(const ImageView& in, const ImageView& out, const AffineMatrix& matrix,
            const WarpOptions& options) {
  with_channels(in, options, [&](const auto& pixels) {
    if (options.interpolation == Interpolation::bicubic) {
      transform_affine<Bicubic>(pixels, out.data, matrix);
    } else {
      transform_affine<Bilinear>(pixels, out.data, matrix);
    }
  });
}

void perspective(const ImageView& in, const ImageView& out, const PerspectiveMatrix& matrix,
                 const WarpOptions& options) {
  with_channels(in, options, [&](const auto& pixels) {
    switch (options.interpolation) {
      case Interpolation::bilinear:
        return transform_perspective<Bilinear>(pixels, out.data, matrix);
      case Interpolation::bicubic:
        return transform_perspective<Bicubic>(pixels, out.data, matrix);
      default:
        return transform_perspective<Nearest>(pixels, out.data, matrix);
    }
  });
}

}  // namespace batchcast::inline v0_1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace batchcast::inline v0_1::detail {

HWY_EXPORT(affine);
HWY_EXPORT(perspective);

void filter_affine(const ImageView& in, const ImageView& out, const AffineMatrix& matrix,
                   const WarpOptions& options) {
  HWY_DYNAMIC_DISPATCH(affine)(in, out, matrix, options);
}

void filter_perspective(const ImageView& in, const ImageView& out, const PerspectiveMatrix& matrix,
                        const WarpOptions& options) {
  HWY_DYNAMIC_DISPATCH(perspective)(in, out, matrix, options);
}

}  // namespace batchcast::inline v0_1::detail
#endif

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"
#include "data/pixels/warp_filters.hpp"
#include "data/pixels/warp_matrix.hpp"
#include "data/pixels/warp_pixels.hpp"

#include <cmath>
#include <cstring>

// PIL's transforms (libImaging/Geometry.c), with PIL's order and precision in each step.
namespace batchcast::inline v0_1::detail {
namespace {

// Without turning and shearing, places are sums, in which PIL's rounding shows.
template <std::size_t channels>
void scale_nearest(const Pixels<channels>& in, std::uint8_t* out, const AffineMatrix& a) noexcept {
  double y_in = a[5] + a[4] * 0.5;
  for (std::int32_t y = 0; y < in.height; ++y, y_in += a[4]) {
    double x_in = a[2] + a[0] * 0.5;
    for (std::int32_t x = 0; x < in.width; ++x, x_in += a[0], out += channels) {
      in.copy(whole(x_in), whole(y_in), out);
    }
  }
}

bool fits_fixed_point(const AffineMatrix& a, std::int32_t width, std::int32_t height) noexcept {
  const auto small = [&a](std::int32_t x, std::int32_t y) {
    return std::abs(x * a[0] + y * a[1] + a[2]) < 32768.0 &&
           std::abs(x * a[3] + y * a[4] + a[5]) < 32768.0;
  };
  return small(0, 0) && small(width, height) && small(0, height) && small(width, 0);
}

// Fixed-point numbers with 16 bits before the point and 16 after.
template <std::size_t channels>
void affine_fixed(const Pixels<channels>& in, std::uint8_t* out, const AffineMatrix& a) noexcept {
  const auto fixed = [](double v) {
    return static_cast<std::int64_t>(std::floor(v * 65536.0 + 0.5));
  };
  const std::array<std::int64_t, 4> by = {fixed(a[0]), fixed(a[1]), fixed(a[3]), fixed(a[4])};
  std::int64_t row_x = fixed(a[2] + a[0] * 0.5 + a[1] * 0.5);
  std::int64_t row_y = fixed(a[5] + a[3] * 0.5 + a[4] * 0.5);
  for (std::int32_t y = 0; y < in.height; ++y, row_x += by[1], row_y += by[3]) {
    std::int64_t at_x = row_x;
    std::int64_t at_y = row_y;
    for (std::int32_t x = 0; x < in.width; ++x, at_x += by[0], at_y += by[2], out += channels) {
      in.copy(at_x >> 16, at_y >> 16, out);
    }
  }
}

// For images whose sides are tens of thousands of pixels.
template <std::size_t channels>
void affine_wide(const Pixels<channels>& in, std::uint8_t* out, const AffineMatrix& a) noexcept {
  double row_x = a[2] + a[1] * 0.5 + a[0] * 0.5;
  double row_y = a[5] + a[4] * 0.5 + a[3] * 0.5;
  for (std::int32_t y = 0; y < in.height; ++y, row_x += a[1], row_y += a[4]) {
    double at_x = row_x;
    double at_y = row_y;
    for (std::int32_t x = 0; x < in.width; ++x, at_x += a[0], at_y += a[3], out += channels) {
      in.copy(whole(at_x), whole(at_y), out);
    }
  }
}

template <std::size_t channels>
void affine_nearest(const Pixels<channels>& in, std::uint8_t* out, const AffineMatrix& a) noexcept {
  if (a[1] == 0 && a[3] == 0) {
    scale_nearest(in, out, a);
  } else if (fits_fixed_point(a, in.width, in.height)) {
    affine_fixed(in, out, a);
  } else {
    affine_wide(in, out, a);
  }
}

// Quarter turns about the middle only move pixels: the one at (x, y) comes from `from`.
template <class From>
void move_pixels(const ImageView& in, const ImageView& out, From from) noexcept {
  const auto channels = static_cast<std::size_t>(in.channels);
  const auto width = static_cast<std::size_t>(in.size.width);
  std::uint8_t* to = out.data;
  for (std::int32_t y = 0; y < in.size.height; ++y) {
    for (std::int32_t x = 0; x < in.size.width; ++x, to += channels) {
      const std::array<std::int32_t, 2> place = from(x, y);
      std::memcpy(to,
                  in.data + (static_cast<std::size_t>(place[1]) * width +
                             static_cast<std::size_t>(place[0])) *
                                channels,
                  channels);
    }
  }
}

bool turn_by_quarters(const ImageView& in, const ImageView& out, double degrees) noexcept {
  using Place = std::array<std::int32_t, 2>;
  const std::int32_t right = in.size.width - 1;
  const std::int32_t bottom = in.size.height - 1;
  if (degrees == 0) {
    std::memcpy(out.data, in.data, in.byte_count());
  } else if (degrees == 180) {
    move_pixels(in, out, [&](std::int32_t x, std::int32_t y) {
      return Place{right - x, bottom - y};
    });
  } else if (degrees == 90 && right == bottom) {
    move_pixels(in, out, [&](std::int32_t x, std::int32_t y) { return Place{right - y, x}; });
  } else if (degrees == 270 && right == bottom) {
    move_pixels(in, out, [&](std::int32_t x, std::int32_t y) { return Place{y, bottom - x}; });
  } else {
    return false;
  }
  return true;
}

}  // namespace

void warp_affine(const ImageView& in, const ImageView& out, const AffineMatrix& matrix,
                 const WarpOptions& options) noexcept {
  if (options.interpolation != Interpolation::nearest) {
    return filter_affine(in, out, matrix, options);
  }
  with_channels(in, options, [&](const auto& pixels) { affine_nearest(pixels, out.data, matrix); });
}

void warp_perspective(const ImageView& in, const ImageView& out, const PerspectiveMatrix& matrix,
                      const WarpOptions& options) noexcept {
  filter_perspective(in, out, matrix, options);
}

void rotate(const ImageView& in, const ImageView& out, double degrees,
            const std::optional<Point>& center, const WarpOptions& options) noexcept {
  degrees = within_a_turn(degrees);
  if (!center && turn_by_quarters(in, out, degrees)) return;
  warp_affine(in, out, rotation_matrix(in.size, degrees, center), options);
}

void shear_x(const ImageView& in, const ImageView& out, double magnitude,
             const WarpOptions& options) noexcept {
  warp_affine(in, out,
              affine_matrix(in.size, {.shear = {shear_degrees(magnitude), 0}, .center = Point{}}),
              options);
}

void shear_y(const ImageView& in, const ImageView& out, double magnitude,
             const WarpOptions& options) noexcept {
  warp_affine(in, out,
              affine_matrix(in.size, {.shear = {0, shear_degrees(magnitude)}, .center = Point{}}),
              options);
}

void translate_x(const ImageView& in, const ImageView& out, double pixels,
                 const WarpOptions& options) noexcept {
  warp_affine(in, out, affine_matrix(in.size, {.translate = {std::trunc(pixels), 0}}), options);
}

void translate_y(const ImageView& in, const ImageView& out, double pixels,
                 const WarpOptions& options) noexcept {
  warp_affine(in, out, affine_matrix(in.size, {.translate = {0, std::trunc(pixels)}}), options);
}

}  // namespace batchcast::inline v0_1::detail

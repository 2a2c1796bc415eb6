// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/operations.hpp"
#include "data/image/warp_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

// PIL's transforms (libImaging/Geometry.c), each step in the precision and order that it has there.
namespace batchcast::inline v0_1::detail {
namespace {

/// An image of so many channels, and what is written instead of what it lacks.
template <std::size_t channels>
struct Pixels {
  const std::uint8_t* data = nullptr;
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::array<std::uint8_t, 3> fill{};

  [[nodiscard]] const std::uint8_t* row(std::int32_t y) const noexcept {
    return data + static_cast<std::size_t>(y) * static_cast<std::size_t>(width) * channels;
  }
  [[nodiscard]] bool holds(double x, double y) const noexcept {
    return x >= 0 && x < width && y >= 0 && y < height;
  }
  void copy(std::int64_t x, std::int64_t y, std::uint8_t* out) const noexcept {
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    const std::uint8_t* from =
        inside ? row(static_cast<std::int32_t>(y)) + static_cast<std::size_t>(x) * channels
               : fill.data();
    std::memcpy(out, from, channels);
  }
  void store_fill(std::uint8_t* out) const noexcept { std::memcpy(out, fill.data(), channels); }
};

// Below 0 there is no pixel, and beyond what an int holds neither.
std::int64_t whole(double value) noexcept {
  return value >= 0 && value < 0x1p31 ? static_cast<std::int64_t>(value) : -1;
}

/// A place between pixels: the whole ones to the left and above, and how far beyond them it lies.
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
  template <std::size_t channels>
  static void store(const Pixels<channels>& in, double x, double y, std::uint8_t* out) noexcept {
    if (!in.holds(x, y)) return in.store_fill(out);
    const Between at = between(x, y);
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
  template <std::size_t channels>
  static void store(const Pixels<channels>& in, double x, double y, std::uint8_t* out) noexcept {
    if (!in.holds(x, y)) return in.store_fill(out);
    const Between at = between(x, y);
    std::array<std::size_t, 4> columns{};
    std::array<const std::uint8_t*, 4> rows{};
    for (std::int32_t i = 0; i < 4; ++i) {
      const auto k = static_cast<std::size_t>(i);
      columns[k] = static_cast<std::size_t>(std::clamp(at.x - 1 + i, 0, in.width - 1)) * channels;
      rows[k] = in.row(std::clamp(at.y - 1 + i, 0, in.height - 1));
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const auto along = [&](const std::uint8_t* row) {
        const auto level = [&](std::size_t i) { return int{row[columns[i] + c]}; };
        return cubic(level(0), level(1), level(2), level(3), at.dx);
      };
      const double value =
          cubic(along(rows[0]), along(rows[1]), along(rows[2]), along(rows[3]), at.dy);
      out[c] = value <= 0 ? 0 : value >= 255 ? 255 : static_cast<std::uint8_t>(value);
    }
  }
};

// `map` gives the place in the input of the middle of a pixel.
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

// Neither turned nor sheared: places are sums, which PIL's rounding shows in.
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

// In 16 bits before the point and 16 behind it.
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

// Of images whose sides are tens of thousands of pixels.
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

template <class Visit>
void with_channels(const ImageView& image, const WarpOptions& options, Visit visit) noexcept {
  if (image.channels == 1) {
    visit(Pixels<1>{image.data, image.size.width, image.size.height, options.fill});
  } else {
    visit(Pixels<3>{image.data, image.size.width, image.size.height, options.fill});
  }
}

// Turned by quarters about the middle, pixels are only moved: the one at (x, y) comes from `from`.
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
  with_channels(in, options, [&](const auto& pixels) {
    switch (options.interpolation) {
      case Interpolation::bilinear:
        return transform_affine<Bilinear>(pixels, out.data, matrix);
      case Interpolation::bicubic:
        return transform_affine<Bicubic>(pixels, out.data, matrix);
      default:
        return affine_nearest(pixels, out.data, matrix);
    }
  });
}

void warp_perspective(const ImageView& in, const ImageView& out, const PerspectiveMatrix& matrix,
                      const WarpOptions& options) noexcept {
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

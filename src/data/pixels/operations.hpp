// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/color_adjust.hpp"

#include <batchcast/data/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// What stages and augmentation policies do to pixels, with given magnitudes and PIL's bytes.
// Saturation is what PIL.ImageEnhance calls Color (color_adjust.hpp).
namespace batchcast::inline v0_1::detail {

// The first ones work in place, on 1 or 3 channels.

/// ImageOps.posterize: keeps that many high bits, 0 to 8.
void posterize(const ImageView& image, int bits) noexcept;
/// ImageOps.solarize: inverts levels from the threshold on.
void solarize(const ImageView& image, double threshold) noexcept;
/// Adds to levels below the threshold, up to 255: the operation of policies for ImageNet.
void solarize_add(const ImageView& image, int addition, int threshold = 128) noexcept;
/// ImageOps.autocontrast: each channel's lowest level becomes 0, its highest 255.
void autocontrast(const ImageView& image) noexcept;
/// ImageOps.equalize, of each channel.
void equalize(const ImageView& image) noexcept;
void invert(const ImageView& image) noexcept;
/// Channel c of the result is channel order[c]; for 3 channels.
void permute_channels(const ImageView& image, const std::array<std::uint8_t, 3>& order) noexcept;

[[nodiscard]] std::size_t sharpness_scratch_bytes(ImageSize size, std::int32_t channels) noexcept;
/// ImageEnhance.Sharpness: 0 smooths, 1 changes nothing, more sharpens. `scratch` is aligned.
void adjust_sharpness(const ImageView& image, double factor, std::span<std::byte> scratch) noexcept;

// These write another image of the same size and channels, in other memory.

struct WarpOptions {
  Interpolation interpolation = Interpolation::nearest;  ///< or bilinear, bicubic
  std::array<std::uint8_t, 3> fill{};                    ///< of what lies beyond the image
};

/// (x, y) of the output comes from (a x + b y + c, d x + e y + f) of the input.
using AffineMatrix = std::array<double, 6>;
/// Image.transform(AFFINE).
void warp_affine(const ImageView& in, const ImageView& out, const AffineMatrix& matrix,
                 const WarpOptions& options) noexcept;

/// (x, y) comes from (a x + b y + c, d x + e y + f) / (g x + h y + 1).
using PerspectiveMatrix = std::array<double, 8>;
/// Image.transform(PERSPECTIVE).
void warp_perspective(const ImageView& in, const ImageView& out, const PerspectiveMatrix& matrix,
                      const WarpOptions& options) noexcept;

using Point = std::array<double, 2>;

/// As the parameters of torchvision's affine(). Angles are degrees, clockwise.
struct AffineParameters {
  double angle = 0;
  Point translate{};
  double scale = 1;
  Point shear{};
  std::optional<Point> center = std::nullopt;  ///< empty: the image's
};
/// The matrix by which torchvision's affine() transforms.
[[nodiscard]] AffineMatrix affine_matrix(ImageSize size,
                                         const AffineParameters& parameters) noexcept;

/// Image.rotate: counterclockwise, in degrees.
void rotate(const ImageView& in, const ImageView& out, double degrees,
            const std::optional<Point>& center, const WarpOptions& options) noexcept;

// As torchvision's policies shear and translate. They shear about the corner, by the tangent of an
// angle. They translate by whole pixels, cut off towards 0.
void shear_x(const ImageView& in, const ImageView& out, double magnitude,
             const WarpOptions& options) noexcept;
void shear_y(const ImageView& in, const ImageView& out, double magnitude,
             const WarpOptions& options) noexcept;
void translate_x(const ImageView& in, const ImageView& out, double pixels,
                 const WarpOptions& options) noexcept;
void translate_y(const ImageView& in, const ImageView& out, double pixels,
                 const WarpOptions& options) noexcept;

/// The corners from the upper left clockwise, x and y.
using Corners = std::array<std::array<std::int32_t, 2>, 4>;
/// The matrix that takes the image's corners to these, in single precision as torchvision has it.
/// Nothing where three of them lie on a line.
[[nodiscard]] std::optional<PerspectiveMatrix> perspective_matrix(ImageSize size,
                                                                  const Corners& to) noexcept;

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/dtype.hpp>
#include <batchcast/data/geometry.hpp>
#include <batchcast/data/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

// One pass over pixels: resize, window, padding, flips, normalising, type and layout together.
namespace batchcast::inline v0_1::detail {

/// How u8 pixels become elements: element = pixel × scale + bias in f32, product and sum rounded,
/// then to `dtype`. Values of f16 and bf16 are rounded to nearest even. As u8 and u16 they are the
/// pixels themselves.
struct PixelFormat {
  DType dtype = DType::u8;  ///< u8, f16, bf16 or f32; u16 of pixels that a PixelMover moves
  ImageLayout layout = ImageLayout::hwc;
  std::array<float, 4> scale{1, 1, 1, 1};  ///< of each channel
  std::array<float, 4> bias{};
  bool bgr = false;  ///< RGB comes out as BGR, whose channels scale and bias count

  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Makes image after image; each thread has one. The caller pushes rows as they are decoded, and
/// complete rows are written to `out`: there is no intermediate image. It resizes as PIL does, with
/// the geometry's filter. Coefficients have 22 bits, and between the two passes, in the geometry's
/// order, pixels are u8. So every SIMD level gives the same bytes. It allocates only while sizes
/// grow.
class Resampler {
 public:
  Resampler();
  ~Resampler();
  Resampler(const Resampler&) = delete;
  Resampler& operator=(const Resampler&) = delete;

  /// Begins an image of `channels` (1 or 3). The output `out` (dense, output() × channels elements)
  /// must stay valid until all rows are pushed. Returns the part of the image whose rows it wants:
  /// at least one pixel, even where only padding is shown.
  [[nodiscard]] Box begin(const Geometry& geometry, std::int32_t channels,
                          const PixelFormat& format, std::byte* out);

  /// Takes the next `count` rows of that part, interleaved channels, `stride` bytes apart. After
  /// the last row the output is complete.
  void push(const std::uint8_t* rows, std::size_t stride, std::size_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchcast::inline v0_1::detail

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

/// How u8 pixels become elements: element = pixel × scale + bias in f32, product and sum each
/// rounded, then to `dtype` (f16 and bf16 to nearest even). u8 and u16 are the pixels themselves.
struct PixelFormat {
  DType dtype = DType::u8;  ///< u8, f16, bf16 or f32; u16 of pixels that a PixelMover moves
  ImageLayout layout = ImageLayout::hwc;
  std::array<float, 4> scale{1, 1, 1, 1};  ///< of each channel
  std::array<float, 4> bias{};

  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Makes image after image; one for each thread. Rows are pushed as they are decoded, and what is
/// complete is written to `out`: no intermediate image. Resizing is PIL's, with the filter
/// that the geometry says: coefficients of 22 bits, u8 between the horizontal and the vertical pass
/// in the order that the geometry says, so every SIMD level gives the same bytes. Allocates only
/// while sizes grow.
class Resampler {
 public:
  Resampler();
  ~Resampler();
  Resampler(const Resampler&) = delete;
  Resampler& operator=(const Resampler&) = delete;

  /// Begins an image of `channels` (1 or 3), whose output `out` (dense, output() × channels
  /// elements) must stay until all rows are pushed. Returns the part of the image whose rows it
  /// wants, at least one pixel, also where padding alone is shown.
  [[nodiscard]] Box begin(const Geometry& geometry, std::int32_t channels,
                          const PixelFormat& format, std::byte* out);

  /// The next `count` rows of that part, interleaved channels, `stride` bytes apart. After the last
  /// one the output is complete.
  void push(const std::uint8_t* rows, std::size_t stride, std::size_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchcast::inline v0_1::detail

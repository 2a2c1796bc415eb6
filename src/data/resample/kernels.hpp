// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample/coefficients.hpp"

#include <batchcast/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// The loops over pixels, at the best SIMD level of this machine; every level gives the same bytes.
// Planar means one channel after the other.
namespace batchcast::inline v0_1::detail {

/// Rows that the horizontal pass takes at once; fewer cost as much.
inline constexpr std::size_t tile_rows = 16;
/// Functions may write this many bytes beyond the end of our rows.
inline constexpr std::size_t row_slack = 64;

/// One tile through the horizontal pass.
struct HorizontalTile {
  const std::uint8_t* rows = nullptr;  ///< interleaved; nothing beyond is read
  std::size_t stride = 0;
  std::size_t row_count = 0;  ///< 1 to tile_rows
  std::size_t row_bytes = 0;
  std::size_t channels = 0;
  const AxisTaps* axis = nullptr;
  std::int32_t first_input = 0;  ///< of the axis, where the rows begin
  std::int32_t first_output = 0;
  std::size_t output_count = 0;  ///< pixels
  bool mirrored = false;
  /// Scratch of horizontal_scratch_bytes().
  std::uint8_t* columns = nullptr;
  std::array<std::uint8_t*, tile_rows> out{};  ///< planar; all of them, with slack
};
void resample_horizontally(const HorizontalTile& tile);

/// Taps of weight zero reach beyond a row, and whole vectors beyond those taps.
[[nodiscard]] constexpr std::size_t horizontal_scratch_bytes(std::size_t row_bytes,
                                                             std::size_t channels,
                                                             std::int32_t taps_max) noexcept {
  return (row_bytes + channels * static_cast<std::size_t>(taps_max) + row_slack) * tile_rows;
}

/// The vertical pass for one row, or a part of one.
struct VerticalRow {
  const std::uint8_t* const* rows = nullptr;  ///< as many as taps; nothing beyond is read
  const std::int32_t* weights = nullptr;
  std::size_t tap_count = 0;
  bool overshoots = false;  ///< as of AxisTaps
  std::size_t first = 0;    ///< byte of each row
  std::size_t count = 0;
};
/// Touches nothing beyond, as all functions below.
void resample_vertically(const VerticalRow& row, std::uint8_t* out);
/// Where a planar row's elements go, one plane after the other.
struct ElementPlanes {
  std::array<float, 3> scale{};
  std::array<float, 3> bias{};
  std::size_t count = 1;
  DType dtype = DType::f32;  ///< f32, f16 or bf16
  std::byte* out = nullptr;
  std::size_t stride = 0;  ///< in bytes
};
/// Writes elements at once; `planes` begins at the row's first plane.
void resample_vertically(const VerticalRow& row, const ElementPlanes& planes);
/// f32 may have been stored past the caches, in no order. After this call, other threads see those
/// stores before any later one.
void finish_stores_past_caches();

/// Scales and biases that repeat with the element's number: 1 or 3 different ones.
struct AffinePattern {
  static constexpr std::size_t period = 3;
  static constexpr std::size_t lanes_max = 16;
  alignas(64) std::array<float, period + lanes_max> scale{};
  alignas(64) std::array<float, period + lanes_max> bias{};
};
/// Writes f32, f16 or bf16.
void store_elements(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
                    DType dtype, std::byte* out);

/// Planes are `plane_stride` bytes apart.
void deinterleave(const std::uint8_t* rgb, std::size_t pixel_count, std::uint8_t* planes,
                  std::size_t plane_stride);
void interleave(const std::uint8_t* planes, std::size_t plane_stride, std::size_t pixel_count,
                std::uint8_t* rgb);
/// Turns RGB into BGR, or the other way.
void swap_red_and_blue(const std::uint8_t* in, std::size_t pixel_count, std::uint8_t* out);
/// Reverses the pixels; `planar` says what it writes, planes `pixel_count` bytes apart.
void mirror(const std::uint8_t* pixels, std::size_t pixel_count, std::size_t channels, bool planar,
            std::uint8_t* out);

/// The SIMD levels of this machine, best first. For tests.
[[nodiscard]] std::vector<std::int64_t> simd_levels();
[[nodiscard]] std::string_view simd_level_name(std::int64_t level);
/// Uses only this level in the whole process from now on; 0 for the best. For tests.
void force_simd_level(std::int64_t level);

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/resample_coefficients.hpp"

#include <batchcast/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// The loops over pixels, at the best SIMD level of this machine; every level gives the same bytes.
namespace batchcast::detail {

/// Rows that the horizontal pass takes at once; fewer cost as much.
inline constexpr std::size_t tile_rows = 16;
/// Rows of ours may be read and written to the next multiple of it.
inline constexpr std::size_t row_slack = 64;

/// One tile through the horizontal pass.
struct HorizontalTile {
  const std::uint8_t* rows = nullptr;  ///< interleaved
  std::size_t stride = 0;
  std::size_t row_count = 0;  ///< 1 to tile_rows
  std::size_t row_bytes = 0;
  std::size_t channels = 0;
  std::int32_t first_input = 0;  ///< of `taps`, that the rows begin with
  const Taps* taps = nullptr;    ///< of the first output
  std::size_t output_count = 0;  ///< pixels
  const std::int32_t* weights = nullptr;
  bool planar = false;  ///< output rows are channel after channel
  bool mirrored = false;
  std::uint8_t* columns = nullptr;      ///< scratch: tile_rows for each byte of a row, and slack
  std::uint8_t* out_columns = nullptr;  ///< likewise of an output row
  std::array<std::uint8_t*, tile_rows> out{};  ///< all of them, with slack
};
void resample_horizontally(const HorizontalTile& tile);

/// `out` and `rows` have slack.
void resample_vertically(const std::uint8_t* const* rows, const std::int32_t* weights,
                         std::size_t tap_count, std::uint8_t* out, std::size_t byte_count);

/// One channel after the other, `plane_stride` bytes apart. Touches nothing beyond.
void deinterleave(const std::uint8_t* rgb, std::size_t pixel_count, std::uint8_t* planes,
                  std::size_t plane_stride);

/// Right to left; `planar` as deinterleave with the stride `pixel_count`.
void mirror(const std::uint8_t* pixels, std::size_t pixel_count, std::size_t channels, bool planar,
            std::uint8_t* out);

/// Scales and biases that repeat with the element's number: 1 or 3 different ones.
struct AffinePattern {
  static constexpr std::size_t period = 3;
  static constexpr std::size_t lanes_max = 64;
  alignas(64) std::array<float, period + lanes_max> scale{};
  alignas(64) std::array<float, period + lanes_max> bias{};
};
/// f32, f16 or bf16. Touches nothing beyond.
void store_elements(const std::uint8_t* in, std::size_t count, const AffinePattern& pattern,
                    DType dtype, std::byte* out);

/// The SIMD levels of this machine, best first. For tests.
[[nodiscard]] std::vector<std::int64_t> simd_levels();
[[nodiscard]] std::string_view simd_level_name(std::int64_t level);
/// From now on in the whole process this level only; 0 for the best. For tests.
void force_simd_level(std::int64_t level);

}  // namespace batchcast::detail

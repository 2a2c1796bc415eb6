// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

// From JPEG coefficients to pixels, at the best SIMD level of this machine. The bytes are those
// that libjpeg-turbo gives by default (JDCT_ISLOW, fancy upsampling) on x86. No function allocates
// or fails. In and out never overlap; nothing needs alignment.
namespace batchcast::inline v0_1::detail {

/// Functions may read and write this many arbitrary bytes beyond the end of rows of samples and
/// pixels. They touch nothing before the beginning.
inline constexpr std::size_t jpeg_row_slack = 64;

/// Inverse DCT of `count` blocks, 64 dequantised coefficients each, in natural order, back to back.
/// Block i goes to columns [8i, 8i+8) of eight rows that are `stride` apart. It reads and writes
/// nothing beyond, and is fastest where the blocks are aligned to 64 bytes.
void jpeg_inverse_dct(const std::int16_t* blocks, std::size_t count, std::uint8_t* out,
                      std::size_t stride);

/// Makes 2 * width samples of `width` (1 or more), with a triangle filter. Beyond both ends it
/// repeats the outermost sample. The caller handles what libjpeg does not interpolate (rows of 1 or
/// 2 samples).
void jpeg_upsample_h2v1(const std::uint8_t* in, std::size_t width, std::uint8_t* out);
/// The same after 3/4 of the near row and 1/4 of the far one.
void jpeg_upsample_h2v2(const std::uint8_t* near_row, const std::uint8_t* far_row,
                        std::size_t width, std::uint8_t* out);
/// 3/4 of the near row and 1/4 of the far one, `width` samples. `bias` is 1 for the upper of the
/// two rows that a row of samples becomes, 2 for the lower one.
void jpeg_upsample_h1v2(const std::uint8_t* near_row, const std::uint8_t* far_row, int bias,
                        std::size_t width, std::uint8_t* out);

/// `width` pixels, 3 bytes each.
void jpeg_rgb_from_ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                       std::size_t width, std::uint8_t* rgb);
void jpeg_rgb_from_gray(const std::uint8_t* y, std::size_t width, std::uint8_t* rgb);

}  // namespace batchcast::inline v0_1::detail

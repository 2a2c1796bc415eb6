// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// From JPEG coefficients to pixels and back, at the best SIMD level of this machine. The bytes are
// those that libjpeg-turbo gives by default (JDCT_ISLOW, fancy upsampling) on x86. No function
// allocates or fails. In and out never overlap; nothing needs alignment.
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

/// What a component's coefficients are divided by, in natural order, for jpeg_quantised_dct(). A
/// product of 16 bits with `reciprocals` and one with `scales` divide, as in libjpeg-turbo.
struct JpegQuantisation {
  alignas(64) std::array<std::uint16_t, 64> steps{};
  alignas(64) std::array<std::uint16_t, 64> roundings{};
  alignas(64) std::array<std::uint16_t, 64> reciprocals{};
  alignas(64) std::array<std::uint16_t, 64> scales{};
};

/// DCT of `count` blocks, which lie as jpeg_inverse_dct() writes them. Coefficients come as they
/// are after a file: rounded to multiples of the steps.
void jpeg_quantised_dct(const std::uint8_t* samples, std::size_t stride, std::size_t count,
                        const JpegQuantisation& quantisation, std::int16_t* blocks);

/// The mean of each two samples of a row. Halves are rounded down and up in turns, down first.
void jpeg_downsample_h2v1(const std::uint8_t* in, std::size_t width_out, std::uint8_t* out);
/// The mean of each square of four. A bias of 1 and 2 in turns rounds the sums.
void jpeg_downsample_h2v2(const std::uint8_t* upper, const std::uint8_t* lower,
                          std::size_t width_out, std::uint8_t* out);

/// `width` pixels, 3 bytes each.
void jpeg_ycc_from_rgb(const std::uint8_t* rgb, std::size_t width, std::uint8_t* y,
                       std::uint8_t* cb, std::uint8_t* cr);

/// `width` pixels, 3 bytes each.
void jpeg_rgb_from_ycc(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                       std::size_t width, std::uint8_t* rgb);
void jpeg_rgb_from_gray(const std::uint8_t* y, std::size_t width, std::uint8_t* rgb);

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/stage.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

// What is left of an image that was written as a JPEG and read again.
namespace batchcast::inline v0_1::detail {

/// How many pixels share one pair of colour samples: none, two in a row, or four in a square.
enum class JpegSampling : std::uint8_t { full, half_across, half };

struct JpegQuality {
  int quality = 75;  ///< 1 to 100, as libjpeg takes it
  JpegSampling sampling = JpegSampling::half;
};

/// Scratch of jpeg_recompress(), which has to be aligned to 64.
[[nodiscard]] std::size_t recompress_scratch_bytes(ImageSize size, std::int32_t channels,
                                                   JpegSampling sampling) noexcept;

/// Works in place, on RGB or gray. The bytes are those of libjpeg-turbo, which writes a baseline
/// file with its usual tables and reads it with its defaults, on x86. No file is made: what only
/// packs coefficients changes no pixel. Each thread may call it; it neither allocates nor fails.
void jpeg_recompress(const ImageView& image, const JpegQuality& quality,
                     std::span<std::byte> scratch);

}  // namespace batchcast::inline v0_1::detail

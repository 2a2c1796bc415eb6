// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

// Encoded bytes in, a window asked for, rows out. All that the rest knows of codecs.
namespace batchcast::detail {

enum class ImageFormat : std::uint8_t { jpeg, png, webp };

struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  ImageSize size;       ///< as stored: before orientation
  int orientation = 1;  ///< EXIF's 1 to 8; 1 where there is none
};

struct DecodeLimits {
  std::int64_t pixels_max = 0;
};

/// How `read` fills rows.
struct RowLayout {
  /// Pixels at a row's start that are left of the window.
  std::int32_t skip = 0;
  /// Bytes that a row takes, RGB; at least 3 × (skip + window.width).
  std::size_t byte_count = 0;
};

/// Decodes image after image; one for each thread. What comes out is RGB u8 and equals that part of
/// what PIL's `Image.open(…).convert("RGB")` gives, for JPEG bit for bit what libjpeg-turbo makes
/// of the whole image. Every failure is a BadSample whose text is the reason; the decoder may be
/// used again after it.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  /// Reads the header. `encoded` must stay until the last row is read.
  [[nodiscard]] ImageInfo open(std::span<const std::byte> encoded, const DecodeLimits& limits);

  /// JPEG only: what comes out is `scale` (1, 2, 4 or 8) times smaller in both directions, rounded
  /// up; returns that size. Between `open` and `start`.
  ImageSize scale_down(int scale);

  /// Prepares to decode `window`, inside the (scaled) image.
  [[nodiscard]] RowLayout start(const Box& window);

  /// The window's next rows, `stride` bytes apart, as many as there are up to `count`; how many.
  /// Call it with 8 to 32 rows: single ones cost a fifth more.
  [[nodiscard]] std::size_t read(std::uint8_t* rows, std::size_t stride, std::size_t count);

 private:
  class Codec;
  class Jpeg;
  class Png;
  class Webp;
  std::unique_ptr<Jpeg> jpeg_;
  std::unique_ptr<Png> png_;
  std::unique_ptr<Webp> webp_;
  Codec* current_ = nullptr;
};

}  // namespace batchcast::detail

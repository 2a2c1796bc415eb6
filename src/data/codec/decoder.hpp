// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>
#include <batchcast/data/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

// Encoded bytes in, a window asked for, rows out. All that the rest knows of codecs.
namespace batchcast::inline v0_1::detail {

class ImageCodec;

enum class ImageFormat : std::uint8_t { jpeg, png, webp };

struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  ImageSize size;       ///< as stored: before orientation
  int orientation = 1;  ///< EXIF's 1 to 8; 1 where there is none
  /// What stands in the file, alpha too; 0: what is no gray and no RGB, such as a palette.
  std::int32_t channels = 3;
  std::int32_t bits = 8;
};

struct DecodeLimits {
  std::int64_t pixels_max = 0;
  /// Not a limit, but what is asked for.
  PixelMode mode = PixelMode::rgb;
  std::int32_t channels = 3;  ///< of PixelMode::keep
  std::int32_t bits = 8;
};

/// How `read` fills rows.
struct RowLayout {
  /// Pixels at a row's start that are left of the window.
  std::int32_t skip = 0;
  /// Bytes that a row takes while it is decoded; at least 3 × (skip + window.width) of RGB, and as
  /// much of what becomes gray.
  std::size_t byte_count = 0;
};

/// Decodes image after image; one for each thread. What comes out is RGB u8 and equals that part of
/// what PIL's `Image.open(…).convert("RGB")` gives, or `convert("L")` where gray is asked for, for
/// JPEG bit for bit what libjpeg-turbo makes of the whole image. As there, alpha is dropped rather
/// than blended. Gray PNG of 16 bits is the exception: it keeps its high byte, where PIL's
/// `convert` makes everything above 255 white. With PixelMode::index it is what stands in a PNG of
/// one channel and at most 8 bits, be that a palette's ids or levels of gray; anything else is
/// refused. With PixelMode::keep it is what stands in the file, 16 bits as the machine has them, if
/// that is as many channels and bits as were asked for.
///
/// What PIL refuses is refused: truncated files, broken streams, 12 bits, more than `pixels_max`;
/// so are checksums of PNG that do not match, and animated WebP. Nothing below the window's last
/// row is read, so damage there goes unnoticed: whoever checks a file reads the whole image.
///
/// Every failure is a BadSample whose text is the reason; the decoder may be used again after it.
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

  /// The window's next rows, of three channels or one, `stride` bytes apart, as many as there are
  /// up to `count`; how many. Let no row begin at a multiple of 16: libjpeg-turbo stores pixels
  /// past the caches there, and who reads them next waits for memory.
  [[nodiscard]] std::size_t read(std::uint8_t* rows, std::size_t stride, std::size_t count);

 private:
  ImageCodec& codec_for(ImageFormat format);
  void close() noexcept;

  std::array<std::unique_ptr<ImageCodec>, 3> codecs_;  // by ImageFormat, made when first met
  ImageCodec* current_ = nullptr;                      // has an image open
  ImageSize size_;
  std::size_t rows_left_ = 0;  // once started
  bool turns_gray_ = false;
  std::size_t gray_pixels_ = 0;  // of a row that becomes gray; 0: none does
};

}  // namespace batchcast::inline v0_1::detail

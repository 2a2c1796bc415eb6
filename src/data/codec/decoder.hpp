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

// Takes encoded bytes and a window, and gives rows. Only this room knows codecs.
namespace batchcast::inline v0_1::detail {

class ImageCodec;

enum class ImageFormat : std::uint8_t { jpeg, png, webp };

struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  ImageSize size;       ///< as stored: before orientation
  int orientation = 1;  ///< EXIF's 1 to 8; 1 where there is none
  /// The channels in the file, with alpha. 0: neither gray nor RGB, such as a palette.
  std::int32_t channels = 3;
  std::int32_t bits = 8;
};

struct DecodeLimits {
  std::int64_t pixels_max = 0;
  /// This is no limit: it says what is asked for.
  PixelMode mode = PixelMode::rgb;
  std::int32_t channels = 3;  ///< of PixelMode::keep
  std::int32_t bits = 8;
};

/// How `read` fills rows.
struct RowLayout {
  /// Pixels at a row's start that lie left of the window.
  std::int32_t skip = 0;
  /// Bytes that a row takes while it is decoded: at least 3 × (skip + window.width) of RGB, and as
  /// many where RGB becomes gray.
  std::size_t byte_count = 0;
};

/// Decodes image after image; each thread has one. It makes RGB u8, equal to that part of PIL's
/// `Image.open(…).convert("RGB")`, or `convert("L")` where gray is asked for. For JPEG the bytes
/// are those that libjpeg-turbo makes of the whole image. As there, alpha is dropped rather than
/// blended. Gray PNG of 16 bits is the exception: it keeps its high byte, where PIL's `convert`
/// makes everything above 255 white. With PixelMode::index it gives the values in a PNG of one
/// channel and at most 8 bits: a palette's ids or levels of gray. Anything else is refused. With
/// PixelMode::keep it gives the values in the file, 16 bits in the machine's order. The file must
/// have as many channels and bits as were asked for.
///
/// It refuses what PIL refuses: truncated files, broken streams, 12 bits, more than `pixels_max`.
/// It also refuses PNG checksums that do not match, and animated WebP. It reads nothing below the
/// window's last row, so damage there goes unnoticed: to check a file, read the whole image.
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

  /// The same for an entry that KeptWriter made of a JPEG (jpeg/kept_writer.hpp), which gives that
  /// file's rows. kept_slack bytes behind `entry` must be readable. It cannot be scaled down.
  [[nodiscard]] ImageInfo open_kept(std::span<const std::byte> entry, const DecodeLimits& limits);

  /// JPEG only: makes the image `scale` (1, 2, 4 or 8) times smaller in both directions, rounded
  /// up, and returns that size. Call it between `open` and `start`.
  ImageSize scale_down(int scale);

  /// Prepares to decode `window`, inside the (scaled) image.
  [[nodiscard]] RowLayout start(const Box& window);

  /// Writes the window's next rows, of three channels or one, `stride` bytes apart, at most `count`
  /// of them; returns how many. Let no row begin at a multiple of 16: libjpeg-turbo stores pixels
  /// past the caches there, and the next reader waits for memory.
  [[nodiscard]] std::size_t read(std::uint8_t* rows, std::size_t stride, std::size_t count);

 private:
  ImageCodec& codec_for(ImageFormat format);
  ImageInfo open_by(ImageCodec& codec, std::span<const std::byte> bytes,
                    const DecodeLimits& limits);
  void close() noexcept;

  std::array<std::unique_ptr<ImageCodec>, 3> codecs_;  // by ImageFormat, made at first use
  std::unique_ptr<ImageCodec> kept_codec_;             // the same
  ImageCodec* current_ = nullptr;                      // has an image open
  ImageSize size_;
  std::size_t rows_left_ = 0;  // once started
  bool turns_gray_ = false;
  std::size_t gray_pixels_ = 0;  // of a row that becomes gray; 0: none does
};

}  // namespace batchcast::inline v0_1::detail

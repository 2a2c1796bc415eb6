// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/decoder.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "data/codec/codec.hpp"
#include "data/codec/format.hpp"
#include "data/luma.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

void require_pixels_within(const ImageSize& size, std::int64_t pixels_max) {
  const std::int64_t pixels = std::int64_t{size.width} * size.height;
  if (pixels <= pixels_max) return;
  throw BadSample(text("its header says {} x {}, which is {} pixels; the limit is {}", size.width,
                       size.height, pixels, pixels_max));
}

bool is_inside(const Box& window, const ImageSize& size) noexcept {
  return window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0 &&
         window.width <= size.width - window.x && window.height <= size.height - window.y;
}

void require_kept(const ImageInfo& found, const DecodeLimits& limits) {
  if (found.channels == limits.channels && found.bits == limits.bits) return;
  const std::string has = found.channels == 0
                              ? "has a palette, or colours that are not RGB"
                              : text("has {} channels of {} bits", found.channels, found.bits);
  throw BadSample(text("it {}, and its field keeps images of {} channels of {} bits", has,
                       limits.channels, limits.bits));
}

/// The result of `step`, or a BadSample, which leaves `codec` closed.
template <typename Step>
auto closing_on_failure(ImageCodec& codec, Step step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    codec.close();
    throw BadSample("there is not enough memory to decode it");
  } catch (...) {
    codec.close();
    throw;
  }
}

}  // namespace

ImageSize ImageCodec::scale_down(int /*scale*/) {
  constexpr bool is_jpeg = false;
  BATCHCAST_ASSERT(is_jpeg);
  return {};
}

void ImageCodec::want_ids() {
  throw BadSample(
      "its pixels are colours and no ids: a field with decode mode `index` takes PNG with a "
      "palette "
      "or of gray. Take mode `rgb` or `gray` if colours are what is meant");
}

ImageDecoder::ImageDecoder() = default;
ImageDecoder::~ImageDecoder() = default;

ImageCodec& ImageDecoder::codec_for(ImageFormat format) {
  constexpr std::array make = {&make_jpeg_codec, &make_png_codec, &make_webp_codec};
  std::unique_ptr<ImageCodec>& codec = codecs_[static_cast<std::size_t>(format)];
  if (!codec) codec = make[static_cast<std::size_t>(format)]();
  return *codec;
}

ImageInfo ImageDecoder::open(std::span<const std::byte> encoded, const DecodeLimits& limits) {
  close();
  const std::optional<ImageFormat> format = image_format_of(encoded);
  if (!format) {
    throw BadSample(text("neither JPEG, PNG nor WebP, but {}", describe_content(encoded)));
  }
  return open_by(codec_for(*format), encoded, limits);
}

ImageInfo ImageDecoder::open_kept(std::span<const std::byte> entry, const DecodeLimits& limits) {
  close();
  if (!kept_codec_) kept_codec_ = make_kept_codec();
  return open_by(*kept_codec_, entry, limits);
}

ImageInfo ImageDecoder::open_by(ImageCodec& codec, std::span<const std::byte> bytes,
                                const DecodeLimits& limits) {
  const ImageInfo info = closing_on_failure(codec, [&] {
    const ImageInfo found = codec.open(bytes);
    require_pixels_within(found.size, limits.pixels_max);
    if (limits.mode == PixelMode::index) codec.want_ids();
    if (limits.mode == PixelMode::keep) {
      require_kept(found, limits);
      codec.want_stored();
    }
    return found;
  });
  current_ = &codec;
  // All formats but PNG give gray images as RGB of equal levels.
  const bool keeps_gray = limits.mode == PixelMode::keep && limits.channels == 1;
  turns_gray_ = limits.mode == PixelMode::gray || (keeps_gray && info.format != ImageFormat::png);
  size_ = info.size;
  return info;
}

ImageSize ImageDecoder::scale_down(int scale) {
  BATCHCAST_ASSERT(current_ != nullptr && rows_left_ == 0);
  BATCHCAST_ASSERT(scale == 1 || scale == 2 || scale == 4 || scale == 8);
  size_ = current_->scale_down(scale);
  return size_;
}

RowLayout ImageDecoder::start(const Box& window) {
  BATCHCAST_ASSERT(current_ != nullptr && rows_left_ == 0);
  BATCHCAST_ASSERT(is_inside(window, size_));
  ImageCodec& codec = *std::exchange(current_, nullptr);
  const RowLayout layout = closing_on_failure(codec, [&] { return codec.start(window); });
  current_ = &codec;
  rows_left_ = static_cast<std::size_t>(window.height);
  gray_pixels_ = turns_gray_ ? static_cast<std::size_t>(layout.skip + window.width) : 0;
  return layout;
}

std::size_t ImageDecoder::read(std::uint8_t* rows, std::size_t stride, std::size_t count) {
  count = std::min(count, rows_left_);
  if (count == 0) return 0;
  ImageCodec& codec = *current_;
  const std::size_t left = std::exchange(rows_left_, 0) - count;
  current_ = nullptr;
  closing_on_failure(codec, [&] { codec.read(rows, stride, count); });
  for (std::size_t r = 0; r < count; ++r) {
    // This works in place: no pixel is written before it is read.
    std::uint8_t* const row = rows + r * stride;
    for (std::size_t x = 0; x < gray_pixels_; ++x) row[x] = luma(row + 3 * x);
  }
  if (left == 0) {
    codec.close();
  } else {
    current_ = &codec;
    rows_left_ = left;
  }
  return count;
}

void ImageDecoder::close() noexcept {
  if (current_ != nullptr) current_->close();
  current_ = nullptr;
  rows_left_ = 0;
}

}  // namespace batchcast::inline v0_1::detail

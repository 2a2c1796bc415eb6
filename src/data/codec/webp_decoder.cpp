// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "data/codec/codec.hpp"
#include "data/codec/exif.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t riff_header_bytes = 12;
constexpr std::size_t chunk_header_bytes = 8;

const std::uint8_t* as_u8(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

void require(VP8StatusCode status) {
  const char* reason = "its data are corrupt";
  switch (status) {
    case VP8_STATUS_OK:
      return;
    case VP8_STATUS_OUT_OF_MEMORY:
      throw std::bad_alloc();
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      reason = "it is truncated";
      break;
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      reason = "it uses a feature that libwebp does not know";
      break;
    default:
      break;
  }
  throw BadSample(text("the WebP cannot be decoded: {}", reason));
}

int orientation_in_webp(std::span<const std::byte> webp) noexcept {
  std::span<const std::byte> rest = webp.subspan(riff_header_bytes);
  while (rest.size() >= chunk_header_bytes) {
    std::size_t length = 0;
    for (std::size_t i = 8; i-- > 4;) {
      length = length << 8U | std::to_integer<std::size_t>(rest[i]);
    }
    const std::span<const std::byte> content = rest.subspan(chunk_header_bytes);
    if (length > content.size()) break;
    if (std::memcmp(rest.data(), "EXIF", 4) == 0) return exif_orientation(content.first(length));
    rest = content.subspan(std::min(length + length % 2, content.size()));
  }
  return 1;
}

/// A part of the image that libwebp decodes as it decodes the whole. Upsampling looks at one
/// neighbour on each side, and libwebp moves corners to even numbers.
Box with_margin(const Box& window, const ImageSize& image) noexcept {
  const std::int32_t x = std::max(window.x - 2, 0) & ~1;
  const std::int32_t y = std::max(window.y - 2, 0) & ~1;
  return {x, y, std::min(window.x + window.width + 2, image.width) - x,
          std::min(window.y + window.height + 2, image.height) - y};
}

class WebpCodec final : public ImageCodec {
 public:
  ImageInfo open(std::span<const std::byte> encoded) override {
    encoded_ = encoded;
    WebPBitstreamFeatures features;
    require(WebPGetFeatures(as_u8(encoded), encoded.size(), &features));
    if (features.has_animation != 0) {
      throw BadSample("the WebP is an animation, which is not read");
    }
    size_ = {features.width, features.height};
    pixel_bytes_ = 3;
    has_alpha_ = features.has_alpha != 0;
    return {ImageFormat::webp, size_, orientation_in_webp(encoded), has_alpha_ ? 4 : 3, 8};
  }

  void want_stored() override { pixel_bytes_ = has_alpha_ ? 4 : 3; }

  RowLayout start(const Box& window) override {
    const Box part = with_margin(window, size_);
    row_bytes_ = pixel_bytes_ * static_cast<std::size_t>(part.width);
    pixels_.resize(row_bytes_ * static_cast<std::size_t>(part.height));
    decode(part);
    next_ = pixels_.data() + static_cast<std::size_t>(window.y - part.y) * row_bytes_ +
            pixel_bytes_ * static_cast<std::size_t>(window.x - part.x);
    window_bytes_ = pixel_bytes_ * static_cast<std::size_t>(window.width);
    return {0, window_bytes_};
  }

  void read(std::uint8_t* rows, std::size_t stride, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i, next_ += row_bytes_) {
      std::memcpy(rows + i * stride, next_, window_bytes_);
    }
  }

  void close() noexcept override {
    encoded_ = {};
    shed_if_large(pixels_);
  }

 private:
  void decode(const Box& part) {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) throw BadSample("libwebp is another version's");
    config.options.use_cropping = 1;
    config.options.crop_left = part.x;
    config.options.crop_top = part.y;
    config.options.crop_width = part.width;
    config.options.crop_height = part.height;
    config.output.colorspace = pixel_bytes_ == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels_.data();
    config.output.u.RGBA.stride = static_cast<int>(row_bytes_);
    config.output.u.RGBA.size = pixels_.size();
    const VP8StatusCode status = WebPDecode(as_u8(encoded_), encoded_.size(), &config);
    WebPFreeDecBuffer(&config.output);
    require(status);
  }

  std::span<const std::byte> encoded_;
  ImageSize size_;
  bool has_alpha_ = false;
  std::size_t pixel_bytes_ = 3;
  std::vector<std::uint8_t> pixels_;  // the window and its margin: libwebp gives no rows
  std::size_t row_bytes_ = 0;
  const std::uint8_t* next_ = nullptr;
  std::size_t window_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ImageCodec> make_webp_codec() { return std::make_unique<WebpCodec>(); }

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "data/codec/codec.hpp"
#include "data/codec/exif.hpp"
#include "data/codec/png_context.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t signature_bytes = 8;
constexpr std::size_t chunk_frame_bytes = 12;  // length and type before, checksum after

void require(int status) {
  if (status == SPNG_OK) return;
  if (status == SPNG_EMEM) throw std::bad_alloc();
  const bool truncated = status == SPNG_IO_EOF || status == SPNG_EIDAT_TOO_SHORT;
  throw BadSample(
      text("the PNG cannot be decoded: {}", truncated ? "it is truncated" : spng_strerror(status)));
}

std::size_t length_of_chunk(std::span<const std::byte> chunk) noexcept {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length = length << 8U | std::to_integer<std::size_t>(chunk[i]);
  }
  return length;
}

/// The chunks of a PNG that make pixels. It leaves out texts and colour profiles, which a few bytes
/// inflate to anything, and all others that libspng would read, keep or refuse.
class PixelChunks {
 public:
  PixelChunks() = default;
  explicit PixelChunks(std::span<const std::byte> png) noexcept
      : rest_(png), shown_(std::min(signature_bytes, png.size())) {}

  /// False where fewer than `count` bytes are left.
  bool read(std::byte* to, std::size_t count) noexcept {
    while (count > 0) {
      while (shown_ == 0) {
        if (!next_chunk()) return false;
      }
      const std::size_t part = std::min(count, shown_);
      std::memcpy(to, rest_.data(), part);
      rest_ = rest_.subspan(part);
      shown_ -= part;
      to += part;
      count -= part;
    }
    return true;
  }

 private:
  bool next_chunk() noexcept {
    if (rest_.size() < chunk_frame_bytes) return false;
    const std::size_t bytes = std::min(chunk_frame_bytes + length_of_chunk(rest_), rest_.size());
    const bool ancillary = (rest_[4] & std::byte{0x20}) != std::byte{};  // a small letter
    if (ancillary) {
      rest_ = rest_.subspan(bytes);
    } else {
      shown_ = bytes;
    }
    return true;
  }

  std::span<const std::byte> rest_;
  std::size_t shown_ = 0;  // of the chunk that `rest_` begins with
};

int read_chunks(spng_ctx* /*png*/, void* chunks, void* to, std::size_t count) {
  return static_cast<PixelChunks*>(chunks)->read(static_cast<std::byte*>(to), count) ? SPNG_OK
                                                                                     : SPNG_IO_EOF;
}

int orientation_in_png(std::span<const std::byte> png) noexcept {
  std::span<const std::byte> rest = png.subspan(signature_bytes);
  while (rest.size() >= chunk_frame_bytes) {
    const std::size_t length = length_of_chunk(rest);
    if (length > rest.size() - chunk_frame_bytes) break;
    if (std::memcmp(&rest[4], "eXIf", 4) == 0) return exif_orientation(rest.subspan(8, length));
    rest = rest.subspan(chunk_frame_bytes + length);
  }
  return 1;
}

class PngCodec final : public ImageCodec {
 public:
  ImageInfo open(std::span<const std::byte> encoded) override {
    context_.reset(spng_ctx_new(0));
    if (!context_) throw std::bad_alloc();
    chunks_ = PixelChunks(encoded);
    require(spng_set_png_stream(context_.get(), &read_chunks, &chunks_));
    require(spng_get_ihdr(context_.get(), &header_));
    pixel_bytes_ = 3;
    ids_ = false;
    stored_ = false;
    return {ImageFormat::png,
            {static_cast<std::int32_t>(header_.width), static_cast<std::int32_t>(header_.height)},
            orientation_in_png(encoded),
            channels(),
            header_.bit_depth};
  }

  void want_stored() override {
    stored_ = true;
    pixel_bytes_ = static_cast<std::size_t>(channels()) * header_.bit_depth / 8;
  }

  void want_ids() override {
    const bool one_channel = header_.color_type == SPNG_COLOR_TYPE_INDEXED ||
                             header_.color_type == SPNG_COLOR_TYPE_GRAYSCALE;
    if (!one_channel) ImageCodec::want_ids();
    if (header_.bit_depth > 8) {
      throw BadSample("it is a PNG of 16 bits, and ids are read from one of at most 8");
    }
    ids_ = true;
    pixel_bytes_ = 1;
  }

  RowLayout start(const Box& window) override {
    window_ = window;
    const auto width = static_cast<std::size_t>(header_.width);
    row_bytes_ = ids_ ? (width * header_.bit_depth + 7) / 8 : pixel_bytes_ * width;
    // With 16 bits, stored samples come in the machine's order, which is not PNG's.
    const auto format = ids_ ? SPNG_FMT_RAW : stored_ ? SPNG_FMT_PNG : SPNG_FMT_RGB8;
    next_row_ = 0;
    if (is_interlaced()) {
      pixels_.resize(row_bytes_ * header_.height);
      // Ids that share a byte come in several passes, and libspng only sets bits.
      if (ids_) std::fill(pixels_.begin(), pixels_.end(), std::uint8_t{0});
      require(spng_decode_image(context_.get(), pixels_.data(), row_bytes_ * header_.height, format,
                                0));
      require_last_checksum();
      next_row_ = static_cast<std::size_t>(window.y);
    } else {
      pixels_.resize(row_bytes_);
      require(spng_decode_image(context_.get(), nullptr, 0, format, SPNG_DECODE_PROGRESSIVE));
      while (next_row_ < static_cast<std::size_t>(window.y)) decode_row();
    }
    return {0, pixel_bytes_ * static_cast<std::size_t>(window.width)};
  }

  void read(std::uint8_t* rows, std::size_t stride, std::size_t count) override {
    const std::size_t first = pixel_bytes_ * static_cast<std::size_t>(window_.x);
    const std::size_t bytes = pixel_bytes_ * static_cast<std::size_t>(window_.width);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* row = pixels_.data();
      if (is_interlaced()) {
        row += next_row_++ * row_bytes_;
      } else {
        decode_row();
      }
      if (ids_) {
        unpack_ids(row, rows + i * stride);
      } else {
        std::memcpy(rows + i * stride, row + first, bytes);
      }
    }
  }

  void close() noexcept override {
    context_.reset();
    shed_if_large(pixels_);
  }

 private:
  [[nodiscard]] std::int32_t channels() const noexcept {
    switch (header_.color_type) {
      case SPNG_COLOR_TYPE_GRAYSCALE:
        return 1;
      case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
        return 2;
      case SPNG_COLOR_TYPE_TRUECOLOR:
        return 3;
      case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
        return 4;
      default:
        return 0;
    }
  }

  [[nodiscard]] bool is_interlaced() const noexcept {
    return header_.interlace_method != SPNG_INTERLACE_NONE;
  }

  /// The window's part of a row whose ids lie side by side in its bytes, from the highest bit.
  void unpack_ids(const std::uint8_t* row, std::uint8_t* out) const noexcept {
    const std::size_t depth = header_.bit_depth;
    const auto first = static_cast<std::size_t>(window_.x);
    const auto count = static_cast<std::size_t>(window_.width);
    if (depth == 8) {
      std::memcpy(out, row + first, count);
      return;
    }
    const std::uint32_t mask = (1U << depth) - 1U;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bit = (first + i) * depth;
      out[i] = static_cast<std::uint8_t>((row[bit / 8] >> (8 - depth - bit % 8)) & mask);
    }
  }

  void decode_row() {
    const int status = spng_decode_row(context_.get(), pixels_.data(), row_bytes_);
    ++next_row_;
    if (status != SPNG_EOI || next_row_ != header_.height) require(status);
    if (next_row_ == header_.height) require_last_checksum();
  }

  /// Checks the checksum of the pixels' last chunk, which is read only now. Other damage after the
  /// pixels does not change them.
  void require_last_checksum() {
    if (spng_decode_chunks(context_.get()) == SPNG_ECHUNK_CRC) require(SPNG_ECHUNK_CRC);
  }

  PngContext context_;
  PixelChunks chunks_;
  spng_ihdr header_{};
  Box window_;
  bool ids_ = false;
  bool stored_ = false;
  std::size_t pixel_bytes_ = 3;
  std::size_t row_bytes_ = 0;
  std::size_t next_row_ = 0;
  std::vector<std::uint8_t> pixels_;  // one row; all of them where they are interlaced
};

}  // namespace

std::unique_ptr<ImageCodec> make_png_codec() { return std::make_unique<PngCodec>(); }

}  // namespace batchcast::inline v0_1::detail

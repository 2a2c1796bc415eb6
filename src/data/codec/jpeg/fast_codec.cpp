// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <cstring>
#include <utility>

#include "data/codec/codec.hpp"
#include "data/codec/jpeg/fast_decoder.hpp"
#include "data/codec/jpeg/pixels.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

/// Decodes clean files with our decoder, and everything else with libjpeg. A file may turn out not
/// to be clean after some rows were given out; both give the same rows, so libjpeg continues.
class FastJpegCodec final : public ImageCodec {
 public:
  ImageInfo open(std::span<const std::byte> encoded) override {
    encoded_ = encoded;
    uses_library_ = !read_jpeg_header(encoded, header_);
    if (uses_library_) return library_->open(encoded);
    return {ImageFormat::jpeg, header_.size, header_.orientation, header_.component_count, 8};
  }

  ImageSize scale_down(int scale) override {
    if (!uses_library_) {
      if (scale == 1) return header_.size;
      uses_library_ = true;
      (void)library_->open(encoded_);
    }
    return library_->scale_down(scale);
  }

  RowLayout start(const Box& window) override {
    handed_over_ = false;
    if (uses_library_) return library_->start(window);
    window_ = window;
    rows_done_ = 0;
    if (!decoder_.start(header_, encoded_, window)) hand_over();
    return {0, row_bytes() + jpeg_row_slack};
  }

  void read(std::uint8_t* rows, std::size_t stride, std::size_t count) override {
    if (uses_library_ && !handed_over_) return library_->read(rows, stride, count);
    for (std::size_t row = 0; row < count; ++row, rows += stride) {
      if (!handed_over_ && !decoder_.read_row(rows)) hand_over();
      if (handed_over_) read_from_library(rows);
      ++rows_done_;
    }
  }

  void close() noexcept override {
    if (uses_library_) library_->close();
    uses_library_ = false;
    decoder_.shed();
    encoded_ = {};
  }

 private:
  [[nodiscard]] std::size_t row_bytes() const noexcept {
    return 3 * static_cast<std::size_t>(window_.width);
  }

  /// libjpeg starts over; its first rows have been given out already.
  void hand_over() {
    uses_library_ = handed_over_ = true;
    decoder_.shed();  // libjpeg holds all coefficients of a progressive file, too
    (void)library_->open(encoded_);
    library_layout_ = library_->start(window_);
    library_row_.resize(library_layout_.byte_count);
    for (std::size_t row = 0; row < rows_done_; ++row) {
      library_->read(library_row_.data(), library_row_.size(), 1);
    }
  }

  void read_from_library(std::uint8_t* rgb) {
    library_->read(library_row_.data(), library_row_.size(), 1);
    std::memcpy(rgb, library_row_.data() + 3 * library_layout_.skip, row_bytes());
  }

  std::unique_ptr<ImageCodec> library_ = make_libjpeg_codec();
  bool uses_library_ = false;  // libjpeg has the file open, or has failed to open it
  bool handed_over_ = false;
  std::span<const std::byte> encoded_;
  JpegHeader header_;
  JpegWindowDecoder decoder_;
  Box window_;
  std::size_t rows_done_ = 0;
  RowLayout library_layout_;
  std::vector<std::uint8_t> library_row_;
};

}  // namespace

std::unique_ptr<ImageCodec> make_jpeg_codec() { return std::make_unique<FastJpegCodec>(); }

}  // namespace batchcast::inline v0_1::detail

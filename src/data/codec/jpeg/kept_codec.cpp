// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include "data/codec/codec.hpp"
#include "data/codec/jpeg/fast_decoder.hpp"
#include "data/codec/jpeg/kept_reader.hpp"
#include "data/codec/jpeg/pixels.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

[[noreturn]] void refuse() { throw BadSample("its kept coefficients are damaged"); }

/// Rows of the JPEG that an entry was made of.
class KeptCodec final : public ImageCodec {
 public:
  ImageInfo open(std::span<const std::byte> entry) override {
    if (!kept_.open(entry, header_)) refuse();
    return {ImageFormat::jpeg, header_.size, header_.orientation, header_.component_count, 8};
  }

  RowLayout start(const Box& window) override {
    if (!decoder_.start_kept(header_, kept_, window)) refuse();
    return {0, 3 * static_cast<std::size_t>(window.width) + jpeg_row_slack};
  }

  void read(std::uint8_t* rows, std::size_t stride, std::size_t count) override {
    for (std::size_t row = 0; row < count; ++row) {
      if (!decoder_.read_row(rows + row * stride)) refuse();
    }
  }

  void close() noexcept override { decoder_.shed(); }

 private:
  JpegHeader header_;
  KeptReader kept_;
  JpegWindowDecoder decoder_;
};

}  // namespace

std::unique_ptr<ImageCodec> make_kept_codec() { return std::make_unique<KeptCodec>(); }

}  // namespace batchcast::inline v0_1::detail

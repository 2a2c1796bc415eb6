// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/codec/decoder.hpp"

namespace batchcast::inline v0_1::detail {

/// A format as ImageDecoder uses it. The decoder calls `open`, perhaps `scale_down`, `start`, then
/// `read` until all rows are out. It calls `close` at any time, after a failure too.
class ImageCodec {
 public:
  virtual ~ImageCodec() = default;

  /// Reads no more than the header, and allocates nothing that the header's size decides.
  [[nodiscard]] virtual ImageInfo open(std::span<const std::byte> encoded) = 0;
  virtual ImageSize scale_down(int scale);
  /// Called between `open` and `start`: rows are then ids, one byte each. Throws BadSample where
  /// the image has none.
  virtual void want_ids();
  /// Called between `open` and `start`: rows are then the values in the file, with alpha and 16
  /// bits. RGB of 8 bits, and gray that comes as RGB, may stay as it is.
  virtual void want_stored() {}
  [[nodiscard]] virtual RowLayout start(const Box& window) = 0;
  /// `count` is at most the rows left. It fills all of them.
  virtual void read(std::uint8_t* rows, std::size_t stride, std::size_t count) = 0;
  /// Releases the encoded bytes and what the library holds. Our buffers stay, if they are not huge.
  virtual void close() noexcept = 0;
};

/// Frees a buffer that one image far larger than others has grown.
template <typename Element>
void shed_if_large(std::vector<Element>& buffer) noexcept {
  constexpr std::size_t kept_bytes_max = std::size_t{64} << 20U;
  if (buffer.capacity() > kept_bytes_max / sizeof(Element)) std::vector<Element>().swap(buffer);
}

/// Leaves files that are not clean, or of an unusual kind, to libjpeg; the pixels are the same.
std::unique_ptr<ImageCodec> make_jpeg_codec();
/// Opens entries of kept coefficients (jpeg/kept_form.hpp) in place of files.
std::unique_ptr<ImageCodec> make_kept_codec();
std::unique_ptr<ImageCodec> make_libjpeg_codec();
std::unique_ptr<ImageCodec> make_png_codec();
std::unique_ptr<ImageCodec> make_webp_codec();

}  // namespace batchcast::inline v0_1::detail

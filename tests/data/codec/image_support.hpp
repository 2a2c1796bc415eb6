// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>

#include <spng.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string_view>
#include <vector>

// After <cstdio>, which it needs but does not include.
#include <jpeglib.h>

#include "catch.hpp"
#include "data/codec/decoder.hpp"

// Pictures, and the encoders that make files of them: the tests need no other program.
namespace image_test {

namespace bc = batchcast;
using bc::detail::ImageDecoder;
using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937;

constexpr bc::detail::DecodeLimits limits{.pixels_max = 1 << 24};

inline int between(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

struct Picture {
  bc::ImageSize size;
  int channels = 3;
  Bytes pixels;

  [[nodiscard]] std::size_t stride() const {
    return static_cast<std::size_t>(size.width * channels);
  }
};

/// Smooth areas, edges and noise: each step of a codec has something to do.
inline Picture noise(Random& random, bc::ImageSize size, int channels = 3) {
  Picture picture{size, channels, {}};
  const int grid = 8;
  const int across = size.width / grid + 1;
  Bytes coarse(static_cast<std::size_t>(across * (size.height / grid + 1) * channels));
  for (std::uint8_t& value : coarse) value = static_cast<std::uint8_t>(random());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int base =
            coarse[static_cast<std::size_t>((y / grid * across + x / grid) * channels + c)];
        const int value = base + static_cast<int>(random() % 41) - 20;
        picture.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0, 255)));
      }
    }
  }
  return picture;
}

inline bc::Box random_window(Random& random, bc::ImageSize image) {
  bc::Box box;
  box.width = between(random, 1, image.width);
  box.height = between(random, 1, image.height);
  box.x = between(random, 0, image.width - box.width);
  box.y = between(random, 0, image.height - box.height);
  return box;
}

struct JpegOptions {
  J_COLOR_SPACE in = JCS_RGB;
  J_COLOR_SPACE stored = JCS_YCbCr;
  std::vector<std::pair<int, int>> sampling = {};  ///< of each component; empty: 4:2:0
  bool progressive = false;
  unsigned restart_interval = 0;
  std::vector<jpeg_scan_info> scans = {};
  int quality = 90;
  bool own_codes = false;  ///< Huffman codes made for this picture
};

inline Bytes encode_jpeg(const Picture& picture, const JpegOptions& options = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.size.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.size.height);
  jpeg.input_components = picture.channels;
  jpeg.in_color_space = options.in;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, options.stored);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  for (std::size_t i = 0; i < options.sampling.size(); ++i) {
    jpeg.comp_info[i].h_samp_factor = options.sampling[i].first;
    jpeg.comp_info[i].v_samp_factor = options.sampling[i].second;
  }
  if (options.progressive) jpeg_simple_progression(&jpeg);
  if (!options.scans.empty()) {
    jpeg.scan_info = options.scans.data();
    jpeg.num_scans = static_cast<int>(options.scans.size());
  }
  jpeg.restart_interval = options.restart_interval;
  jpeg.optimize_coding = options.own_codes || options.progressive ? TRUE : FALSE;
  jpeg_start_compress(&jpeg, TRUE);
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.size.height); ++y) {
    JSAMPROW row = const_cast<std::uint8_t*>(picture.pixels.data()) + y * picture.stride();
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes file(buffer, buffer + size);
  std::free(buffer);
  return file;
}

struct PngOptions {
  spng_color_type type = SPNG_COLOR_TYPE_TRUECOLOR;
  int bit_depth = 8;
  bool interlaced = false;
};

/// `picture` has as many bytes a pixel as the options say; a palette is filled with ramps.
inline Bytes encode_png(const Picture& picture, const PngOptions& options = {}) {
  spng_ctx* png = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header{};
  header.width = static_cast<std::uint32_t>(picture.size.width);
  header.height = static_cast<std::uint32_t>(picture.size.height);
  header.color_type = static_cast<std::uint8_t>(options.type);
  header.bit_depth = static_cast<std::uint8_t>(options.bit_depth);
  header.interlace_method = options.interlaced ? SPNG_INTERLACE_ADAM7 : SPNG_INTERLACE_NONE;
  REQUIRE(spng_set_ihdr(png, &header) == 0);
  if (options.type == SPNG_COLOR_TYPE_INDEXED) {
    spng_plte palette{};
    palette.n_entries = 256;
    for (unsigned i = 0; i < 256; ++i) {
      palette.entries[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(255 - i),
                            static_cast<std::uint8_t>(i * 7), 255};
    }
    REQUIRE(spng_set_plte(png, &palette) == 0);
  }
  REQUIRE(spng_encode_image(png, picture.pixels.data(), picture.pixels.size(), SPNG_FMT_PNG,
                            SPNG_ENCODE_FINALIZE) == 0);
  std::size_t size = 0;
  int error = 0;
  void* buffer = spng_get_png_buffer(png, &size, &error);
  REQUIRE(buffer != nullptr);
  const auto* first = static_cast<const std::uint8_t*>(buffer);
  Bytes file(first, first + size);
  std::free(buffer);
  spng_ctx_free(png);
  return file;
}

inline Bytes encode_webp(const Picture& picture, bool lossless) {
  const int width = picture.size.width;
  const int height = picture.size.height;
  const int stride = static_cast<int>(picture.stride());
  const std::uint8_t* pixels = picture.pixels.data();
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  if (picture.channels == 4) {
    size = lossless ? WebPEncodeLosslessRGBA(pixels, width, height, stride, &buffer)
                    : WebPEncodeRGBA(pixels, width, height, stride, 75, &buffer);
  } else {
    size = lossless ? WebPEncodeLosslessRGB(pixels, width, height, stride, &buffer)
                    : WebPEncodeRGB(pixels, width, height, stride, 75, &buffer);
  }
  REQUIRE(size > 0);
  Bytes file(buffer, buffer + size);
  WebPFree(buffer);
  return file;
}

inline std::span<const std::byte> as_bytes(const Bytes& bytes) {
  return std::as_bytes(std::span(bytes));
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The rows of `window`, read in calls of changing size from an image that is open.
inline Bytes read_window(ImageDecoder& decoder, const bc::Box& window) {
  const bc::detail::RowLayout layout = decoder.start(window);
  const auto width = static_cast<std::size_t>(window.width);
  REQUIRE(layout.skip >= 0);
  REQUIRE(layout.byte_count >= 3 * (static_cast<std::size_t>(layout.skip) + width));
  Bytes rgb;
  Bytes rows(40 * (layout.byte_count + 5), 0xA5);
  const std::size_t stride = layout.byte_count + 5;
  std::size_t asked = 1;
  while (const std::size_t count = decoder.read(rows.data(), stride, asked)) {
    REQUIRE(count <= asked);
    for (std::size_t row = 0; row < count; ++row) {
      const std::uint8_t* first = rows.data() + row * stride + 3 * layout.skip;
      rgb.insert(rgb.end(), first, first + 3 * width);
      // What lies between the rows is the caller's.
      REQUIRE(rows[row * stride + layout.byte_count] == 0xA5);
    }
    asked = asked * 3 % 40 + 1;
  }
  REQUIRE(rgb.size() == 3 * width * static_cast<std::size_t>(window.height));
  return rgb;
}

/// All of an image in a mode of one byte a pixel; or a window of it.
inline Bytes read_one_channel(ImageDecoder& decoder, const Bytes& file, bc::PixelMode mode,
                              const bc::Box& window) {
  static_cast<void>(decoder.open(as_bytes(file), {.pixels_max = 1 << 24, .mode = mode}));
  const bc::detail::RowLayout layout = decoder.start(window);
  Bytes rows(layout.byte_count * 7);
  Bytes all;
  while (const std::size_t count = decoder.read(rows.data(), layout.byte_count, 7)) {
    for (std::size_t r = 0; r < count; ++r) {
      const auto first =
          rows.begin() + static_cast<std::ptrdiff_t>(r * layout.byte_count) + layout.skip;
      all.insert(all.end(), first, first + window.width);
    }
  }
  return all;
}

inline Picture decode(ImageDecoder& decoder, std::span<const std::byte> file) {
  const bc::detail::ImageInfo info = decoder.open(file, limits);
  return {info.size, 3, read_window(decoder, {0, 0, info.size.width, info.size.height})};
}

inline Bytes crop(const Picture& picture, const bc::Box& window) {
  Bytes part;
  for (int y = window.y; y < window.y + window.height; ++y) {
    const std::uint8_t* row =
        picture.pixels.data() + static_cast<std::size_t>(y) * picture.stride() + 3 * window.x;
    part.insert(part.end(), row, row + 3 * window.width);
  }
  return part;
}

/// A few windows of `file`, and those that touch its corners, against crops of `whole`.
inline void check_windows(ImageDecoder& decoder, const Bytes& file, const Picture& whole,
                          Random& random, int count) {
  for (int i = 0; i < count; ++i) {
    bc::Box window = random_window(random, whole.size);
    if (i % 4 == 1) window.x = window.y = 0;
    if (i % 4 == 2) window.x = whole.size.width - window.width;
    if (i % 8 == 3) window.width = 1;
    CAPTURE(whole.size.width, whole.size.height, window.x, window.y, window.width, window.height);
    (void)decoder.open(as_bytes(file), limits);
    REQUIRE(read_window(decoder, window) == crop(whole, window));
  }
}

}  // namespace image_test

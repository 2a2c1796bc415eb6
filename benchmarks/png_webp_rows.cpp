// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// libspng or libwebp alone (codec.hpp): a random resized crop. PNG's rows cannot be skipped, so
// that all down to the crop's last one are decoded; WebP takes the crop itself.

#include "codec.hpp"

#include <spng.h>
#include <webp/decode.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

namespace {

using codec::Box;
using codec::File;
using codec::Options;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "png_webp_rows: %s failed\n", what);
  std::exit(1);
}

Box box_of(unsigned width, unsigned height, const Options& options, std::mt19937& random) {
  if (options.whole) return {0, 0, width, height};
  return codec::random_box(width, height, random);
}

void decode_png(const File& file, const Options& options, std::mt19937& random, File& pixels) {
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> png(spng_ctx_new(0), &spng_ctx_free);
  require(spng_set_png_buffer(png.get(), file.data(), file.size()) == 0, "spng_set_png_buffer");
  spng_ihdr header;
  require(spng_get_ihdr(png.get(), &header) == 0, "spng_get_ihdr");
  const Box box = box_of(header.width, header.height, options, random);
  require(spng_decode_image(png.get(), nullptr, 0, SPNG_FMT_RGB8, SPNG_DECODE_PROGRESSIVE) == 0,
          "spng_decode_image");
  const std::size_t row_bytes = std::size_t{3} * header.width;
  if (pixels.size() < row_bytes) pixels.resize(row_bytes);
  for (unsigned row = 0; row < box.y + box.height; ++row) {
    const int status = spng_decode_row(png.get(), pixels.data(), row_bytes);
    require(status == 0 || status == SPNG_EOI, "spng_decode_row");
  }
}

void decode_webp(const File& file, const Options& options, std::mt19937& random, File& pixels) {
  WebPDecoderConfig config;
  require(WebPInitDecoderConfig(&config) != 0, "WebPInitDecoderConfig");
  require(WebPGetFeatures(file.data(), file.size(), &config.input) == VP8_STATUS_OK,
          "WebPGetFeatures");
  const Box box = box_of(static_cast<unsigned>(config.input.width),
                         static_cast<unsigned>(config.input.height), options, random);
  config.options.use_cropping = 1;
  config.options.crop_left = static_cast<int>(box.x);
  config.options.crop_top = static_cast<int>(box.y);
  config.options.crop_width = static_cast<int>(box.width);
  config.options.crop_height = static_cast<int>(box.height);
  // Columns and rows begin at even numbers.
  const std::size_t row_bytes = std::size_t{3} * (box.width + 1);
  const std::size_t bytes = row_bytes * (box.height + 1);
  if (pixels.size() < bytes) pixels.resize(bytes);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels.data();
  config.output.u.RGBA.stride = static_cast<int>(row_bytes);
  config.output.u.RGBA.size = pixels.size();
  require(WebPDecode(file.data(), file.size(), &config) == VP8_STATUS_OK, "WebPDecode");
  WebPFreeDecBuffer(&config.output);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = codec::parse(argc, argv);
  File pixels;
  return codec::measure(options, codec::read_files(options, {".png", ".webp"}),
                        [&](const File& file, std::mt19937& random) {
                          const bool is_png = file.size() > 1 && file[1] == 'P';
                          (is_png ? decode_png : decode_webp)(file, options, random, pixels);
                        });
}

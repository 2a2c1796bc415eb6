// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/png_writer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>
#include "data/codec/png_context.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint8_t bits_per_channel = 8;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

struct FreeBytes {
  void operator()(void* bytes) const noexcept { std::free(bytes); }
};

void require(int status, const std::string& path) {
  if (status == SPNG_OK) return;
  throw Error(text("batchcast: cannot write {}: {}.", path, spng_strerror(status)));
}

void encode(spng_ctx* context, const RgbPixels& pixels, const std::string& path) {
  BATCHCAST_ASSERT(pixels.bytes.size() == std::size_t{3} * pixels.width * pixels.height);
  spng_ihdr header{};
  header.width = pixels.width;
  header.height = pixels.height;
  header.bit_depth = bits_per_channel;
  header.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
  require(spng_set_ihdr(context, &header), path);
  require(spng_encode_image(context, pixels.bytes.data(), pixels.bytes.size(), SPNG_FMT_PNG,
                            SPNG_ENCODE_FINALIZE),
          path);
}

}  // namespace

void write_png(const std::string& path, const RgbPixels& pixels) {
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "wbe"));
  if (!file) throw SystemError(text("batchcast: cannot write {}", path), errno);
  const PngContext context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (!context) throw std::bad_alloc();
  require(spng_set_png_file(context.get(), file.get()), path);
  encode(context.get(), pixels, path);
  if (std::fclose(file.release()) != 0) {
    throw SystemError(text("batchcast: cannot write {}", path), errno);
  }
}

std::string quick_png(const RgbPixels& pixels) {
  const std::string where = "a picture into memory";
  const PngContext context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (!context) throw std::bad_alloc();
  require(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1), where);
  require(spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL, 1), where);
  require(spng_set_option(context.get(), SPNG_FILTER_CHOICE, SPNG_FILTER_CHOICE_SUB), where);
  encode(context.get(), pixels, where);
  std::size_t size = 0;
  int status = SPNG_OK;
  const std::unique_ptr<void, FreeBytes> bytes(spng_get_png_buffer(context.get(), &size, &status));
  require(status, where);
  return {static_cast<const char*>(bytes.get()), size};
}

}  // namespace batchcast::inline v0_1::detail

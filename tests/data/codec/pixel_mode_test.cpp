// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include "data/luma.hpp"
#include "image_support.hpp"

using namespace image_test;
using Catch::Contains;

namespace {

Bytes cut(const Bytes& pixels, bc::ImageSize size, const bc::Box& window) {
  Bytes part;
  for (int y = window.y; y < window.y + window.height; ++y) {
    const auto row = pixels.begin() + y * size.width + window.x;
    part.insert(part.end(), row, row + window.width);
  }
  return part;
}

}  // namespace

TEST_CASE("Modes: gray is PIL's luma of the colours, whatever the format and the window") {
  Random random(3);
  const bc::ImageSize size{53, 37};
  const Picture picture = noise(random, size);
  ImageDecoder decoder;
  for (const Bytes& file :
       {encode_png(picture), encode_webp(picture, true), encode_jpeg(picture)}) {
    const Picture rgb = decode(decoder, as_bytes(file));
    Bytes gray;
    for (std::size_t i = 0; i < rgb.pixels.size(); i += 3) {
      gray.push_back(bc::detail::luma(&rgb.pixels[i]));
    }
    for (const bc::Box& window : {bc::Box{0, 0, 53, 37}, bc::Box{11, 5, 30, 20}}) {
      CHECK(read_one_channel(decoder, file, bc::PixelMode::gray, window) ==
            cut(gray, size, window));
    }
    // A decoder that made gray makes colours again.
    CHECK(decode(decoder, as_bytes(file)).pixels == rgb.pixels);
  }
}

TEST_CASE("Modes: ids are what stands in the file, palettes and gray, of any depth") {
  Random random(4);
  const bc::ImageSize size{29, 17};
  ImageDecoder decoder;
  for (const spng_color_type type : {SPNG_COLOR_TYPE_INDEXED, SPNG_COLOR_TYPE_GRAYSCALE}) {
    for (const bool interlaced : {false, true}) {
      const Picture picture = noise(random, size, 1);
      const Bytes file = encode_png(picture, {.type = type, .interlaced = interlaced});
      for (const bc::Box& window : {bc::Box{0, 0, 29, 17}, bc::Box{7, 3, 11, 9}}) {
        CHECK(read_one_channel(decoder, file, bc::PixelMode::index, window) ==
              cut(picture.pixels, size, window));
      }
    }
  }
}

TEST_CASE("Modes: colours are no ids") {
  Random random(5);
  const Picture picture = noise(random, {20, 10});
  ImageDecoder decoder;
  const bc::Box all{0, 0, 20, 10};
  for (const Bytes& file :
       {encode_png(picture), encode_webp(picture, true), encode_jpeg(picture)}) {
    CHECK_THROWS_WITH(read_one_channel(decoder, file, bc::PixelMode::index, all),
                      Contains("no ids") && Contains("`rgb` or `gray`"));
  }
  const Picture wide{{20, 10}, 2, Bytes(400, 1)};
  const Bytes file = encode_png(wide, {.type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 16});
  CHECK_THROWS_WITH(read_one_channel(decoder, file, bc::PixelMode::index, all),
                    Contains("16 bits"));
}

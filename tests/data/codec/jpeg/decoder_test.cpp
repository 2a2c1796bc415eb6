// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <string>

#include "data/codec/image_support.hpp"

using namespace image_test;

namespace {

Bytes decode_by_libjpeg(const Bytes& file, unsigned scale) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg.scale_num = 1;
  jpeg.scale_denom = scale;
  jpeg_start_decompress(&jpeg);
  const std::size_t stride = std::size_t{3} * jpeg.output_width;
  Bytes pixels(stride * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.data() + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return pixels;
}

struct Kind {
  std::string name;
  JpegOptions options;
  int channels = 3;
};

std::vector<Kind> kinds() {
  const JpegOptions rgb{.stored = JCS_RGB, .sampling = {{1, 1}, {1, 1}, {1, 1}}};
  const JpegOptions gray{.in = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  const JpegOptions gray_22{.in = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE, .sampling = {{2, 2}}};
  const std::vector<jpeg_scan_info> one_by_one = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  const std::vector<jpeg_scan_info> only_dc = {{3, {0, 1, 2}, 0, 0, 0, 0}};
  const std::vector<jpeg_scan_info> some_ac = {{3, {0, 1, 2}, 0, 0, 0, 1}, {1, {0}, 1, 5, 0, 2}};
  return {
      {"4:4:4", {.sampling = {{1, 1}, {1, 1}, {1, 1}}}},
      {"4:2:2", {.sampling = {{2, 1}, {1, 1}, {1, 1}}}},
      {"4:2:0", {.sampling = {{2, 2}, {1, 1}, {1, 1}}}},
      {"4:4:0", {.sampling = {{1, 2}, {1, 1}, {1, 1}}}},
      {"4:1:1", {.sampling = {{4, 1}, {1, 1}, {1, 1}}}},
      {"4:1:0", {.sampling = {{4, 2}, {1, 1}, {1, 1}}}},
      {"3:1", {.sampling = {{3, 1}, {1, 1}, {1, 1}}}},
      {"a chroma for each direction", {.sampling = {{2, 2}, {1, 2}, {2, 1}}}},
      {"luma below chroma", {.sampling = {{1, 1}, {2, 2}, {2, 2}}}},
      {"RGB", rgb},
      {"gray", gray, 1},
      {"gray of 2 x 2", gray_22, 1},
      {"a scan for each component", {.scans = one_by_one}},
      {"progressive, only DC", {.scans = only_dc}},
      {"progressive, some AC", {.scans = some_ac}},
  };
}

}  // namespace

TEST_CASE("JPEG: a window is that part of the whole image, bit for bit") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  for (const Kind& kind : kinds()) {
    for (int i = 0; i < 12; ++i) {
      JpegOptions options = kind.options;
      if (options.scans.empty()) options.progressive = i % 3 == 1;
      if (i % 3 == 2) options.restart_interval = static_cast<unsigned>(between(random, 1, 20));
      const int side = i % 4 == 0 ? 40 : 230;
      const bc::ImageSize size{between(random, 1, side), between(random, 1, side)};
      const Bytes file = encode_jpeg(noise(random, size, kind.channels), options);
      CAPTURE(kind.name, options.progressive, options.restart_interval, size.width, size.height);
      const Picture whole = decode(decoder, as_bytes(file));
      REQUIRE(whole.size == size);
      REQUIRE(whole.pixels == decode_by_libjpeg(file, 1));
      check_windows(decoder, file, whole, random, 12);
    }
  }
}

TEST_CASE("JPEG: scaled down, sizes are rounded up and windows are exact") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  for (const Kind& kind : kinds()) {
    for (const int scale : {1, 2, 4, 8}) {
      const bc::ImageSize size{between(random, 1, 260), between(random, 1, 260)};
      JpegOptions options = kind.options;
      if (options.scans.empty()) options.progressive = random() % 2 == 0;
      const Bytes file = encode_jpeg(noise(random, size, kind.channels), options);
      CAPTURE(kind.name, scale, size.width, size.height);
      (void)decoder.open(as_bytes(file), limits);
      const bc::ImageSize scaled = decoder.scale_down(scale);
      REQUIRE(scaled ==
              bc::ImageSize{(size.width + scale - 1) / scale, (size.height + scale - 1) / scale});
      const Picture whole{scaled, 3, read_window(decoder, {0, 0, scaled.width, scaled.height})};
      REQUIRE(whole.pixels == decode_by_libjpeg(file, static_cast<unsigned>(scale)));
      for (int i = 0; i < 12; ++i) {
        const bc::Box window = random_window(random, scaled);
        CAPTURE(window.x, window.y, window.width, window.height);
        (void)decoder.open(as_bytes(file), limits);
        (void)decoder.scale_down(scale);
        REQUIRE(read_window(decoder, window) == crop(whole, window));
      }
    }
  }
}

TEST_CASE("JPEG: CMYK and YCCK become RGB, windows too") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    // Inverted, as Adobe's programs write: full red, half black, then no ink at all.
    const Picture inks{{3, 1}, 4, {255, 0, 0, 255, 255, 255, 255, 128, 255, 255, 255, 255}};
    const JpegOptions flat{.in = JCS_CMYK,
                           .stored = stored,
                           .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}},
                           .quality = 100};
    for (int pixel = 0; pixel < 3; ++pixel) {
      const auto first = inks.pixels.begin() + 4 * pixel;
      const Bytes file = encode_jpeg({{1, 1}, 4, {first, first + 4}}, flat);
      const Bytes rgb = decode(decoder, as_bytes(file)).pixels;
      for (int channel = 0; channel < 3; ++channel) {
        CHECK(std::abs(rgb[static_cast<std::size_t>(channel)] - first[channel] * first[3] / 255) <=
              2);
      }
    }
    for (const bool progressive : {false, true}) {
      const Bytes file =
          encode_jpeg(noise(random, {131, 77}, 4),
                      {.in = JCS_CMYK, .stored = stored, .progressive = progressive});
      const Picture whole = decode(decoder, as_bytes(file));
      check_windows(decoder, file, whole, random, 20);
    }
  }
}

TEST_CASE("JPEG: thousands of scans are refused, and so are other kinds of JPEG") {
  Random random(1);
  ImageDecoder decoder;
  const Picture picture = noise(random, {16, 16});
  std::vector<jpeg_scan_info> scans = {{3, {0, 1, 2}, 0, 0, 0, 0}};
  for (int coefficient = 1; coefficient < 64; ++coefficient) {
    for (int component = 0; component < 3; ++component) {
      for (int bit = 5; bit >= 0; --bit) {
        scans.push_back({1, {component}, coefficient, coefficient, bit == 5 ? 0 : bit + 1, bit});
      }
    }
  }
  CHECK_THROWS_WITH(decode(decoder, as_bytes(encode_jpeg(picture, {.scans = scans}))),
                    Catch::Contains("more than 500 scans"));

  Bytes file = encode_jpeg(picture);
  const std::uint8_t marker[] = {0xFF, 0xC0};
  const auto frame = std::search(file.begin(), file.end(), std::begin(marker), std::end(marker));
  REQUIRE(frame != file.end());
  frame[4] = 12;
  CHECK_THROWS_WITH(decode(decoder, as_bytes(file)), Catch::Contains("12"));
  frame[4] = 8;
  frame[1] = 0xC3;
  CHECK_THROWS_WITH(decode(decoder, as_bytes(file)), Catch::Contains("0xc3"));
  frame[1] = 0xC0;
  CHECK(decode(decoder, as_bytes(file)).size == picture.size);
}

TEST_CASE("JPEG: bytes between markers and damage that can be decoded around are accepted") {
  Random random(2);
  ImageDecoder decoder;
  const Bytes file = encode_jpeg(noise(random, {64, 48}));
  const Picture whole = decode(decoder, as_bytes(file));

  Bytes stuffed = file;
  stuffed.insert(stuffed.begin() + 2 + 18, {0, 1, 2, 3});  // after SOI and APP0
  CHECK(decode(decoder, as_bytes(stuffed)).pixels == whole.pixels);

  Bytes trailing = file;
  trailing.resize(file.size() + 100, 7);
  CHECK(decode(decoder, as_bytes(trailing)).pixels == whole.pixels);

  Bytes ended = file;
  ended.resize(file.size() * 2 / 3);
  CHECK_THROWS_WITH(decode(decoder, as_bytes(ended)), Catch::Contains("truncated"));
  ended.insert(ended.end(), {0xFF, 0xD9});
  CHECK(decode(decoder, as_bytes(ended)).size == whole.size);
}

TEST_CASE("JPEG: nothing below the window is read") {
  Random random(3);
  ImageDecoder decoder;
  Bytes file = encode_jpeg(noise(random, {200, 200}));
  const Picture whole = decode(decoder, as_bytes(file));
  file.resize(file.size() / 2);
  const bc::Box top{10, 0, 90, 40};
  (void)decoder.open(as_bytes(file), limits);
  CHECK(read_window(decoder, top) == crop(whole, top));
}

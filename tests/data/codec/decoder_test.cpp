// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <string>

#include "image_support.hpp"

using namespace image_test;
using bc::detail::ImageFormat;
using Catch::Contains;

namespace {

struct Kind {
  std::string name;
  int channels;  // bytes a pixel
  PngOptions png;
};

const std::vector<Kind> png_kinds = {
    {"RGB", 3, {}},
    {"RGB of 16 bits", 6, {.bit_depth = 16}},
    {"RGB with alpha", 4, {.type = SPNG_COLOR_TYPE_TRUECOLOR_ALPHA}},
    {"gray", 1, {.type = SPNG_COLOR_TYPE_GRAYSCALE}},
    {"gray of 16 bits", 2, {.type = SPNG_COLOR_TYPE_GRAYSCALE, .bit_depth = 16}},
    {"gray with alpha", 2, {.type = SPNG_COLOR_TYPE_GRAYSCALE_ALPHA}},
    {"palette", 1, {.type = SPNG_COLOR_TYPE_INDEXED}},
};

/// RGB of a pixel as it was given to the encoder.
std::array<std::uint8_t, 3> rgb_of(const Kind& kind, const std::uint8_t* pixel) {
  if (kind.png.type == SPNG_COLOR_TYPE_INDEXED) {
    return {pixel[0], static_cast<std::uint8_t>(255 - pixel[0]),
            static_cast<std::uint8_t>(pixel[0] * 7)};
  }
  // The encoder takes 16 bits in the machine's order, so the high byte is the second.
  const int step = kind.png.bit_depth / 8;
  const int high = step - 1;
  if (kind.channels / step < 3) return {pixel[high], pixel[high], pixel[high]};
  return {pixel[high], pixel[step + high], pixel[2 * step + high]};
}

Bytes rgb_of(const Kind& kind, const Picture& picture) {
  Bytes rgb;
  for (std::size_t i = 0; i < picture.pixels.size(); i += static_cast<std::size_t>(kind.channels)) {
    const auto pixel = rgb_of(kind, picture.pixels.data() + i);
    rgb.insert(rgb.end(), pixel.begin(), pixel.end());
  }
  return rgb;
}

/// One file of each format, the last of PNG interlaced.
std::vector<Bytes> one_of_each(Random& random, bc::ImageSize size) {
  const Picture picture = noise(random, size);
  return {encode_jpeg(picture),        encode_jpeg(picture, {.progressive = true}),
          encode_webp(picture, false), encode_webp(picture, true),
          encode_png(picture),         encode_png(picture, {.interlaced = true})};
}

void refuses(std::string_view bytes, const char* what) {
  ImageDecoder decoder;
  CHECK_THROWS_WITH(decoder.open(as_bytes(bytes), limits),
                    Contains("neither JPEG, PNG nor WebP") && Contains(what));
}

}  // namespace

TEST_CASE("PNG: every colour type becomes RGB, windows are exact, interlaced or not") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  for (const Kind& kind : png_kinds) {
    for (const bool interlaced : {false, true}) {
      const bc::ImageSize size{between(random, 1, 90), between(random, 1, 90)};
      const Picture picture = noise(random, size, kind.channels);
      PngOptions options = kind.png;
      options.interlaced = interlaced;
      const Bytes file = encode_png(picture, options);
      CAPTURE(kind.name, interlaced, size.width, size.height);
      const Picture whole = decode(decoder, as_bytes(file));
      REQUIRE(whole.size == size);
      REQUIRE(whole.pixels == rgb_of(kind, picture));
      check_windows(decoder, file, whole, random, 8);
    }
  }
}

TEST_CASE("WebP: lossless gives back what went in, windows are exact, alpha is dropped") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  for (int i = 0; i < 12; ++i) {
    const bc::ImageSize size{between(random, 1, 120), between(random, 1, 120)};
    const bool lossless = i % 2 == 0;
    const int channels = i % 4 < 2 ? 3 : 4;
    const Picture picture = noise(random, size, channels);
    const Bytes file = encode_webp(picture, lossless);
    CAPTURE(lossless, channels, size.width, size.height);
    const Picture whole = decode(decoder, as_bytes(file));
    REQUIRE(whole.size == size);
    if (lossless && channels == 3) REQUIRE(whole.pixels == picture.pixels);
    check_windows(decoder, file, whole, random, 12);
  }
}

TEST_CASE("Images: what is none of the formats is told by its content") {
  using namespace std::string_view_literals;
  refuses("", "empty");
  refuses("GIF89a......", "a GIF");
  refuses("BM..........", "a BMP");
  refuses("II*\0........"sv, "a TIFF");
  refuses(
      "\0\0\0\x1c"
      "ftypavif...."sv,
      "an AVIF");
  refuses("<!DOCTYPE html><html><body>404 Not Found</body></html>", "HTML or XML");
  refuses("version https://git-lfs.github.com/spec/v1\noid sha256:", "Git LFS");
  refuses("just some words\n", "text");
  refuses("RIFF\x10\0\0\0WAVEfmt "sv, "RIFF file that is no WebP");
  refuses("\x89PNG\n\x1a\n......."sv, "line ends");
  refuses(std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0", 12), "zeros");
  refuses("\x01\x02\xfe\xff", "begin with 01 02 fe ff");
  refuses("\xff\xd8", "a JPEG damaged");
}

TEST_CASE("Images: formats are recognised by content") {
  Random random(4);
  ImageDecoder decoder;
  const std::vector<Bytes> files = one_of_each(random, {9, 7});
  const std::array formats = {ImageFormat::jpeg, ImageFormat::jpeg, ImageFormat::webp,
                              ImageFormat::webp, ImageFormat::png,  ImageFormat::png};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bc::detail::ImageInfo info = decoder.open(as_bytes(files[i]), limits);
    CHECK(info.format == formats[i]);
    CHECK(info.size == bc::ImageSize{9, 7});
    CHECK(info.orientation == 1);
  }
}

TEST_CASE("Images: of one pixel, one row and one column") {
  Random random(5);
  ImageDecoder decoder;
  for (const bc::ImageSize size : {bc::ImageSize{1, 1}, {1, 77}, {77, 1}}) {
    for (const Bytes& file : one_of_each(random, size)) {
      const Picture whole = decode(decoder, as_bytes(file));
      REQUIRE(whole.size == size);
      check_windows(decoder, file, whole, random, 4);
    }
  }
}

TEST_CASE("Images: more pixels than the limit are refused by the header, with both numbers") {
  Random random(6);
  ImageDecoder decoder;
  for (const Bytes& file : one_of_each(random, {20, 30})) {
    CHECK(decoder.open(as_bytes(file), {.pixels_max = 600}).size == bc::ImageSize{20, 30});
    CHECK_THROWS_WITH(decoder.open(as_bytes(file), {.pixels_max = 599}),
                      Contains("20 x 30") && Contains("600 pixels") && Contains("599"));
  }

  // The frame's header of a JPEG and IHDR of a PNG, claiming 30,000 x 30,000.
  Bytes jpeg = encode_jpeg(noise(random, {8, 8}));
  const std::uint8_t marker[] = {0xFF, 0xC0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), std::begin(marker), std::end(marker));
  std::copy_n(
      std::begin({std::uint8_t{0x75}, std::uint8_t{0x30}, std::uint8_t{0x75}, std::uint8_t{0x30}}),
      4, frame + 5);
  CHECK_THROWS_WITH(decoder.open(as_bytes(jpeg), {.pixels_max = 178'956'970}),
                    Contains("30000 x 30000") && Contains("900000000") && Contains("178956970"));
  std::fill_n(frame + 5, 4, std::uint8_t{0xFF});
  CHECK_THROWS_AS(decoder.open(as_bytes(jpeg), {.pixels_max = 178'956'970}), bc::BadSample);
}

TEST_CASE("Images: a truncated one is a bad sample wherever it is cut, and the next one is fine") {
  Random random(7);
  ImageDecoder decoder;
  const Bytes good = encode_jpeg(noise(random, {30, 20}));
  const Picture expected = decode(decoder, as_bytes(good));
  for (const Bytes& file : one_of_each(random, {60, 50})) {
    // The last bytes are what no pixel needs: JPEG's end marker, PNG's checksum and IEND.
    for (std::size_t size = 12; size < file.size() - 20; size += 1 + file.size() / 150) {
      CAPTURE(size, file.size(), file[0]);
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      REQUIRE_THROWS_AS(decode(decoder, as_bytes(cut)), bc::BadSample);
    }
    REQUIRE(decode(decoder, as_bytes(good)).pixels == expected.pixels);
  }
}

TEST_CASE("Images: whatever is broken is a bad sample or pixels, never worse") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  int refused = 0;
  for (const Bytes& file : one_of_each(random, {60, 50})) {
    for (int i = 0; i < 150; ++i) {
      Bytes broken = file;
      for (int hits = between(random, 1, 3); hits > 0; --hits) {
        broken[random() % (i % 2 == 0 ? broken.size() : 64)] = static_cast<std::uint8_t>(random());
      }
      try {
        const bc::detail::ImageInfo info = decoder.open(as_bytes(broken), {.pixels_max = 1 << 20});
        (void)read_window(decoder, random_window(random, info.size));
      } catch (const bc::BadSample&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("PNG: a checksum that does not match is a bad sample") {
  Random random(8);
  ImageDecoder decoder;
  for (const bool interlaced : {false, true}) {
    const Bytes file = encode_png(noise(random, {60, 50}), {.interlaced = interlaced});
    REQUIRE(decode(decoder, as_bytes(file)).size == bc::ImageSize{60, 50});
    Bytes broken = file;
    broken[8 + 8 + 13] ^= 1;  // of IHDR
    CHECK_THROWS_AS(decode(decoder, as_bytes(broken)), bc::BadSample);
    broken = file;
    broken[broken.size() - 12 - 1] ^= 1;  // of the last IDAT
    CHECK_THROWS_AS(decode(decoder, as_bytes(broken)), bc::BadSample);
    broken = file;
    broken[broken.size() / 2] ^= 1;
    CHECK_THROWS_AS(decode(decoder, as_bytes(broken)), bc::BadSample);
  }
}

TEST_CASE("PNG: chunks that make no pixels are passed over, whatever is in them") {
  using namespace std::string_view_literals;
  Random random(10);
  ImageDecoder decoder;
  const Picture picture = noise(random, {33, 22});
  Bytes file = encode_png(picture);
  constexpr std::size_t behind_header = 8 + 25;
  for (const std::string_view chunk : {"\0\0\0\0eXIf...."sv, "\0\0\0\0zTXt...."sv,
                                       "\0\0\0\4gAMA\0\0\0\0...."sv, "\0\0\0\2iCCPab...."sv}) {
    file.insert(file.begin() + behind_header, chunk.begin(), chunk.end());
  }
  CHECK(decode(decoder, as_bytes(file)).pixels == picture.pixels);

  // One that claims to be longer than the file.
  const std::string_view endless = "\x7f\xff\xff\xfftEXt...."sv;
  file.insert(file.begin() + behind_header, endless.begin(), endless.end());
  CHECK_THROWS_WITH(decode(decoder, as_bytes(file)), Contains("truncated"));
}

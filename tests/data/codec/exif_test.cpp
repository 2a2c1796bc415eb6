// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/exif.hpp"

#include <string>

#include "image_support.hpp"

using namespace image_test;
using bc::detail::exif_orientation;

namespace {

void append(Bytes& bytes, std::uint32_t value, int size, bool big_endian) {
  for (int i = 0; i < size; ++i) {
    const int shift = 8 * (big_endian ? size - 1 - i : i);
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

struct TiffOptions {
  bool big_endian = false;
  std::uint32_t type = 3;
  std::uint32_t count = 1;
  std::uint32_t directory = 8;
};

/// A directory of two entries, the second being the orientation.
Bytes tiff(std::uint32_t orientation, const TiffOptions& options = {}) {
  const bool big = options.big_endian;
  Bytes bytes(2, big ? 'M' : 'I');
  append(bytes, 42, 2, big);
  append(bytes, options.directory, 4, big);
  append(bytes, 2, 2, big);
  append(bytes, 0x0100, 2, big);
  append(bytes, 4, 2, big);
  append(bytes, 1, 4, big);
  append(bytes, 640, 4, big);
  append(bytes, 0x0112, 2, big);
  append(bytes, options.type, 2, big);
  append(bytes, options.count, 4, big);
  append(bytes, orientation, options.type == 3 ? 2 : 4, big);
  if (options.type == 3) append(bytes, 0, 2, big);
  append(bytes, 0, 4, big);
  return bytes;
}

void append(Bytes& bytes, std::string_view text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::string prefix() { return {"Exif\0\0", 6}; }

Bytes jpeg_with(const Bytes& exif, const Bytes& file) {
  Bytes result = {0xFF, 0xD8, 0xFF, 0xE1};
  append(result, static_cast<std::uint32_t>(exif.size() + 8), 2, true);
  append(result, prefix());
  append(result, exif);
  result.insert(result.end(), file.begin() + 2, file.end());
  return result;
}

std::uint32_t crc32(const std::uint8_t* bytes, std::size_t size) {
  std::uint32_t crc = 0xFFFF'FFFF;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xEDB8'8320 : 0);
  }
  return ~crc;
}

/// The chunk behind IHDR, or before IEND.
Bytes png_with(const Bytes& exif, const Bytes& file, bool behind_pixels) {
  Bytes chunk;
  append(chunk, static_cast<std::uint32_t>(exif.size()), 4, true);
  append(chunk, "eXIf");
  append(chunk, exif);
  append(chunk, crc32(chunk.data() + 4, chunk.size() - 4), 4, true);
  Bytes result = file;
  const auto at = behind_pixels ? result.end() - 12 : result.begin() + 8 + 25;
  result.insert(at, chunk.begin(), chunk.end());
  return result;
}

/// `file` is simple lossy WebP: RIFF, size, WEBP and one chunk.
Bytes webp_with(const Bytes& exif, const Bytes& file, bc::ImageSize size) {
  Bytes chunks;
  append(chunks, "WEBPVP8X");
  append(chunks, 10, 4, false);
  append(chunks, 0x08, 4, false);
  append(chunks, static_cast<std::uint32_t>(size.width - 1), 3, false);
  append(chunks, static_cast<std::uint32_t>(size.height - 1), 3, false);
  chunks.insert(chunks.end(), file.begin() + 12, file.end());
  append(chunks, "EXIF");
  append(chunks, static_cast<std::uint32_t>(exif.size()), 4, false);
  append(chunks, exif);
  if (exif.size() % 2 != 0) chunks.push_back(0);
  Bytes result;
  append(result, "RIFF");
  append(result, static_cast<std::uint32_t>(chunks.size()), 4, false);
  append(result, chunks);
  return result;
}

int orientation_in(const Bytes& file) {
  ImageDecoder decoder;
  const bc::detail::ImageInfo info = decoder.open(as_bytes(file), limits);
  (void)read_window(decoder, {0, 0, info.size.width, info.size.height});
  return info.orientation;
}

}  // namespace

TEST_CASE("EXIF: the orientation is found in both byte orders, with and without a prefix") {
  for (std::uint32_t orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      for (const std::uint32_t type : {3U, 4U}) {
        const Bytes bytes = tiff(orientation, {.big_endian = big_endian, .type = type});
        CHECK(exif_orientation(as_bytes(bytes)) == static_cast<int>(orientation));
        Bytes prefixed(6);
        std::copy_n("Exif", 4, prefixed.begin());
        append(prefixed, bytes);
        CHECK(exif_orientation(as_bytes(prefixed)) == static_cast<int>(orientation));
      }
    }
  }
}

TEST_CASE("EXIF: what is absent or broken means 1") {
  CHECK(exif_orientation({}) == 1);
  CHECK(exif_orientation(as_bytes(tiff(0))) == 1);
  CHECK(exif_orientation(as_bytes(tiff(9))) == 1);
  CHECK(exif_orientation(as_bytes(tiff(6, {.type = 2}))) == 1);
  CHECK(exif_orientation(as_bytes(tiff(6, {.count = 0x8000'0000}))) == 1);
  for (const std::uint32_t directory : {0U, 9U, 36U, 0x7FFF'FFFFU, 0xFFFF'FFFEU, 0xFFFF'FFFFU}) {
    CAPTURE(directory);
    CHECK(exif_orientation(as_bytes(tiff(6, {.directory = directory}))) == 1);
  }
  const Bytes whole = tiff(6);
  for (std::size_t size = 0; size + 4 < whole.size(); ++size) {
    // A copy of exactly that size, for tools that see reads beyond it.
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CAPTURE(size);
    CHECK(exif_orientation(as_bytes(cut)) == 1);
  }
  Bytes other_magic = whole;
  other_magic[2] = 43;
  CHECK(exif_orientation(as_bytes(other_magic)) == 1);
}

TEST_CASE("EXIF: is read from JPEG, PNG and WebP, and never worse than ignored") {
  Random random(9);
  const bc::ImageSize size{21, 13};
  const Picture picture = noise(random, size);
  const Bytes jpeg = encode_jpeg(picture);
  const Bytes png = encode_png(picture);
  const Bytes webp = encode_webp(picture, false);
  for (std::uint32_t value = 1; value <= 8; ++value) {
    const Bytes exif = tiff(value, {.big_endian = value % 2 == 0});
    const int expected = static_cast<int>(value);
    CHECK(orientation_in(jpeg_with(exif, jpeg)) == expected);
    CHECK(orientation_in(png_with(exif, png, false)) == expected);
    CHECK(orientation_in(png_with(exif, png, true)) == expected);
    CHECK(orientation_in(webp_with(exif, webp, size)) == expected);
  }
  for (const std::size_t kept : {0U, 1U, 9U, 20U}) {
    Bytes exif = tiff(6);
    exif.resize(kept);
    CAPTURE(kept);
    CHECK(orientation_in(jpeg_with(exif, jpeg)) == 1);
    CHECK(orientation_in(png_with(exif, png, false)) == 1);
    CHECK(orientation_in(webp_with(exif, webp, size)) == 1);
  }
  // The first one counts.
  CHECK(orientation_in(jpeg_with(tiff(3), jpeg_with(tiff(8), jpeg))) == 3);
}

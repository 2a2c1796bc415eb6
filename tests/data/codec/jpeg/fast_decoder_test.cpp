// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <optional>

#include "data/codec/codec.hpp"
#include "data/codec/image_support.hpp"
#include "data/codec/jpeg/fast_decoder.hpp"
#include "data/codec/jpeg/pixels.hpp"
#include "data/codec/jpeg/progressive_writer.hpp"
#include "data/codec/jpeg/random_jpeg.hpp"

using namespace image_test;

namespace {

using bc::detail::ImageCodec;

struct Codecs {
  std::unique_ptr<ImageCodec> ours = bc::detail::make_jpeg_codec();
  std::unique_ptr<ImageCodec> library = bc::detail::make_libjpeg_codec();
};

/// The pixels of `window`, or nothing where the codec refuses; in calls of `at_once` rows.
std::optional<Bytes> outcome(ImageCodec& codec, const Bytes& file, const bc::Box& window,
                             std::size_t at_once) {
  std::optional<Bytes> pixels;
  try {
    const bc::detail::ImageInfo info = codec.open(as_bytes(file));
    if (window.x + window.width <= info.size.width &&
        window.y + window.height <= info.size.height) {
      const bc::detail::RowLayout layout = codec.start(window);
      const auto width = 3 * static_cast<std::size_t>(window.width);
      const auto height = static_cast<std::size_t>(window.height);
      Bytes rows(layout.byte_count * at_once);
      Bytes rgb;
      for (std::size_t done = 0; done < height; done += at_once) {
        const std::size_t count = std::min(at_once, height - done);
        codec.read(rows.data(), layout.byte_count, count);
        for (std::size_t row = 0; row < count; ++row) {
          const std::uint8_t* first = rows.data() + row * layout.byte_count + 3 * layout.skip;
          rgb.insert(rgb.end(), first, first + width);
        }
      }
      pixels = std::move(rgb);
    }
  } catch (const bc::BadSample&) {
    pixels.reset();
  }
  codec.close();
  return pixels;
}

void check_same(Codecs& codecs, const Bytes& file, const bc::Box& window, Random& random) {
  const auto at_once = static_cast<std::size_t>(between(random, 1, 40));
  CAPTURE(window.x, window.y, window.width, window.height, at_once);
  const std::optional<Bytes> ours = outcome(*codecs.ours, file, window, at_once);
  const std::optional<Bytes> theirs = outcome(*codecs.library, file, window, at_once);
  REQUIRE(ours.has_value() == theirs.has_value());
  // Not by REQUIRE: it would print them.
  const bool same = ours == theirs;
  REQUIRE(same);
}

std::size_t scan_of(const Bytes& file) {
  const std::uint8_t marker[] = {0xFF, 0xDA};
  const auto found = std::search(file.begin(), file.end(), std::begin(marker), std::end(marker));
  REQUIRE(found != file.end());
  return static_cast<std::size_t>(found - file.begin()) + 14;
}

}  // namespace

TEST_CASE("Fast JPEG: pixels are libjpeg's, whatever the sampling, size, codes and window") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  Codecs codecs;
  for (int i = 0; i < 150; ++i) {
    const Made made = random_file(random, i % 3 == 0 ? 20 : 200);
    CAPTURE(i, made.size.width, made.size.height);
    for (int choice = 0; choice < 9; ++choice) {
      check_same(codecs, made.file, some_window(random, made.size, choice), random);
    }
  }
}

TEST_CASE(
    "Fast JPEG: clean files need no libjpeg, whatever the order of a progressive one's scans") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  bc::detail::JpegHeader header;
  bc::detail::JpegWindowDecoder decoder;
  for (int i = 0; i < 100; ++i) {
    const Made made = random_file(random, 100, i % 4 == 0 ? Way::one_scan : Way::progressive);
    CAPTURE(i, made.size.width, made.size.height);
    // Unusual sampling is libjpeg's, as is chroma of one or two columns.
    if (!bc::detail::read_jpeg_header(as_bytes(made.file), header)) continue;
    const bc::Box window = some_window(random, made.size, i);
    REQUIRE(decoder.start(header, as_bytes(made.file), window));
    Bytes row(3 * static_cast<std::size_t>(window.width) + bc::detail::jpeg_row_slack);
    for (int y = 0; y < window.height; ++y) REQUIRE(decoder.read_row(row.data()));
  }
  const Bytes usual = encode_jpeg(noise(random, {50, 40}), {.progressive = true});
  REQUIRE(bc::detail::read_jpeg_header(as_bytes(usual), header));
  CHECK(header.is_progressive);
}

TEST_CASE("Fast JPEG: progressive files that are right, but that no encoder writes") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  Codecs codecs;
  bc::detail::JpegHeader header;
  bc::detail::JpegWindowDecoder decoder;
  int ours = 0;
  for (int i = 0; i < 200; ++i) {
    ProgressiveWriter writer(random);
    const Bytes file = writer.write();
    CAPTURE(i, writer.size().width, writer.size().height);
    for (int choice = 0; choice < 4; ++choice) {
      check_same(codecs, file, some_window(random, writer.size(), choice), random);
    }
    if (!bc::detail::read_jpeg_header(as_bytes(file), header)) continue;
    if (decoder.start(header, as_bytes(file), {0, 0, 1, 1})) ++ours;
  }
  // libjpeg's are those with more than 64 scans, values beyond 16 bits, or chroma of two columns.
  CHECK(ours > 60);
}

TEST_CASE("Fast JPEG: progressive files that leave something out, or come twice, are libjpeg's") {
  Random random(6);
  Codecs codecs;
  bc::detail::JpegHeader header;
  std::vector<bc::detail::JpegScan> scans;
  const bc::ImageSize size{60, 50};
  const Bytes file = encode_jpeg(noise(random, size), {.progressive = true});
  REQUIRE(bc::detail::read_jpeg_header(as_bytes(file), header));
  REQUIRE(bc::detail::read_jpeg_scans(as_bytes(file), scans));
  REQUIRE(scans.size() == 10);
  // Where its marker is, or that of its codes.
  const auto begin_of = [&](std::size_t scan) {
    const std::span before = scans[scan - 1].bytes;
    std::size_t at = 0;
    while (before[at] != 0xFF || before[at + 1] == 0) ++at;
    return static_cast<std::ptrdiff_t>(file.size() - before.size() + at);
  };
  for (std::size_t scan = 1; scan + 1 < scans.size(); ++scan) {
    const auto begin = file.begin() + begin_of(scan);
    const auto end = file.begin() + begin_of(scan + 1);
    Bytes without(file.begin(), begin);
    without.insert(without.end(), end, file.end());
    Bytes twice(file.begin(), end);
    twice.insert(twice.end(), begin, file.end());
    CAPTURE(scan);
    for (const Bytes& odd : {without, twice}) {
      CHECK_FALSE(bc::detail::read_jpeg_scans(as_bytes(odd), scans));
      check_same(codecs, odd, {0, 0, size.width, size.height}, random);
    }
    REQUIRE(bc::detail::read_jpeg_scans(as_bytes(file), scans));
  }
}

TEST_CASE("Fast JPEG: a first scan that is none is refused with the header") {
  Random random(7);
  Codecs codecs;
  for (const bool progressive : {false, true}) {
    const Bytes file = encode_jpeg(noise(random, {40, 24}), {.progressive = progressive});
    for (int change = 0; change < 14; ++change) {
      Bytes odd = file;
      odd[scan_of(file) - 14 + static_cast<std::size_t>(change)] ^= 0x85;
      CAPTURE(progressive, change);
      const auto info = [&odd](ImageCodec& codec) -> std::optional<int> {
        try {
          const int width = codec.open(as_bytes(odd)).size.width;
          codec.close();
          return width;
        } catch (const bc::BadSample&) {
          codec.close();
          return {};
        }
      };
      CHECK(info(*codecs.ours) == info(*codecs.library));
      check_same(codecs, odd, {0, 0, 40, 24}, random);
    }
  }
}

TEST_CASE("Fast JPEG: bytes between a progressive file's scans that belong to none") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  Codecs codecs;
  std::vector<bc::detail::JpegScan> scans;
  for (int i = 0; i < 30; ++i) {
    const Made made = random_file(random, 60, Way::progressive);
    if (!bc::detail::read_jpeg_scans(as_bytes(made.file), scans)) continue;
    for (const bc::detail::JpegScan& scan : scans) {
      // Behind the scan: its marker is the first that is neither stuffing nor a restart.
      std::size_t at = 0;
      const auto is_of_scan = [](int after) { return after == 0 || (after >> 3) == 0xD0 >> 3; };
      while (scan.bytes[at] != 0xFF || is_of_scan(scan.bytes[at + 1])) ++at;
      Bytes file = made.file;
      const auto behind = static_cast<std::ptrdiff_t>(file.size() - scan.bytes.size() + at);
      file.insert(file.begin() + behind, static_cast<std::size_t>(between(random, 1, 3)),
                  static_cast<std::uint8_t>(random() % 255));
      CAPTURE(i, scan.first, scan.last, scan.lowest_bit, scan.refines);
      check_same(codecs, file, {0, 0, made.size.width, made.size.height}, random);
    }
  }
}

TEST_CASE("Fast JPEG: files cut short come out as from libjpeg") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  Codecs codecs;
  for (int i = 0; i < 60; ++i) {
    const Made made = random_file(random, 120);
    for (int cut = 0; cut < 12; ++cut) {
      Bytes file = made.file;
      // Every length around the end counts: there it is told apart whether libjpeg reads on.
      const int size = static_cast<int>(file.size());
      file.resize(static_cast<std::size_t>(
          cut < 8 ? std::max(size - cut - between(random, 0, 20), 0) : between(random, 0, size)));
      if (cut % 4 == 3) file.insert(file.end(), {0xFF, 0xD9});
      CAPTURE(i, cut, made.size.width, made.size.height, made.file.size(), file.size());
      check_same(codecs, file, some_window(random, made.size, cut), random);
    }
  }
}

TEST_CASE("Fast JPEG: damaged files come out as from libjpeg") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  Codecs codecs;
  for (int i = 0; i < 60; ++i) {
    const Made made = random_file(random, 120);
    const std::size_t scan = scan_of(made.file);
    for (int damage = 0; damage < 14; ++damage) {
      Bytes file = made.file;
      for (int change = between(random, 1, 3); change > 0; --change) {
        // A change before this one may have made the file shorter.
        const std::size_t begin = damage % 2 == 0 ? std::min(scan, file.size() - 1) : 0;
        const auto at = static_cast<std::size_t>(
            between(random, static_cast<int>(begin), static_cast<int>(file.size()) - 1));
        const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
        switch (random() % 5) {
          case 0:
            file.insert(place, static_cast<std::uint8_t>(random()));
            break;
          case 1:
            file.erase(place);
            break;
          case 2:
            *place = 0xFF;
            break;
          default:
            *place = static_cast<std::uint8_t>(*place ^ 1U << random() % 8);
        }
      }
      CAPTURE(i, damage, made.size.width, made.size.height);
      check_same(codecs, file, some_window(random, made.size, damage), random);
    }
  }
}

TEST_CASE("Fast JPEG: quantizers that no encoder writes") {
  Random random(5);
  Codecs codecs;
  const bc::ImageSize size{90, 70};
  for (const int dc : {1, 4, 16, 40, 255}) {
    for (const int ac : {0, 1, 30, 255}) {
      Bytes file = encode_jpeg(noise(random, size), {.quality = 100});
      const std::uint8_t marker[] = {0xFF, 0xDB};
      auto from = file.begin();
      for (int table = 0; table < 2; ++table) {
        from = std::search(from, file.end(), std::begin(marker), std::end(marker)) + 5;
        REQUIRE(from < file.end());
        *from = static_cast<std::uint8_t>(dc);
        std::fill(from + 1, from + 64, static_cast<std::uint8_t>(ac));
      }
      CAPTURE(dc, ac);
      check_same(codecs, file, {0, 0, size.width, size.height}, random);
    }
  }
}

TEST_CASE("Fast JPEG: scaled down by libjpeg") {
  Random random(4);
  Codecs codecs;
  const Bytes file = encode_jpeg(noise(random, {100, 60}));
  for (const auto& codec : {codecs.ours.get(), codecs.library.get()}) {
    (void)codec->open(as_bytes(file));
    CHECK(codec->scale_down(1) == bc::ImageSize{100, 60});
    CHECK(codec->scale_down(4) == bc::ImageSize{25, 15});
    codec->close();
  }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <optional>

#include "data/codec/image_support.hpp"
#include "data/codec/jpeg/fast_decoder.hpp"
#include "data/codec/jpeg/kept_blocks.hpp"
#include "data/codec/jpeg/kept_form.hpp"
#include "data/codec/jpeg/kept_writer.hpp"
#include "data/codec/jpeg/pixels.hpp"
#include "data/codec/jpeg/random_jpeg.hpp"
#include "data/resample/forced_level.hpp"

using namespace image_test;

namespace {

namespace detail = bc::detail;

constexpr std::int64_t any_size = std::int64_t{1} << 40;

/// The rows of `window`; the decoder has the image open.
Bytes rows_of(ImageDecoder& decoder, const bc::Box& window) {
  const detail::RowLayout layout = decoder.start(window);
  const auto width = 3 * static_cast<std::size_t>(window.width);
  Bytes row(layout.byte_count);
  Bytes rgb;
  for (std::int32_t y = 0; y < window.height; ++y) {
    REQUIRE(decoder.read(row.data(), row.size(), 1) == 1);
    const std::uint8_t* const first = row.data() + 3 * layout.skip;
    rgb.insert(rgb.end(), first, first + width);
  }
  return rgb;
}

Bytes of_file(ImageDecoder& decoder, const Bytes& file, const bc::Box& window) {
  static_cast<void>(decoder.open(as_bytes(file), limits));
  return rows_of(decoder, window);
}

Bytes of_entry(ImageDecoder& decoder, std::span<const std::byte> entry, const bc::Box& window) {
  static_cast<void>(decoder.open_kept(entry, limits));
  return rows_of(decoder, window);
}

/// Whether our own decoder reads the whole file.
bool is_clean(const Bytes& file) {
  detail::JpegHeader header;
  detail::JpegWindowDecoder decoder;
  if (!detail::read_jpeg_header(as_bytes(file), header)) return false;
  const bc::Box all{0, 0, header.size.width, header.size.height};
  if (!decoder.start(header, as_bytes(file), all)) return false;
  Bytes row(3 * static_cast<std::size_t>(all.width) + detail::jpeg_row_slack);
  for (std::int32_t y = 0; y < all.height; ++y) {
    if (!decoder.read_row(row.data())) return false;
  }
  return true;
}

/// Every SIMD level of this machine, and the best one without VBMI.
template <class Check>
void at_each_level(Check check) {
  for (const std::int64_t level : detail::simd_levels()) {
    const bc::test::ForcedLevel forced(level);
    INFO("SIMD level " << detail::simd_level_name(level));
    for (const bool vbmi : {true, false}) {
      detail::allow_kept_vbmi(vbmi);
      INFO("VBMI allowed: " << vbmi);
      check();
    }
    detail::allow_kept_vbmi(true);
  }
}

/// An entry and the slack behind it, in memory of that size, so that a sanitizer sees what is read
/// beyond.
struct Entry {
  explicit Entry(std::span<const std::byte> bytes) : size(bytes.size()) {
    memory.resize(size + detail::kept_slack);
    std::memcpy(memory.data(), bytes.data(), size);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory.data(), size}; }

  std::vector<std::byte> memory;
  std::size_t size;
};

}  // namespace

TEST_CASE("Kept JPEG: windows have the file's pixels, at every SIMD level") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  ImageDecoder from_kept;
  detail::KeptWriter writer;
  int kept = 0;
  for (int i = 0; i < 60; ++i) {
    const Made made = random_file(random, i % 3 == 0 ? 20 : 200);
    CAPTURE(i, made.size.width, made.size.height);
    const auto written = writer.write(as_bytes(made.file), any_size);
    REQUIRE(written.empty() != is_clean(made.file));
    if (written.empty()) continue;
    ++kept;
    const Entry entry(written);
    for (int choice = 0; choice < 6; ++choice) {
      const bc::Box window = some_window(random, made.size, choice);
      CAPTURE(window.x, window.y, window.width, window.height);
      const Bytes expected = of_file(decoder, made.file, window);
      at_each_level([&] {
        // Not by REQUIRE: it would print them.
        const bool same = of_entry(from_kept, entry.bytes(), window) == expected;
        REQUIRE(same);
      });
    }
  }
  CHECK(kept > 20);
}

TEST_CASE("Kept JPEG: an entry has the same bytes, whatever SIMD level made it") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  detail::KeptWriter writer;
  for (int i = 0; i < 40; ++i) {
    const Made made = random_file(random, 120);
    const auto first = writer.write(as_bytes(made.file), any_size);
    const std::vector<std::byte> expected(first.begin(), first.end());
    at_each_level([&] {
      const auto again = writer.write(as_bytes(made.file), any_size);
      const bool same = std::equal(again.begin(), again.end(), expected.begin(), expected.end());
      REQUIRE(same);
    });
  }
}

TEST_CASE("Kept JPEG: any coefficients come back, at every SIMD level") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  std::array<std::uint16_t, 64> table;
  for (auto& step : table) step = static_cast<std::uint16_t>(between(random, 1, 255));
  for (int turn = 0; turn < 200; ++turn) {
    // The largest value says how wide they are kept; now and then all 63 are there.
    const int most = std::array{1, 5, 17, 127, 2000}[static_cast<std::size_t>(turn % 5)];
    if (most == 2000) table.fill(16);
    detail::KeptQuantizer quantizer;
    quantizer.set(table);
    const auto count = static_cast<std::size_t>(between(random, 1, 9));
    std::vector<detail::JpegBlock> blocks(count);
    std::vector<std::int16_t> dcs;
    for (detail::JpegBlock& block : blocks) {
      const int share = std::array{0, 5, 50, 100}[random() % 4];
      for (std::int16_t& value : block.coefficients) {
        const bool is_set = between(random, 1, 100) <= share;
        value = static_cast<std::int16_t>(is_set ? between(random, -most, most) : 0);
      }
      block.coefficients[0] = static_cast<std::int16_t>(between(random, -100, 100));
      dcs.push_back(block.coefficients[0]);
    }
    at_each_level([&] {
      Bytes heads(count);
      Bytes lengths(count);
      std::vector<std::uint8_t> bodies(count * detail::kept_body_max + 2 * detail::kept_slack);
      const auto bytes = detail::pack_kept_blocks(blocks.data(), count, quantizer, heads.data(),
                                                  lengths.data(), bodies.data());
      REQUIRE(bytes.has_value());
      std::vector<detail::JpegBlock> back(count);
      detail::expand_kept_blocks({heads.data(), lengths.data(), bodies.data(), dcs.data()}, count,
                                 quantizer, back.data());
      for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(turn, i);
        for (std::size_t k = 0; k < 64; ++k) {
          const int expected = blocks[i].coefficients[k] * quantizer.natural[k];
          if (back[i].coefficients[k] != expected) {
            FAIL("coefficient " << k << " is " << back[i].coefficients[k] << ", not " << expected);
          }
        }
      }
    });
  }
}

TEST_CASE("Kept JPEG: a product beyond 16 bits is not kept") {
  std::array<std::uint16_t, 64> table;
  std::vector<detail::JpegBlock> blocks(1);
  Bytes room(detail::kept_body_max + 2 * detail::kept_slack);
  const auto is_packed = [&](std::uint16_t step, std::size_t at, std::int16_t value) {
    table.fill(step);
    detail::KeptQuantizer quantizer;
    quantizer.set(table);
    blocks[0].coefficients.fill(0);
    blocks[0].coefficients[at] = value;
    std::uint8_t head = 0;
    std::uint8_t length = 0;
    return detail::pack_kept_blocks(blocks.data(), 1, quantizer, &head, &length, room.data())
        .has_value();
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
    CHECK(is_packed(255, at, 128));
    CHECK_FALSE(is_packed(255, at, 129));
    CHECK(is_packed(256, at, -128));
    CHECK_FALSE(is_packed(256, at, -129));
    CHECK_FALSE(is_packed(40000, at, 1));
  }
}

TEST_CASE("Kept JPEG: a file whose coefficients leave 16 bits is not kept, at any SIMD level") {
  Random random(3);
  JpegOptions options;
  options.quality = 100;
  Picture white = noise(random, {64, 64});
  std::fill(white.pixels.begin(), white.pixels.end(), std::uint8_t{255});
  // The file, and which steps of its quantizers become others than it was made for.
  struct Case {
    Bytes file;
    std::size_t first;
    std::size_t count;
  };
  detail::KeptWriter writer;
  for (const Case& one : {Case{encode_jpeg(white, options), 0, 1},
                          Case{encode_jpeg(noise(random, {64, 64}), options), 1, 63}}) {
    CAPTURE(one.first);
    Bytes file = one.file;
    std::size_t tables = 0;
    for (std::size_t at = 0; at + 69 < file.size(); ++at) {
      if (file[at] != 0xFF || file[at + 1] != 0xDB) continue;
      const auto steps = static_cast<std::ptrdiff_t>(at + 5 + one.first);
      std::fill_n(file.begin() + steps, one.count, std::uint8_t{255});
      ++tables;
    }
    REQUIRE(tables > 0);
    REQUIRE_FALSE(is_clean(file));
    at_each_level([&] {
      CHECK(writer.write(as_bytes(file), any_size).empty());
      CHECK_FALSE(writer.write(as_bytes(one.file), any_size).empty());
    });
  }
}

TEST_CASE("Kept JPEG: what is damaged or unusual anywhere is not kept") {
  Random random(1);
  detail::KeptWriter writer;
  const Bytes clean = encode_jpeg(noise(random, {80, 60}));
  REQUIRE_FALSE(writer.write(as_bytes(clean), any_size).empty());
  CHECK(writer.write(as_bytes(clean), 80 * 60 - 1).empty());
  Bytes cut(clean.begin(), clean.end() - 40);
  CHECK(writer.write(as_bytes(cut), any_size).empty());
  const Bytes unusual =
      encode_jpeg(noise(random, {80, 60}), {.sampling = {{4, 1}, {1, 1}, {1, 1}}});
  CHECK(writer.write(as_bytes(unusual), any_size).empty());
  const Bytes none(100, 7);
  CHECK(writer.write(as_bytes(none), any_size).empty());
  CHECK_FALSE(writer.write(as_bytes(clean), any_size).empty());
}

TEST_CASE("Kept JPEG: an entry is smaller than its coefficients, and what it says is true") {
  Random random(2);
  detail::KeptWriter writer;
  JpegOptions options;
  options.quality = 92;
  const Bytes file = encode_jpeg(noise(random, {400, 300}), options);
  const auto entry = writer.write(as_bytes(file), any_size);
  CHECK(entry.size() < 2 * file.size());
  ImageDecoder decoder;
  const detail::ImageInfo info = decoder.open_kept(entry, limits);
  CHECK(info.size.width == 400);
  CHECK(info.size.height == 300);
  CHECK(info.channels == 3);
  CHECK(info.format == detail::ImageFormat::jpeg);
  CHECK_THROWS_AS(decoder.open_kept(entry, {.pixels_max = 400 * 300 - 1}), bc::BadSample);
  CHECK_THROWS_AS(decoder.open_kept(entry, {.pixels_max = 1 << 24, .mode = bc::PixelMode::index}),
                  bc::BadSample);
}

TEST_CASE("Kept JPEG: damaged entries are refused or give some pixels") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  ImageDecoder decoder;
  detail::KeptWriter writer;
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    const Made made = random_file(random, 80);
    const auto written = writer.write(as_bytes(made.file), any_size);
    if (written.empty()) continue;
    const bc::Box all{0, 0, made.size.width, made.size.height};
    for (int turn = 0; turn < 60; ++turn) {
      Entry entry(written);
      for (int hits = between(random, 1, 6); hits > 0; --hits) {
        // Half of them where sizes and offsets are.
        const std::size_t end =
            random() % 2 == 0 ? std::min<std::size_t>(entry.size, 600) : entry.size;
        entry.memory[random() % end] ^= static_cast<std::byte>(1U << (random() % 8));
      }
      if (turn % 10 == 0) entry.size = random() % entry.size;
      try {
        const detail::ImageInfo info = decoder.open_kept(entry.bytes(), limits);
        if (info.size == made.size) static_cast<void>(rows_of(decoder, all));
      } catch (const bc::BadSample&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 0);
}

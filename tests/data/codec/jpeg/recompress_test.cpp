// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/recompress.hpp"
#include "data/codec/decoder.hpp"
#include "data/resample/forced_level.hpp"
#include "data/stage/stage_support.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "data/codec/image_support.hpp"

using namespace image_test;
using namespace batchcast::detail;

namespace {

struct Sampling {
  JpegSampling ours;
  std::vector<std::pair<int, int>> theirs;
};

const std::vector<Sampling> samplings = {
    {JpegSampling::full, {{1, 1}, {1, 1}, {1, 1}}},
    {JpegSampling::half_across, {{2, 1}, {1, 1}, {1, 1}}},
    {JpegSampling::half, {{2, 2}, {1, 1}, {1, 1}}},
};

/// Bytes beside the image stay as they are.
Bytes recompressed(const Picture& picture, const JpegQuality& quality) {
  constexpr std::size_t around = 100;
  Bytes room(around, 0xA5);
  room.insert(room.end(), picture.pixels.begin(), picture.pixels.end());
  room.insert(room.end(), around, 0xA5);
  batchcast::test::StageScratch scratch(
      recompress_scratch_bytes(picture.size, picture.channels, quality.sampling));
  jpeg_recompress({room.data() + around, picture.size, picture.channels}, quality, scratch.span());
  CHECK(std::count(room.begin(), room.begin() + around, 0xA5) == around);
  CHECK(std::count(room.end() - around, room.end(), 0xA5) == around);
  return {room.begin() + around, room.end() - around};
}

/// Through a file, written and read by libjpeg.
Bytes through_file(const Picture& picture, int quality, const Sampling& sampling) {
  JpegOptions options{.quality = quality};
  if (picture.channels == 1) {
    options.in = options.stored = JCS_GRAYSCALE;
  } else {
    options.sampling = sampling.theirs;
  }
  const Bytes file = encode_jpeg(picture, options);
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg_start_decompress(&jpeg);
  Bytes pixels(picture.pixels.size());
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.data() + jpeg.output_scanline * picture.stride();
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return pixels;
}

Picture extremes(Random& random, batchcast::ImageSize size, int channels) {
  Picture picture{size, channels, {}};
  for (int i = 0; i < size.width * size.height * channels; ++i) {
    picture.pixels.push_back(random() % 2 == 0 ? 0 : 255);
  }
  return picture;
}

void compare(Random& random, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const batchcast::ImageSize size{between(random, 1, round % 4 == 0 ? 140 : 40),
                                    between(random, 1, 40)};
    const int channels = round % 5 == 0 ? 1 : 3;
    const Picture picture =
        round % 3 == 0 ? extremes(random, size, channels) : noise(random, size, channels);
    const int quality = round % 7 == 0 ? 100 : between(random, 1, 100);
    for (const Sampling& sampling : samplings) {
      INFO(size.width << " x " << size.height << ", " << channels << " channels, quality "
                      << quality << ", sampling " << static_cast<int>(sampling.ours));
      REQUIRE(recompressed(picture, {quality, sampling.ours}) ==
              through_file(picture, quality, sampling));
    }
  }
}

}  // namespace

TEST_CASE("recompressed pixels are those of a JPEG that libjpeg-turbo wrote and read") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  compare(random, 150);
}

TEST_CASE("recompressed pixels are the same at every SIMD level") {
  for (const std::int64_t level : simd_levels()) {
    INFO(simd_level_name(level));
    const batchcast::test::ForcedLevel forced(level);
    Random random(11);
    compare(random, 30);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/box_blur.hpp"
#include "data/resample/forced_level.hpp"
#include "data/stage/stage_support.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Pixels = std::vector<std::uint8_t>;

namespace {

Pixels noise(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  Pixels pixels(count);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() % 256);
  return pixels;
}

Pixels blurred(Pixels pixels, ImageSize size, std::int32_t channels, double radius) {
  StageScratch scratch(detail::pil_blur_scratch_bytes(size, channels));
  detail::pil_gaussian_blur({pixels.data(), size, channels}, radius, scratch.span());
  return pixels;
}

/// The largest difference of a blurred edge from a normal distribution's share.
double off_by(double radius) {
  constexpr std::int32_t width = 400;
  Pixels edge(width, 0);
  std::fill(edge.begin() + width / 2, edge.end(), std::uint8_t{255});
  const Pixels made = blurred(edge, {width, 1}, 1, radius);
  double most = 0;
  for (std::int32_t x = 0; x < width; ++x) {
    const double wanted = 255 * std::erfc((width / 2 - x - 0.5) / radius / std::sqrt(2.0)) / 2;
    most = std::max(most, std::abs(wanted - made[static_cast<std::size_t>(x)]));
  }
  return most;
}

}  // namespace

TEST_CASE("PIL's blur: three boxes are nearly a normal distribution") {
  for (const double radius : {1.5, 3.0, 10.0, 30.0}) {
    INFO("radius " << radius);
    CHECK(off_by(radius) < 4);
  }
}

TEST_CASE("PIL's blur: one level stays, radius 0 changes nothing, a radius beyond the image does") {
  for (const double radius : {0.3, 2.0, 50.0, 1000.0}) {
    CHECK(blurred(Pixels(3 * 35, 200), {7, 5}, 3, radius) == Pixels(3 * 35, 200));
  }
  const Pixels pixels = noise(3, 3 * 35);
  CHECK(blurred(pixels, {7, 5}, 3, 0) == pixels);
  const Pixels flat = blurred(pixels, {7, 5}, 3, 1000);
  for (std::size_t c = 0; c < 3; ++c) {
    const int level = flat[c];
    for (std::size_t i = c; i < flat.size(); i += 3) CHECK(std::abs(flat[i] - level) <= 1);
  }
}

TEST_CASE("PIL's blur: every SIMD level makes the same bytes") {
  const ImageSize size{67, 41};
  for (const std::int32_t channels : {1, 3}) {
    const Pixels pixels = noise(7, 67 * 41 * static_cast<std::size_t>(channels));
    for (const double radius : {0.4, 1.9, 7.0, 20.0, 90.0}) {
      const Pixels best = blurred(pixels, size, channels, radius);
      CHECK(best != pixels);
      for (const std::int64_t level : detail::simd_levels()) {
        INFO(detail::simd_level_name(level) << ", radius " << radius);
        const ForcedLevel forced(level);
        CHECK(blurred(pixels, size, channels, radius) == best);
      }
    }
  }
}

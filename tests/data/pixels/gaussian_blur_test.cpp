// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/gaussian_blur.hpp"
#include "data/resample/forced_level.hpp"
#include "data/stage/stage_support.hpp"

#include <cmath>
#include <random>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using detail::Blur;

namespace {

// In double precision and two dimensions, pixel by pixel.
double blurred(const std::vector<std::uint8_t>& pixels, ImageSize size, std::size_t channels,
               const Blur& blur, std::int32_t x, std::int32_t y, std::size_t c) {
  const auto mirrored = [](std::int32_t at, std::int32_t extent) {
    return at < 0 ? -at : at < extent ? at : 2 * (extent - 1) - at;
  };
  double sum = 0;
  double weights = 0;
  for (std::int32_t dy = -blur.down.kernel / 2; dy <= blur.down.kernel / 2; ++dy) {
    for (std::int32_t dx = -blur.across.kernel / 2; dx <= blur.across.kernel / 2; ++dx) {
      const double weight = std::exp(-dx * dx / (2 * blur.across.sigma * blur.across.sigma) -
                                     dy * dy / (2 * blur.down.sigma * blur.down.sigma));
      const auto column = static_cast<std::size_t>(mirrored(x + dx, size.width));
      const auto row = static_cast<std::size_t>(mirrored(y + dy, size.height));
      const std::size_t at = (row * static_cast<std::size_t>(size.width) + column) * channels + c;
      sum += weight * pixels[at];
      weights += weight;
    }
  }
  return sum / weights;
}

std::vector<std::uint8_t> noise(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint8_t> pixels(count);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() % 256);
  return pixels;
}

std::vector<std::uint8_t> run(std::vector<std::uint8_t> pixels, ImageSize size,
                              std::int32_t channels, const Blur& blur) {
  StageScratch scratch(detail::blur_scratch_bytes(size, channels, blur));
  detail::gaussian_blur({pixels.data(), size, channels}, blur, scratch.span());
  return pixels;
}

}  // namespace

TEST_CASE("Blur: each pixel is the weighted mean of what is around it, mirrored at the edges") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  for (int round = 0; round < 40; ++round) {
    const std::int32_t channels = below(2) == 0 ? 1 : 3;
    const Blur blur{{2 * below(6) + 1, 0.1 + below(40) / 10.0},
                    {2 * below(6) + 1, 0.1 + below(40) / 10.0}};
    const ImageSize size{blur.across.kernel / 2 + 1 + below(20),
                         blur.down.kernel / 2 + 1 + below(20)};
    REQUIRE(detail::can_blur(size, blur));
    const auto pixels = noise(random, ImageView{nullptr, size, channels}.byte_count());
    const auto made = run(pixels, size, channels, blur);
    double worst = 0;
    std::size_t at = 0;
    for (std::int32_t y = 0; y < size.height; ++y) {
      for (std::int32_t x = 0; x < size.width; ++x) {
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c, ++at) {
          const double wanted =
              blurred(pixels, size, static_cast<std::size_t>(channels), blur, x, y, c);
          worst = std::max(worst, std::abs(made[at] - wanted));
        }
      }
    }
    REQUIRE(worst < 0.501);
  }
}

TEST_CASE("Blur: every SIMD level makes the same bytes") {
  const std::vector<std::int64_t> levels = detail::simd_levels();
  std::mt19937_64 random(3);
  const ImageSize size{67, 41};
  const auto pixels = noise(random, 67 * 41 * 3);
  const Blur blur{{23, 2.7}, {11, 1.3}};
  const auto best = run(pixels, size, 3, blur);
  std::vector<float> plane(pixels.begin(), pixels.begin() + 67 * 41);
  const auto floats = [&] {
    std::vector<float> made = plane;
    StageScratch scratch(detail::blur_scratch_bytes(size, 1, blur));
    detail::gaussian_blur(made.data(), size, blur, scratch.span());
    return made;
  };
  const std::vector<float> best_floats = floats();
  for (const std::int64_t level : levels) {
    INFO(detail::simd_level_name(level));
    const ForcedLevel forced(level);
    CHECK(run(pixels, size, 3, blur) == best);
    CHECK(floats() == best_floats);
  }
}

TEST_CASE("Blur: what cannot be mirrored") {
  CHECK(detail::can_blur({3, 3}, {{5, 1}, {5, 1}}));
  CHECK_FALSE(detail::can_blur({2, 3}, {{5, 1}, {5, 1}}));
  CHECK_FALSE(detail::can_blur({3, 2}, {{5, 1}, {5, 1}}));
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"

#include "data/resample/forced_level.hpp"
#include "data/stage/stage_support.hpp"

#include <algorithm>
#include <random>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Pixels = std::vector<std::uint8_t>;

namespace {

Pixels noise(std::mt19937_64& random, std::size_t count) {
  Pixels pixels(count);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() % 256);
  return pixels;
}

Pixels sharpened(Pixels pixels, ImageSize size, std::int32_t channels, double factor) {
  StageScratch scratch(detail::sharpness_scratch_bytes(size, channels));
  detail::adjust_sharpness({pixels.data(), size, channels}, factor, scratch.span());
  return pixels;
}

}  // namespace

TEST_CASE("Operations: sharpness is PIL's sum in single precision, pixel by pixel") {
  std::mt19937_64 random(17);
  for (const std::int32_t channels : {1, 3}) {
    const ImageSize size{53, 29};
    const std::size_t row = 53 * static_cast<std::size_t>(channels);
    const Pixels pixels = noise(random, row * 29);
    const Pixels made = sharpened(pixels, size, channels, 2.5);
    Pixels wanted = pixels;
    const auto step = static_cast<std::size_t>(channels);
    for (std::size_t y = 1; y < 28; ++y) {
      for (std::size_t i = step; i < row - step; ++i) {
        float sum = 0.5F;
        for (const std::size_t other : {y + 1, y, y - 1}) {
          const std::uint8_t* at = pixels.data() + other * row + i;
          const float middle = other == y ? 5.0F / 13.0F : 1.0F / 13.0F;
          sum += static_cast<float>(*(at - step)) * (1.0F / 13.0F) +
                 static_cast<float>(*at) * middle + static_cast<float>(at[step]) * (1.0F / 13.0F);
        }
        const int smooth = static_cast<int>(sum);
        const float blended =
            static_cast<float>(smooth) + 2.5F * static_cast<float>(pixels[y * row + i] - smooth);
        wanted[y * row + i] = static_cast<std::uint8_t>(std::clamp(blended, 0.0F, 255.0F));
      }
    }
    CHECK(made == wanted);
  }
}

TEST_CASE("Operations: every SIMD level makes the same bytes") {
  std::mt19937_64 random(5);
  const ImageSize size{61, 23};
  const Pixels pixels = noise(random, 61 * 23 * 3);
  const auto coloured = [&](double factor) {
    Pixels made = pixels;
    detail::adjust_saturation({made.data(), size, 3}, factor);
    return made;
  };
  const auto warped = [&] {
    Pixels all;
    Pixels made(pixels.size());
    Pixels source = pixels;
    const ImageView in{source.data(), size, 3};
    const ImageView out{made.data(), size, 3};
    for (const Interpolation interpolation :
         {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic}) {
      detail::rotate(in, out, 33, std::nullopt, {interpolation, {7, 8, 9}});
      all.insert(all.end(), made.begin(), made.end());
      const auto matrix = detail::perspective_matrix(size, {{{5, 2}, {57, 0}, {60, 20}, {1, 22}}});
      detail::warp_perspective(in, out, *matrix, {interpolation, {7, 8, 9}});
      all.insert(all.end(), made.begin(), made.end());
    }
    return all;
  };
  const Pixels bent = warped();
  const Pixels sharp = sharpened(pixels, size, 3, 1.7);
  const Pixels vivid = coloured(2.3);
  const Pixels pale = coloured(0.3);
  for (const std::int64_t level : detail::simd_levels()) {
    INFO(detail::simd_level_name(level));
    const ForcedLevel forced(level);
    CHECK(sharpened(pixels, size, 3, 1.7) == sharp);
    CHECK(warped() == bent);
    CHECK(coloured(2.3) == vivid);
    CHECK(coloured(0.3) == pale);
  }
}

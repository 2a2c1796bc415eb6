// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"
#include "data/resample/kernels.hpp"
#include "forced_level.hpp"
#include "resampler_reference.hpp"

#include <batchcast/core/dtype.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace batchcast;
using namespace batchcast::test;
using batchcast::detail::PixelFormat;
using batchcast::detail::Resampler;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int32_t from_to(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(engine_);
  }
  bool one_in(std::int32_t n) { return from_to(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from_to(0, static_cast<std::int32_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

Image random_image(Dice& dice, ImageSize size, std::int32_t channels) {
  // Flat images tell whether sums are clipped, extremes whether they overflow.
  const std::int32_t low = dice.one_of({0, 0, 0, 255});
  const std::int32_t step = dice.one_of({1, 1, 1, 255});
  return make_image(size, channels, [&](auto, auto, auto) {
    return static_cast<std::uint8_t>(low == 255 ? 255 : dice.from_to(0, 255 / step) * step);
  });
}

PixelFormat random_format(Dice& dice) {
  PixelFormat format{.dtype = dice.one_of({DType::u8, DType::f16, DType::bf16, DType::f32}),
                     .layout = dice.one_of({ImageLayout::chw, ImageLayout::hwc})};
  format.bgr = dice.one_in(3);
  for (std::size_t c = 0; c < 3; ++c) {
    // Up to what overflows f16, down to its subnormals.
    const float size = dice.one_of({1e-8f, 1e-6f, 1e-3f, 0.0171247f, 1.0f, 300.0f});
    format.scale[c] = size * static_cast<float>(dice.from_to(-1000, 1000)) / 777.0f;
    format.bias[c] = dice.one_of({0.0f, -2.117904f, size * 3.3f});
  }
  return format;
}

Box random_box(Dice& dice, ImageSize in) {
  Box box;
  box.width = dice.one_in(4) ? in.width : dice.from_to(1, in.width);
  box.height = dice.one_in(4) ? in.height : dice.from_to(1, in.height);
  box.x = dice.from_to(0, in.width - box.width);
  box.y = dice.from_to(0, in.height - box.height);
  return box;
}

Geometry random_geometry(Dice& dice, ImageSize image, std::int32_t size_max) {
  Geometry g = Geometry::of(image);
  g.box = random_box(dice, image);
  const auto out = [&](std::int32_t in) {
    return dice.one_in(4) ? in : dice.one_in(8) ? 1 : dice.from_to(1, size_max);
  };
  g.resized = {out(g.box.width), out(g.box.height)};
  const auto window = [&](std::int32_t size, std::int32_t& first, std::int32_t& count) {
    switch (dice.from_to(0, 3)) {
      case 0:
        first = 0, count = size;
        break;
      case 1:
        count = dice.from_to(1, size), first = dice.from_to(0, size - count);
        break;
      case 2:
        first = -dice.from_to(0, 9), count = size + dice.from_to(0, 9) - first;
        break;
      default:
        first = dice.from_to(-2 * size, 2 * size), count = dice.from_to(1, 2 * size);
        break;
    }
  };
  window(g.resized.width, g.window.x, g.window.width);
  window(g.resized.height, g.window.y, g.window.height);
  g.flip_x = dice.one_in(2);
  g.flip_y = dice.one_in(2);
  g.padding = dice.one_of(
      {PaddingMode::constant, PaddingMode::edge, PaddingMode::reflect, PaddingMode::symmetric});
  g.fill = static_cast<std::uint8_t>(dice.from_to(0, 255));
  g.as_pillow_13 = dice.one_in(3);
  g.interpolation =
      dice.one_of({Interpolation::bilinear, Interpolation::bilinear, Interpolation::nearest,
                   Interpolation::bicubic, Interpolation::lanczos, Interpolation::box});
  return g;
}

std::string described(const Geometry& g, std::int32_t channels, const PixelFormat& f) {
  const auto box = [](const Box& b) {
    return std::to_string(b.width) + "x" + std::to_string(b.height) + "+" + std::to_string(b.x) +
           "+" + std::to_string(b.y);
  };
  return "box " + box(g.box) + " resized " + std::to_string(g.resized.width) + "x" +
         std::to_string(g.resized.height) + (g.as_pillow_13 ? " as Pillow 13" : "") + " by " +
         std::to_string(static_cast<int>(g.interpolation)) + " window " + box(g.window) +
         " flips " + std::to_string(g.flip_x) + std::to_string(g.flip_y) + " padding " +
         std::to_string(static_cast<int>(g.padding)) + " channels " + std::to_string(channels) +
         " " + std::string(name_of(f.dtype)) + (f.layout == ImageLayout::chw ? " chw" : " hwc") +
         (f.bgr ? " bgr" : "");
}

/// What the resampler makes of `image`, whose rows come `at_once`. Rows and output end where
/// their memory does, which sanitizers watch; the bytes around the output are watched here.
std::vector<std::byte> made(Resampler& resampler, const Image& image, const Geometry& g,
                            const PixelFormat& format, std::size_t at_once) {
  const std::size_t byte_count = static_cast<std::size_t>(g.window.width) *
                                 static_cast<std::size_t>(g.window.height) *
                                 static_cast<std::size_t>(image.channels) * size_of(format.dtype);
  constexpr std::size_t guard = 64;
  std::vector<std::byte> out(byte_count + 2 * guard, std::byte{0xA5});
  const Box wanted = resampler.begin(g, image.channels, format, out.data() + guard);
  REQUIRE(wanted.width > 0);
  REQUIRE(wanted.height > 0);
  REQUIRE((wanted.x >= g.box.x && wanted.x + wanted.width <= g.box.x + g.box.width));
  REQUIRE((wanted.y >= g.box.y && wanted.y + wanted.height <= g.box.y + g.box.height));
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t stride = static_cast<std::size_t>(wanted.width) * channels + at_once % 3;
  const auto rows = static_cast<std::size_t>(wanted.height);
  for (std::size_t r = 0; r < rows; r += at_once) {
    const std::size_t count = std::min(at_once, rows - r);
    const std::size_t bytes =
        stride * (count - 1) + static_cast<std::size_t>(wanted.width) * channels;
    const auto pushed = std::make_unique<std::uint8_t[]>(bytes);
    for (std::size_t i = 0; i < count; ++i) {
      const auto y = static_cast<std::size_t>(wanted.y) + r + i;
      const std::uint8_t* const from =
          image.pixels.data() +
          (y * static_cast<std::size_t>(image.size.width) + static_cast<std::size_t>(wanted.x)) *
              channels;
      std::copy_n(from, static_cast<std::size_t>(wanted.width) * channels,
                  pushed.get() + i * stride);
    }
    resampler.push(pushed.get(), stride, count);
  }
  const auto is_guard = [](std::byte b) { return b == std::byte{0xA5}; };
  REQUIRE(std::all_of(out.begin(), out.begin() + guard, is_guard));
  REQUIRE(std::all_of(out.end() - guard, out.end(), is_guard));
  return {out.begin() + guard, out.end() - guard};
}

void check(Resampler& resampler, const Image& image, const Geometry& g, const PixelFormat& format,
           std::size_t at_once) {
  INFO(described(g, image.channels, format) << " rows at once " << at_once);
  const std::vector<std::byte> expected = elements(shown(image, g), format);
  const std::vector<std::byte> bytes = made(resampler, image, g, format, at_once);
  const auto wrong = std::mismatch(bytes.begin(), bytes.end(), expected.begin(), expected.end());
  INFO("first wrong byte " << wrong.first - bytes.begin() << " of " << expected.size());
  REQUIRE(bytes.size() == expected.size());
  REQUIRE(wrong.first == bytes.end());
}

constexpr std::size_t all_rows = 100'000;

std::size_t rows_at_once(Dice& dice) { return dice.one_of<std::size_t>({1, 7, 16, 32, all_rows}); }

}  // namespace

TEST_CASE("resampler: random geometries equal the steps one after another", "[resampler]") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Dice dice(seed);
  Resampler used;
  for (int round = 0; round < 1500; ++round) {
    const ImageSize size{dice.from_to(1, 90), dice.from_to(1, 90)};
    const Image image = random_image(dice, size, dice.one_of({1, 3}));
    const Geometry g = random_geometry(dice, size, 100);
    // A new one has no buffers yet; another one has what the images before left in them.
    Resampler fresh;
    check(dice.one_in(3) ? fresh : used, image, g, random_format(dice), rows_at_once(dice));
  }
}

TEST_CASE("resampler: extreme ratios and sizes", "[resampler]") {
  Dice dice(7);
  Resampler resampler;
  struct Case {
    ImageSize in;
    ImageSize out;
  };
  for (const auto& [in, out] :
       {Case{{3000, 2}, {224, 224}}, Case{{2, 3000}, {224, 224}}, Case{{1, 1}, {224, 224}},
        Case{{640, 480}, {1, 1}}, Case{{3000, 3}, {1, 1}}, Case{{5, 3000}, {5, 1}},
        Case{{300, 301}, {224, 224}}, Case{{500, 375}, {341, 256}}, Case{{1, 500}, {1, 20}}}) {
    for (const std::int32_t channels : {1, 3}) {
      const Image image = random_image(dice, in, channels);
      Geometry g = Geometry::of(in);
      g.resize(out);
      for (const bool as_pillow_13 : {false, true}) {
        g.as_pillow_13 = as_pillow_13;
        check(resampler, image, g, random_format(dice), rows_at_once(dice));
      }
    }
  }
}

TEST_CASE("resampler: Pillow 13 takes the vertical pass first where the height shrinks most",
          "[resampler]") {
  const auto first = [](ImageSize in, ImageSize out, bool as_pillow_13 = true) {
    Geometry g = Geometry::of(in);
    g.resize(out);
    g.as_pillow_13 = as_pillow_13;
    return g.vertical_pass_first();
  };
  CHECK(first({224, 400}, {200, 300}));
  CHECK_FALSE(first({224, 400}, {200, 300}, false));
  CHECK_FALSE(first({250, 400}, {200, 300}));
  CHECK(first({249, 400}, {200, 300}));
  CHECK(first({200, 301}, {300, 300}));
  CHECK_FALSE(first({200, 300}, {300, 300}));
  CHECK_FALSE(first({200, 299}, {300, 300}));
  // And it matters.
  Dice dice(13);
  const Image image = random_image(dice, {60, 200}, 3);
  CHECK(resized(image, {50, 90}, true).pixels != resized(image, {50, 90}, false).pixels);
}

TEST_CASE("resampler: so many taps that none weighs anything make black", "[resampler]") {
  detail::AxisTaps axis;
  for (const std::int32_t out : {1, 2}) {
    axis.compute(40'000'000, out);
    for (const detail::Taps& taps : axis.taps) {
      CHECK(taps.count == 1);
      CHECK(taps.first >= 0);
      CHECK(taps.first < axis.in);
      CHECK(*axis.weights_of(taps) == 0);
    }
  }
}

TEST_CASE("resampler: nothing is changed where nothing is asked for", "[resampler]") {
  Dice dice(11);
  Resampler resampler;
  for (const ImageSize size : {ImageSize{28, 28}, ImageSize{32, 32}, ImageSize{5, 3}}) {
    for (const std::int32_t channels : {1, 3}) {
      const Image image = random_image(dice, size, channels);
      for (int round = 0; round < 20; ++round) {
        check(resampler, image, Geometry::of(size), random_format(dice), rows_at_once(dice));
      }
    }
  }
}

TEST_CASE("resampler: asks for no more of the image than it uses", "[resampler]") {
  Resampler resampler;
  std::vector<std::byte> out(3 * 224 * 224);
  Geometry g = Geometry::of({1000, 1000});
  g.crop({100, 200, 512, 512});
  g.resize({256, 256});
  g.crop({16, 16, 224, 224});
  // Each output reaches two input pixels beyond its own two.
  const Box wanted = resampler.begin(g, 3, {}, out.data());
  CHECK(wanted == Box{131, 231, 450, 450});

  g = Geometry::of({50, 40});
  g.pad(100, 100, 100, 100, PaddingMode::constant, 9);
  g.crop({0, 0, 20, 20});
  CHECK(resampler.begin(g, 3, {}, out.data()).size() == ImageSize{1, 1});
}

TEST_CASE("resampler: every SIMD level gives the same bytes", "[resampler]") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const std::vector<std::int64_t> levels = batchcast::detail::simd_levels();
  CHECK_FALSE(levels.empty());
  for (const std::int64_t level : levels) {
    const ForcedLevel forced(level);
    INFO(batchcast::detail::simd_level_name(level));
    REQUIRE(batchcast::detail::simd_levels() == std::vector<std::int64_t>{level});
    Dice dice(seed);
    Resampler resampler;
    for (int round = 0; round < 200; ++round) {
      const ImageSize size{dice.from_to(1, 200), dice.from_to(1, 60)};
      const Image image = random_image(dice, size, dice.one_of({1, 3}));
      const Geometry g = random_geometry(dice, size, 100);
      check(resampler, image, g, random_format(dice), rows_at_once(dice));
    }
  }
}

TEST_CASE("resampler: 16-bit floats are the nearest, also subnormal and overflowing",
          "[resampler]") {
  Resampler resampler;
  const Image image =
      make_image({256, 1}, 1, [](auto x, auto, auto) { return static_cast<std::uint8_t>(x); });
  for (const float scale : {257.0f, 256.9f, 1e-7f, 2.98023224e-8f, 5e-9f, 1.0f / 255, 1e36f, 2e36f,
                            1e-40f, 0.0f, -300.0f, 8.00390625f}) {
    for (const float bias : {0.0f, 65504.0f, -2.1179039f, 1.0009765625f, 1.00048828125f}) {
      for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
        const PixelFormat format{.dtype = dtype, .scale = {scale}, .bias = {bias}};
        check(resampler, image, Geometry::of(image.size), format, all_rows);
      }
    }
  }
}

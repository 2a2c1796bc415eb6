// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/pixel_mover.hpp"

#include "catch.hpp"
#include "data/resample/resampler_reference.hpp"

#include <algorithm>
#include <random>
#include <type_traits>

namespace {

using namespace batchcast;
using namespace batchcast::test;
using detail::PixelFormat;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int32_t from_to(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(engine_);
  }
  bool one_in(std::int32_t n) { return from_to(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

Image random_image(Dice& dice, ImageSize size, std::int32_t channels) {
  return make_image(size, channels, [&](auto, auto, auto) {
    return static_cast<std::uint8_t>(dice.from_to(0, 255));
  });
}

Geometry random_geometry(Dice& dice, ImageSize size) {
  Geometry geometry = Geometry::of(size);
  Box part{0, 0, dice.from_to(1, size.width), dice.from_to(1, size.height)};
  part.x = dice.from_to(0, size.width - part.width);
  part.y = dice.from_to(0, size.height - part.height);
  geometry.crop(part);
  if (dice.one_in(2)) geometry.resize({dice.from_to(1, 40), dice.from_to(1, 40)});
  if (dice.one_in(2)) geometry.flip_horizontally();
  if (dice.one_in(2)) geometry.flip_vertically();
  if (dice.one_in(2)) {
    geometry.pad(dice.from_to(0, 5), dice.from_to(0, 5), dice.from_to(0, 5), dice.from_to(0, 5),
                 static_cast<PaddingMode>(dice.from_to(0, 3)), 77);
  }
  geometry.interpolation = Interpolation::nearest;
  return geometry;
}

/// An image whose levels are `low` + 256 × `high`, or `low` alone where they have 8 bits.
template <class Level>
std::vector<Level> levels(const Image& low, const Image& high) {
  std::vector<Level> made(low.pixels.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = static_cast<Level>(low.pixels[i] + 256 * high.pixels[i]);
  }
  return made;
}

/// The levels of an image of that size as the format has them.
template <class Element, class Level>
std::vector<Element> elements(const std::vector<Level>& levels, std::size_t channels,
                              const PixelFormat& format) {
  const std::size_t area = levels.size() / channels;
  std::vector<Element> made(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::size_t c = i % channels;
    const std::size_t at = format.layout == ImageLayout::chw ? c * area + i / channels : i;
    if constexpr (std::is_same_v<Element, float>) {
      const volatile float product = static_cast<float>(levels[i]) * format.scale[c];
      made[at] = product + format.bias[c];
    } else {
      made[at] = levels[i];
    }
  }
  return made;
}

template <class Element, class Level>
void check(detail::PixelMover<Level>& mover, Dice& dice, PixelFormat format) {
  const ImageSize size{dice.from_to(1, 30), dice.from_to(1, 30)};
  const std::int32_t channels = dice.from_to(1, 4);
  const Image low = random_image(dice, size, channels);
  const Image high = random_image(dice, size, channels);
  const Geometry geometry = random_geometry(dice, size);
  Geometry of_high = geometry;
  of_high.fill = 0;
  const std::vector<Level> wanted = levels<Level>(shown(low, geometry), shown(high, of_high));

  const std::vector<Level> in = levels<Level>(low, high);
  std::vector<Element> out(wanted.size());
  const Box part =
      mover.begin(geometry, channels, format, reinterpret_cast<std::byte*>(out.data()));
  REQUIRE(part == Box{0, 0, size.width, size.height});
  const std::size_t stride = static_cast<std::size_t>(size.width * channels) * sizeof(Level);
  const auto rows = static_cast<std::size_t>(size.height);
  const auto at_once = static_cast<std::size_t>(dice.from_to(1, 16));
  for (std::size_t row = 0; row < rows; row += at_once) {
    mover.push(reinterpret_cast<const std::uint8_t*>(in.data()) + row * stride, stride,
               std::min(at_once, rows - row));
  }
  CHECK(out == elements<Element>(wanted, static_cast<std::size_t>(channels), format));
}

template <class Level>
void check_all(std::uint64_t seed) {
  CAPTURE(seed);
  Dice dice(seed);
  detail::PixelMover<Level> mover;
  for (int i = 0; i < 300; ++i) {
    PixelFormat format{.dtype = sizeof(Level) == 1 ? DType::u8 : DType::u16};
    format.layout = dice.one_in(2) ? ImageLayout::chw : ImageLayout::hwc;
    check<Level>(mover, dice, format);
    format.dtype = DType::f32;
    format.scale = {0.01F, 0.02F, 0.003F, 1.0F};
    format.bias = {-1.0F, 0.5F, 0.25F, 3.0F};
    check<float>(mover, dice, format);
  }
}

}  // namespace

TEST_CASE(
    "PixelMover: pixels of 8 and 16 bits go where the geometry says, rows pushed in any runs") {
  check_all<std::uint8_t>(20261);
  check_all<std::uint16_t>(20262);
}

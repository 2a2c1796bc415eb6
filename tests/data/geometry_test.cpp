// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"
#include "data/resample/resampler_reference.hpp"

#include <batchcast/data/geometry.hpp>

#include <cstdint>
#include <random>
#include <string>

namespace {

using namespace batchcast;
using namespace batchcast::test;

/// A geometry and the image that its steps made one after another.
class Steps {
 public:
  Steps(ImageSize size, std::uint64_t seed)
      : engine_(seed), geometry_(Geometry::of(size)), original_(numbered(size)), now_(original_) {}

  void take_one() {
    switch (from_to(0, 4)) {
      case 0:
        crop();
        break;
      case 1:
        resize();
        break;
      case 2:
        pad();
        break;
      case 3:
        flip(true);
        break;
      default:
        flip(false);
        break;
    }
  }

  [[nodiscard]] bool agrees() const {
    return geometry_.output() == now_.size && shown(original_, geometry_).pixels == now_.pixels;
  }
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  static Image numbered(ImageSize size) {
    return make_image(size, 1, [](auto x, auto y, auto) {
      return static_cast<std::uint8_t>(x * 37 + y * 101 + x * y);
    });
  }
  std::int32_t from_to(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(engine_);
  }

  void crop() {
    const ImageSize in = geometry_.output();
    Box part;
    part.width = from_to(1, in.width);
    part.height = from_to(1, in.height);
    part.x = from_to(0, in.width - part.width);
    part.y = from_to(0, in.height - part.height);
    log_ += " crop";
    if (resized_ || padded_) cropped_after_ = true;
    geometry_.crop(part);
    now_ = cropped(now_, part);
  }

  // Weights are not quite symmetric, so mirroring comes after resizing.
  void resize() {
    if (resized_ || padded_ || geometry_.flip_x || geometry_.flip_y) return;
    const ImageSize size{from_to(1, 30), from_to(1, 30)};
    log_ += " resize";
    resized_ = true;
    geometry_.resize(size);
    now_ = resized(now_, size);
  }

  void pad() {
    if (padded_ || cropped_after_) return;
    padded_ = true;
    const std::int32_t left = from_to(0, 40);
    const std::int32_t top = from_to(0, 40);
    const std::int32_t right = from_to(0, 40);
    const std::int32_t bottom = from_to(1, 40);
    const auto mode = static_cast<PaddingMode>(from_to(0, 3));
    log_ += " pad" + std::to_string(static_cast<int>(mode));
    const auto fill = static_cast<std::uint8_t>(from_to(0, 255));
    const ImageSize in = geometry_.output();
    geometry_.pad(left, top, right, bottom, mode, fill);
    now_ = windowed(now_, {-left, -top, left + in.width + right, top + in.height + bottom}, mode,
                    fill);
  }

  void flip(bool horizontally) {
    log_ += horizontally ? " flip_x" : " flip_y";
    horizontally ? geometry_.flip_horizontally() : geometry_.flip_vertically();
    now_ = flipped(now_, horizontally, !horizontally);
  }

  std::mt19937_64 engine_;
  Geometry geometry_;
  Image original_;
  Image now_;
  bool resized_ = false;
  bool padded_ = false;
  bool cropped_after_ = false;
  std::string log_;
};

}  // namespace

TEST_CASE("geometry: steps together are the steps one after another", "[geometry]") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  for (std::uint64_t round = 0; round < 800; ++round) {
    const auto side = static_cast<std::int32_t>(round % 23 + 1);
    Steps steps({side, 24 - side}, seed + round);
    for (int step = 0; step < 6; ++step) {
      steps.take_one();
      INFO("round " << round << steps.log());
      REQUIRE(steps.agrees());
    }
  }
}

TEST_CASE("geometry: a crop before resizing bounds what resizing sees", "[geometry]") {
  Geometry g = Geometry::of({100, 80});
  g.crop({10, 20, 50, 40});
  CHECK(g.box == Box{10, 20, 50, 40});
  g.crop({5, 5, 30, 30});
  CHECK(g.box == Box{15, 25, 30, 30});
  CHECK_FALSE(g.resizes());
  g.resize({60, 60});
  CHECK(g.resizes());
  g.crop({6, 7, 48, 48});
  CHECK(g.box == Box{15, 25, 30, 30});
  CHECK(g.window == Box{6, 7, 48, 48});
  CHECK(g.output() == ImageSize{48, 48});
}

TEST_CASE("geometry: a crop of a mirrored image is mirrored", "[geometry]") {
  Geometry g = Geometry::of({10, 10});
  g.flip_horizontally();
  g.crop({0, 0, 4, 3});
  CHECK(g.box == Box{6, 0, 4, 3});
  g.flip_horizontally();
  g.flip_vertically();
  g.pad(1, 2, 3, 4, PaddingMode::edge, 0);
  CHECK(g.window == Box{-1, -4, 8, 9});
}

TEST_CASE("geometry: resizing to the size that it has changes nothing", "[geometry]") {
  Geometry g = Geometry::of({10, 12});
  g.pad(1, 1, 1, 1, PaddingMode::reflect, 0);
  const Geometry before = g;
  g.resize({12, 14});
  CHECK(g == before);
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/color_adjust.hpp"
#include "stage_support.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"

namespace bc = batchcast;
using namespace batchcast::test;
using Pixels = std::vector<std::uint8_t>;

namespace {

Pixels noise(std::size_t count, std::uint64_t seed) {
  bc::Draws draws({.seed = seed}, 0);
  Pixels pixels(count);
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(draws.below(256));
  return pixels;
}

}  // namespace

TEST_CASE("colours change as PIL changes them") {
  // What PIL 9.4 gives for these pixels.
  const auto adjusted = [](auto adjust, double factor) {
    Pixels pixels = {200, 100, 50, 10, 20, 30, 255, 0, 128};
    adjust(bc::ImageView{pixels.data(), {3, 1}, 3}, factor);
    return pixels;
  };
  CHECK(adjusted(bc::detail::adjust_brightness, 1.5) ==
        Pixels{255, 150, 75, 15, 30, 45, 255, 0, 192});
  CHECK(adjusted(bc::detail::adjust_contrast, 0.5) ==
        Pixels{139, 89, 64, 44, 49, 54, 166, 39, 103});
  CHECK(adjusted(bc::detail::adjust_saturation, 0.25) ==
        Pixels{143, 118, 105, 16, 18, 21, 132, 68, 100});
  CHECK(adjusted(bc::detail::adjust_hue, 0.25) == Pixels{78, 200, 50, 29, 10, 30, 255, 240, 0});
}

TEST_CASE("jitter draws factors within its ranges and all 24 orders, and says them") {
  const auto stage =
      stage_as<bc::PixelStage>(R"(stage = "color_jitter", brightness = 0.4, contrast = [0.5, 2], )"
                               R"(saturation = 3, hue = 0.1)");
  std::set<double> orders;
  double hue_low = 1;
  double hue_high = -1;
  for (std::uint64_t id = 0; id < 600; ++id) {
    std::vector<bc::Note> notes;
    const Pixels in = noise(48, 1);
    const Pixels out = run_pixels(*stage, in, {4, 4}, 3, id, &notes);
    const double brightness = note_of(notes, "brightness");
    const double contrast = note_of(notes, "contrast");
    const double saturation = note_of(notes, "saturation");
    const double hue = note_of(notes, "hue");
    REQUIRE((brightness >= 0.6 && brightness < 1.4));
    REQUIRE((contrast >= 0.5 && contrast < 2));
    REQUIRE((saturation >= 0 && saturation < 4));
    REQUIRE((hue >= -0.1 && hue < 0.1));
    hue_low = std::min(hue_low, hue);
    hue_high = std::max(hue_high, hue);
    const double order = note_of(notes, "jitter_order");
    orders.insert(order);

    // What was noted is what was done.
    Pixels expected = in;
    const bc::ImageView view{expected.data(), {4, 4}, 3};
    for (int digit = 1000; digit > 0; digit /= 10) {
      switch (static_cast<int>(order) / digit % 10) {
        case 1:
          bc::detail::adjust_brightness(view, brightness);
          break;
        case 2:
          bc::detail::adjust_contrast(view, contrast);
          break;
        case 3:
          bc::detail::adjust_saturation(view, saturation);
          break;
        default:
          bc::detail::adjust_hue(view, hue);
          break;
      }
    }
    REQUIRE(out == expected);
  }
  CHECK(orders.size() == 24);
  CHECK(hue_low < -0.09);
  CHECK(hue_high > 0.09);
}

TEST_CASE("jitter of nothing changes nothing, whatever the colours") {
  const auto nothing = stage_as<bc::PixelStage>(R"(stage = "color_jitter")");
  const Pixels pixels = noise(300, 2);
  CHECK(run_pixels(*nothing, pixels, {10, 10}, 3, 1) == pixels);
  const auto colours =
      stage_as<bc::PixelStage>(R"(stage = "color_jitter", saturation = 1, hue = 0.5)");
  CHECK(run_pixels(*colours, pixels, {30, 10}, 1, 1) == pixels);
}

TEST_CASE("grayscale packs one channel, or keeps three alike") {
  const Pixels pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
  const auto one = stage_as<bc::PixelStage>(R"(stage = "grayscale")");
  CHECK(one->output_channels(3) == 1);
  Pixels packed = run_pixels(*one, pixels, {4, 1}, 3, 0);
  packed.resize(4);
  CHECK(packed == Pixels{76, 150, 29, 9});

  const auto three = stage_as<bc::PixelStage>(R"(stage = "grayscale", channels = 3)");
  CHECK(three->output_channels(3) == 3);
  CHECK(three->output_channels(1) == 1);
  CHECK(run_pixels(*three, pixels, {4, 1}, 3, 0) ==
        Pixels{76, 76, 76, 150, 150, 150, 29, 29, 29, 9, 9, 9});

  const auto at_times = stage_as<bc::PixelStage>(R"(stage = "grayscale", p = 0.2)");
  CHECK(at_times->output_channels(3) == 3);
  int gray = 0;
  for (std::uint64_t id = 0; id < 4000; ++id) {
    std::vector<bc::Note> notes;
    const bool same = run_pixels(*at_times, pixels, {4, 1}, 3, id, &notes) == pixels;
    REQUIRE(note_of(notes, "grayscale") == (same ? 0 : 1));
    gray += same ? 0 : 1;
  }
  CHECK(std::abs(gray - 800) < 130);
}

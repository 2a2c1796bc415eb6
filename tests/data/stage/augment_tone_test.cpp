// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"
#include "stage_support.hpp"

#include <algorithm>
#include <map>

#include "catch.hpp"

namespace bc = batchcast;
using namespace batchcast::test;
using Pixels = std::vector<std::uint8_t>;

namespace {

Pixels noise(std::size_t count) {
  bc::Draws draws({.seed = 3}, 0);
  Pixels pixels(count);
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(draws.below(200) + 20);
  return pixels;
}

}  // namespace

TEST_CASE("tones change as PIL changes them") {
  // What PIL 9.4 gives for these pixels.
  const auto changed = [](const std::string& parameters) {
    const auto stage = stage_as<bc::PixelStage>("stage = " + parameters + ", p = 1");
    return run_pixels(*stage, {200, 100, 50, 10, 20, 30, 255, 0, 128}, {3, 1}, 3);
  };
  CHECK(changed(R"("solarize", threshold = 100)") == Pixels{55, 155, 50, 10, 20, 30, 0, 0, 127});
  CHECK(changed(R"("posterize", bits = 2)") == Pixels{192, 64, 0, 0, 0, 0, 192, 0, 128});
  CHECK(changed(R"("invert")") == Pixels{55, 155, 205, 245, 235, 225, 0, 255, 127});
  CHECK(changed(R"("autocontrast")") == Pixels{197, 254, 52, 0, 51, 0, 255, 0, 255});
  // Too few pixels to equalize, and too small to be smoothed.
  CHECK(changed(R"("equalize")") == Pixels{200, 100, 50, 10, 20, 30, 255, 0, 128});
  CHECK(changed(R"("sharpness", sharpness_factor = 3)") ==
        Pixels{200, 100, 50, 10, 20, 30, 255, 0, 128});
}

TEST_CASE("sharpness mixes a pixel with its neighbours, and leaves the rim") {
  Pixels gray(9, 100);
  gray[4] = 152;
  const auto stage =
      stage_as<bc::PixelStage>(R"(stage = "sharpness", sharpness_factor = 0.5, p = 1)");
  // (8 × 100 + 5 × 152) / 13 is 120, and half way to 152 lies 136.
  Pixels wanted(9, 100);
  wanted[4] = 136;
  CHECK(run_pixels(*stage, gray, {3, 3}, 1) == wanted);
}

TEST_CASE("a tone is changed as often as its probability says, and noted") {
  const Pixels pixels = noise(3 * 400);
  for (const char* parameters :
       {R"(stage = "solarize", threshold = 100)", R"(stage = "posterize", bits = 3)",
        R"(stage = "autocontrast")", R"(stage = "equalize")",
        R"(stage = "sharpness", sharpness_factor = 3)", R"(stage = "invert")"}) {
    INFO(parameters);
    const auto stage = stage_as<bc::PixelStage>(parameters);
    int changed = 0;
    for (std::uint64_t id = 0; id < 400; ++id) {
      std::vector<bc::Note> notes;
      const bool other = run_pixels(*stage, pixels, {20, 20}, 3, id, &notes) != pixels;
      REQUIRE(note_of(notes, stage->name()) == (other ? 1 : 0));
      changed += other ? 1 : 0;
    }
    CHECK(std::abs(changed - 200) < 60);
    // Of one channel and of three it is the same stage.
    CHECK(stage->is_random());
    const auto always = stage_as<bc::PixelStage>(std::string(parameters) + ", p = 1");
    CHECK_FALSE(always->is_random());
    CHECK(run_pixels(*always, pixels, {40, 30}, 1) != pixels);
    const auto never = stage_as<bc::PixelStage>(std::string(parameters) + ", p = 0");
    CHECK(run_pixels(*never, pixels, {20, 20}, 3) == pixels);
  }
}

TEST_CASE("colour jitter with a probability leaves other images as they are") {
  const auto stage =
      stage_as<bc::PixelStage>(R"(stage = "color_jitter", brightness = [0.5, 0.6], p = 0.8)");
  const Pixels pixels = noise(300);
  int changed = 0;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    changed += run_pixels(*stage, pixels, {10, 10}, 3, id) == pixels ? 0 : 1;
  }
  CHECK(std::abs(changed - 800) < 65);
  // A jitter that is always done draws what it drew before it had a probability.
  const auto always = stage_as<bc::PixelStage>(R"(stage = "color_jitter", hue = 0.1, p = 1)");
  CHECK(always->parameters_json().find("\"p\"") == std::string::npos);
}

TEST_CASE("channels are permuted in all six ways, and a single one not at all") {
  const auto stage = stage_as<bc::PixelStage>(R"(stage = "random_channel_permutation")");
  std::map<double, int> orders;
  for (std::uint64_t id = 0; id < 3000; ++id) {
    std::vector<bc::Note> notes;
    const Pixels out = run_pixels(*stage, {1, 2, 3, 1, 2, 3}, {2, 1}, 3, id, &notes);
    const double order = note_of(notes, "channel_order");
    ++orders[order];
    REQUIRE(100 * out[0] + 10 * out[1] + out[2] == order);
    REQUIRE(100 * out[3] + 10 * out[4] + out[5] == order);
  }
  REQUIRE(orders.size() == 6);
  for (const auto& [order, count] : orders) CHECK(std::abs(count - 500) < 110);
  CHECK(run_pixels(*stage, {4, 5}, {2, 1}, 1) == Pixels{4, 5});
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "stage_support.hpp"

#include "catch.hpp"

#include <numeric>

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;
using Pixels = std::vector<std::uint8_t>;

namespace {

std::string fault_of(const PixelStage& stage, const Pixels& pixels, ImageSize size,
                     std::int32_t channels) {
  try {
    static_cast<void>(run_pixels(stage, pixels, size, channels));
  } catch (const BadSample& bad) {
    return bad.what();
  }
  return "nothing";
}

/// What comes out of colours, without what lies beyond.
Pixels ids_of(const std::string& stage, const Pixels& colors) {
  const auto count = static_cast<std::int32_t>(colors.size() / 3);
  Pixels made = run_pixels(*stage_as<PixelStage>(stage), colors, {count, 1}, 3);
  made.resize(colors.size() / 3);
  return made;
}

}  // namespace

TEST_CASE("map_ids makes ids of ids") {
  const auto stage = stage_as<PixelStage>(R"(stage = "map_ids", ids = [7, 0, 255], other = 9)");
  CHECK(run_pixels(*stage, {0, 7, 8, 255, 7, 254}, {3, 2}, 1) == Pixels{1, 0, 9, 2, 0, 9});
  CHECK(stage->takes_masks());
  CHECK_FALSE(stage->is_random());
  const auto to = stage_as<PixelStage>(R"(stage = "map_ids", ids = [1, 2, 3], to = [5, 5, 200])");
  CHECK(run_pixels(*to, {1, 2, 3, 3}, {2, 2}, 1) == Pixels{5, 5, 200, 200});
}

TEST_CASE("map_ids has the ids that Cityscapes trains") {
  const auto stage = stage_as<PixelStage>(R"(stage = "map_ids", ids = "cityscapes")");
  Pixels all(256);
  std::iota(all.begin(), all.end(), std::uint8_t{0});
  const Pixels made = run_pixels(*stage, all, {16, 16}, 1);
  // cityscapesScripts, labels.py: id and trainId.
  CHECK(std::vector<int>(made.begin(), made.begin() + 35) ==
        std::vector<int>{255, 255, 255, 255, 255, 255, 255, 0,  1,  255, 255, 2,
                         3,   4,   255, 255, 255, 5,   255, 6,  7,  8,   9,   10,
                         11,  12,  13,  14,  15,  255, 255, 16, 17, 18,  255});
  CHECK(made.back() == 255);
}

TEST_CASE("map_ids finds an id that has no place a fault, unless `other` says what it becomes") {
  const auto stage = stage_as<PixelStage>(R"(stage = "map_ids", ids = [0, 1])");
  CHECK(fault_of(*stage, {0, 1, 1, 0}, {2, 2}, 1) == "nothing");
  CHECK_THAT(fault_of(*stage, {0, 1, 1, 9}, {2, 2}, 1), Contains("the id 9 at (1, 1)"));
}

TEST_CASE("map_colors makes ids of colours") {
  CHECK(ids_of(R"(stage = "map_colors", colors = [[1, 2, 3], [3, 2, 1], [0, 0, 0]])",
               {3, 2, 1, 3, 2, 1, 0, 0, 0, 1, 2, 3}) == Pixels{1, 1, 2, 0});
  CHECK(ids_of(R"(stage = "map_colors", colors = [[1, 2, 3], [3, 2, 1]], to = [4, 4], other = 8)",
               {3, 2, 1, 1, 2, 3, 2, 2, 2, 1, 2, 3}) == Pixels{4, 4, 8, 4});
  const auto stage = stage_as<PixelStage>(R"(stage = "map_colors", colors = [[1, 2, 3]])");
  CHECK(stage->output_channels(3) == 1);
  CHECK(stage->takes_masks());
  CHECK_THAT(fault_of(*stage, {1, 2, 3, 9, 8, 7}, {1, 2}, 3),
             Contains("the colour [9, 8, 7] at (0, 1)"));
}

TEST_CASE("map_colors finds each of many colours") {
  std::string colors;
  Pixels pixels;
  Pixels wanted;
  for (int i = 0; i < 256; ++i) {
    const int red = i * 7 % 256;
    const int green = i / 3;
    colors += (i == 0 ? "[" : ", [") + std::to_string(red) + ", " + std::to_string(green) + ", " +
              std::to_string(i) + "]";
    for (const int level : {red, green, i}) pixels.push_back(static_cast<std::uint8_t>(level));
    wanted.push_back(static_cast<std::uint8_t>(i));
  }
  CHECK(ids_of("stage = \"map_colors\", colors = [" + colors + "]", pixels) == wanted);
}

TEST_CASE("map_colors has the palettes of VOC and Cityscapes") {
  // Background, aeroplane, bicycle, …, potted plant, …, tv monitor, border.
  CHECK(ids_of(R"(stage = "map_colors", colors = "voc")",
               {0,  0, 0, 128, 0,   0,   0, 128, 0, 128, 128, 0,   0,   0,   128,
                64, 0, 0, 192, 128, 128, 0, 64,  0, 0,   64,  128, 224, 224, 192}) ==
        Pixels{0, 1, 2, 3, 4, 8, 15, 16, 20, 255});
  // Road, car, bicycle, and a colour of no class.
  CHECK(ids_of(R"(stage = "map_colors", colors = "cityscapes")",
               {128, 64, 128, 0, 0, 142, 119, 11, 32, 0, 0, 143}) == Pixels{0, 13, 18, 255});
}

TEST_CASE("tables of ids and colours are refused where they say two things or nothing") {
  const auto why = [](const std::string& stage) { return refusal_of("stage = " + stage); };
  CHECK_THAT(why(R"("map_ids")"), Contains("`ids` is missing"));
  CHECK_THAT(why(R"("map_ids", ids = [])"), Contains("`ids` must have one at least"));
  CHECK_THAT(why(R"("map_ids", ids = [1, 256])"), Contains("from 0 to 255, not 256"));
  CHECK_THAT(why(R"("map_ids", ids = [1, 2, 1])"), Contains("`ids` has one of them twice"));
  CHECK_THAT(why(R"("map_ids", ids = [1, 2], to = [3])"),
             Contains("`to` has 1 numbers, and `ids` has 2"));
  CHECK_THAT(why(R"("map_ids", ids = "cityscape")"), Contains("Did you mean `cityscapes`?"));
  CHECK_THAT(why(R"("map_colors")"), Contains("`colors` is missing"));
  CHECK_THAT(why(R"("map_colors", colors = [[1, 2]])"), Contains("a colour of 2 numbers"));
  CHECK_THAT(why(R"("map_colors", colors = [1, 2, 3])"), Contains("a list of lists of numbers"));
  CHECK_THAT(why(R"("map_colors", colors = [[1, 2, 3.5]])"), Contains("not 3.5"));
  CHECK_THAT(why(R"("map_colors", colors = [[1, 2, -1]])"), Contains("not -1"));
  CHECK_THAT(why(R"("map_colors", colors = [[1, 2, 3], [1, 2, 3]])"), Contains("twice"));
  CHECK_THAT(why(R"("map_colors", colors = "vocs")"), Contains("Did you mean `voc`?"));
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/crop_box.hpp"
#include "stage_support.hpp"

#include <batchcast/core/error.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <thread>

#include "catch.hpp"

namespace bc = batchcast;
using namespace batchcast::test;
using bc::Box;
using bc::Geometry;
using bc::ImageSize;

TEST_CASE("a random resized crop lies inside the image and has the size asked for") {
  const auto stage =
      stage_as<bc::GeometryStage>(R"(stage = "random_resized_crop", size = [160, 192], )"
                                  R"(scale = [0.08, 1], ratio = [0.75, 1.34])");
  for (const ImageSize image : {ImageSize{500, 375}, {1, 1}, {2, 900}, {1000, 50}, {64, 64}}) {
    for (std::uint64_t id = 0; id < 300; ++id) {
      const Geometry geometry = placed(*stage, image, id);
      REQUIRE(geometry.output() == ImageSize{192, 160});
      const Box& box = geometry.box;
      REQUIRE((box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0));
      REQUIRE(box.x + box.width <= image.width);
      REQUIRE(box.y + box.height <= image.height);
    }
  }
  CHECK(stage->output(std::nullopt) == ImageSize{192, 160});
}

TEST_CASE("where no try fits, the crop is the centre at the nearest ratio that may be") {
  bc::Draws draws({.seed = 1}, 0);
  const bc::detail::BoxRange range({0.9, 1}, {3.0 / 4, 4.0 / 3});
  CHECK(bc::detail::draw_crop_box({1000, 50}, range, draws) == Box{466, 0, 67, 50});
  CHECK(bc::detail::draw_crop_box({51, 1000}, range, draws) == Box{0, 466, 51, 68});
  const bc::detail::BoxRange flat({0.9, 1}, {0.001, 0.002});
  CHECK(bc::detail::draw_crop_box({3, 1}, flat, draws) == Box{1, 0, 1, 1});
}

TEST_CASE("draws of geometry depend on the sample and on nothing else") {
  const auto stage = stage_as<bc::GeometryStage>(R"(stage = "random_resized_crop", size = 224)");
  std::vector<Geometry> here;
  for (std::uint64_t id = 0; id < 100; ++id) here.push_back(placed(*stage, {500, 375}, id));
  std::vector<Geometry> there(here.size());
  std::thread thread([&] {
    for (std::size_t i = there.size(); i-- > 0;) there[i] = placed(*stage, {500, 375}, i);
  });
  thread.join();
  CHECK(here == there);
  CHECK(here[0] != here[1]);
  // Pinned: another box here changes every stream.
  CHECK(here[0].box == Box{5, 2, 473, 372});
}

TEST_CASE("resize keeps the ratio as torchvision computes it") {
  struct Row {
    std::string parameters;
    ImageSize in;
    ImageSize out;
  };
  const std::vector<Row> rows = {
      {"size = 256", {500, 375}, {341, 256}},
      {"size = 256", {375, 500}, {256, 341}},
      {"size = [256]", {375, 500}, {256, 341}},
      {"size = 256", {256, 256}, {256, 256}},
      {"size = 256", {1, 1}, {256, 256}},
      {"size = 7", {3, 1000}, {7, 2333}},
      {"size = 256, max_size = 300", {500, 375}, {300, 225}},
      {"size = 256, max_size = 300", {3000, 4}, {300, 1}},
      {"size = 256, max_size = 400", {375, 500}, {256, 341}},
      {"size = [100, 200]", {375, 500}, {200, 100}},
  };
  for (const Row& row : rows) {
    INFO(row.parameters << " of " << row.in.width << "x" << row.in.height);
    const auto stage = stage_as<bc::GeometryStage>("stage = \"resize\", " + row.parameters);
    CHECK(placed(*stage, row.in).output() == row.out);
    CHECK(stage->output(row.in) == row.out);
  }
  const auto shorter = stage_as<bc::GeometryStage>(R"(stage = "resize", size = 256)");
  CHECK(shorter->output(std::nullopt) == std::nullopt);
  CHECK_THROWS_AS(placed(*shorter, {1, 30'000}), bc::BadSample);
  CHECK_THROWS_AS(shorter->output(ImageSize{1, 30'000}), bc::InvalidArgument);
}

TEST_CASE("a centre crop rounds half to even, and pads what is too small") {
  const auto window = [](ImageSize in, const std::string& size) {
    const auto stage = stage_as<bc::GeometryStage>("stage = \"center_crop\", size = " + size);
    Geometry geometry = placed(*stage, in);
    CHECK(geometry.output() == *stage->output(in));
    return geometry.window == Box{0, 0, geometry.box.width, geometry.box.height} ? geometry.box
                                                                                 : geometry.window;
  };
  CHECK(window({341, 256}, "224") == Box{58, 16, 224, 224});  // 58.5
  CHECK(window({343, 256}, "224") == Box{60, 16, 224, 224});  // 59.5
  CHECK(window({10, 10}, "[4, 6]") == Box{2, 3, 6, 4});
  CHECK(window({10, 10}, "15") == Box{-2, -2, 15, 15});
  CHECK(window({10, 40}, "[20, 13]") == Box{-1, 10, 13, 20});
}

TEST_CASE("a random crop reaches every offset equally often") {
  const auto stage =
      stage_as<bc::GeometryStage>(R"(stage = "random_crop", size = 32, padding = 4)");
  std::map<std::pair<int, int>, int> seen;
  constexpr int count = 16'200;
  for (std::uint64_t id = 0; id < count; ++id) {
    const Geometry geometry = placed(*stage, {32, 32}, id);
    REQUIRE(geometry.window.size() == ImageSize{32, 32});
    ++seen[{geometry.window.x, geometry.window.y}];
  }
  REQUIRE(seen.size() == 81);
  double chi_square = 0;
  for (const auto& [offset, times] : seen) {
    CHECK((std::abs(offset.first) <= 4 && std::abs(offset.second) <= 4));
    chi_square += (times - 200.0) * (times - 200.0) / 200.0;
  }
  CHECK(chi_square < 80 + 5 * 12.65);
}

TEST_CASE("a random crop pads as asked and refuses what stays too small") {
  const auto needed = stage_as<bc::GeometryStage>(
      R"(stage = "random_crop", size = [20, 30], pad_if_needed = true, fill = 9)");
  for (std::uint64_t id = 0; id < 50; ++id) {
    const Geometry geometry = placed(*needed, {26, 50}, id);
    // Four columns on both sides, no rows.
    REQUIRE((geometry.window.x >= -4 && geometry.window.x <= 0));
    REQUIRE((geometry.window.y >= 0 && geometry.window.y <= 30));
    REQUIRE(geometry.fill == 9);
  }
  const auto sides = stage_as<bc::GeometryStage>(
      R"(stage = "random_crop", size = 12, padding = [1, 0, 1, 2], padding_mode = "edge")");
  const Geometry geometry = placed(*sides, {10, 10});
  CHECK(geometry.window == Box{-1, 0, 12, 12});
  CHECK(geometry.padding == bc::PaddingMode::edge);

  const auto plain = stage_as<bc::GeometryStage>(R"(stage = "random_crop", size = 32)");
  CHECK_THROWS_AS(placed(*plain, {31, 40}), bc::BadSample);
  CHECK_THROWS_AS(plain->output(ImageSize{31, 40}), bc::InvalidArgument);
  CHECK(plain->output(ImageSize{32, 40}) == ImageSize{32, 32});
}

TEST_CASE("padding that would make a side too long is refused by name") {
  constexpr std::int32_t longest = 1 << 28;
  for (const std::string name : {"pad", "random_crop"}) {
    INFO(name);
    const std::string size = name == "pad" ? "" : ", size = 1";
    const auto stage =
        stage_as<bc::GeometryStage>("stage = \"" + name + "\", padding = [2, 0]" + size);
    CHECK(stage->output(ImageSize{longest - 4, 1}).has_value());
    CHECK_THROWS_AS(stage->output(ImageSize{longest - 3, 1}), bc::InvalidArgument);
    CHECK_THROWS_WITH(placed(*stage, {longest - 3, 1}),
                      Catch::Contains("longer than 268435456 after " + name));
    CHECK_THROWS_AS(placed(*stage, {std::numeric_limits<std::int32_t>::max(), 1}), bc::BadSample);
    static_cast<void>(placed(*stage, {longest - 4, 1}));
  }
}

TEST_CASE("pad grows the image on each side") {
  const auto stage = stage_as<bc::GeometryStage>(
      R"(stage = "pad", padding = [1, 2], padding_mode = "reflect", fill = 7)");
  const Geometry geometry = placed(*stage, {10, 20});
  CHECK(geometry.window == Box{-1, -2, 12, 24});
  CHECK(geometry.padding == bc::PaddingMode::reflect);
  CHECK(stage->output(ImageSize{10, 20}) == ImageSize{12, 24});
}

TEST_CASE("flips happen as often as asked, and say so") {
  for (const bool horizontal : {true, false}) {
    const std::string name = horizontal ? "horizontal_flip" : "vertical_flip";
    const std::string key = horizontal ? "flip" : "vertical_flip";
    for (const double p : {0.0, 0.25, 1.0}) {
      const auto stage =
          stage_as<bc::GeometryStage>("stage = \"" + name + "\", p = " + std::to_string(p));
      int flipped = 0;
      constexpr int count = 4000;
      for (std::uint64_t id = 0; id < count; ++id) {
        std::vector<bc::Note> notes;
        const Geometry geometry = placed(*stage, {8, 6}, id, &notes);
        const bool flips = horizontal ? geometry.flip_x : geometry.flip_y;
        REQUIRE((horizontal ? geometry.flip_y : geometry.flip_x) == false);
        REQUIRE(note_of(notes, key) == (flips ? 1 : 0));
        flipped += flips ? 1 : 0;
      }
      CHECK(std::abs(flipped - p * count) <= (p == 0.25 ? 140 : 0));
    }
  }
}

TEST_CASE(
    "stages that resize say whose order of passes they take, and only where it is not all's") {
  for (const std::string stage : {"stage = \"resize\", size = 224",
                                  "stage = \"random_resized_crop\", size = 224, scale = [1, 1]"}) {
    const auto before = stage_as<bc::GeometryStage>(stage);
    const auto named = stage_as<bc::GeometryStage>(stage + ", pillow = 12");
    const auto since = stage_as<bc::GeometryStage>(stage + ", pillow = 13");
    // The identity of streams that there were before is what it was.
    CHECK(before->parameters_json().find("pillow") == std::string::npos);
    CHECK(named->parameters_json() == before->parameters_json());
    CHECK(since->parameters_json().find("\"pillow\":13") != std::string::npos);
    CHECK_FALSE(placed(*before, {225, 300}).as_pillow_13);
    CHECK(placed(*since, {225, 300}).as_pillow_13);
  }
}

TEST_CASE("resize_keep_ratio makes the sizes of timm's ResizeKeepRatio") {
  const auto size_of = [](const std::string& parameters, bc::ImageSize in) {
    const auto stage = stage_as<bc::GeometryStage>(
        R"(stage = "resize_keep_ratio", scale_p = 0, ratio_p = 0, )" + parameters);
    CHECK_FALSE(stage->is_random());
    return placed(*stage, in).resized;
  };
  // What timm 1.0.19 gives.
  CHECK(size_of("size = 224", {500, 375}) == bc::ImageSize{299, 224});
  CHECK(size_of("size = 224, longest = 1", {500, 375}) == bc::ImageSize{224, 168});
  CHECK(size_of("size = [100, 200], longest = 0.5", {500, 375}) == bc::ImageSize{160, 120});
  const auto stage = stage_as<bc::GeometryStage>(
      R"(stage = "resize_keep_ratio", size = 100, scale = [0.25, 1], ratio = [0.5, 2])");
  CHECK(stage->is_random());
  int scaled = 0;
  int stretched = 0;
  for (std::uint64_t id = 0; id < 400; ++id) {
    std::vector<bc::Note> notes;
    const bc::ImageSize made = placed(*stage, {300, 200}, id, &notes).resized;
    double scale = 1;
    double ratio = 1;
    for (const bc::Note& note : notes) {
      if (note.key == "keep_scale") scale = note.value;
      if (note.key == "keep_ratio") ratio = note.value;
      scaled += note.key == "keep_scale" ? 1 : 0;
      stretched += note.key == "keep_ratio" ? 1 : 0;
    }
    CHECK((scale >= 0.25 && scale <= 1 && ratio >= 0.5 && ratio <= 2));
    CHECK(std::abs(made.width - 150 / std::sqrt(scale) * std::sqrt(ratio)) <= 0.501);
    CHECK(std::abs(made.height - 100 / std::sqrt(scale) / std::sqrt(ratio)) <= 0.501);
  }
  CHECK(std::abs(scaled - 200) < 50);
  CHECK(std::abs(stretched - 200) < 50);
}

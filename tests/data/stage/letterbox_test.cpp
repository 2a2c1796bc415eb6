// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "stage_support.hpp"

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;

namespace {

std::shared_ptr<const GeometryStage> letterbox(const std::string& more) {
  return stage_as<GeometryStage>("stage = \"letterbox\", size = [480, 640]" + more);
}

}  // namespace

TEST_CASE("letterbox shows the whole image, and fills what is left on two sides") {
  const auto stage = letterbox("");
  struct Case {
    ImageSize in;
    ImageSize resized;
    std::int32_t left;
    std::int32_t top;
  };
  // What Ultralytics' LetterBox computes of these sizes.
  for (const Case& one : {Case{{640, 480}, {640, 480}, 0, 0}, Case{{1280, 720}, {640, 360}, 0, 60},
                          Case{{500, 375}, {640, 480}, 0, 0}, Case{{333, 500}, {320, 480}, 160, 0},
                          Case{{501, 375}, {640, 479}, 0, 0}, Case{{1000, 333}, {640, 213}, 0, 133},
                          Case{{3, 1000}, {1, 480}, 319, 0}, Case{{5000, 1}, {640, 1}, 0, 239}}) {
    INFO(one.in.width << " x " << one.in.height);
    const Geometry made = placed(*stage, one.in);
    CHECK(made.resized == one.resized);
    CHECK(made.window == Box{-one.left, -one.top, 640, 480});
    CHECK(made.fill == (made.window.size() == made.resized ? 0 : 114));
  }
  CHECK(stage->output(std::nullopt) == ImageSize{640, 480});
  CHECK_FALSE(stage->is_random());
}

TEST_CASE("letterbox pads right and below alone, and leaves small images as they are") {
  const Geometry corner =
      placed(*letterbox(", center = false, fill = 7, mask_fill = 255"), {100, 50});
  CHECK(corner.resized == ImageSize{640, 320});
  CHECK(corner.window == Box{0, 0, 640, 480});
  CHECK(corner.fill == 7);
  CHECK(corner.mask_fill == 255);
  const Geometry small = placed(*letterbox(", scaleup = false"), {101, 50});
  CHECK(small.resized == ImageSize{101, 50});
  CHECK(small.window == Box{-269, -215, 640, 480});
  CHECK(placed(*letterbox(", scaleup = false"), {1280, 960}).resized == ImageSize{640, 480});
}

TEST_CASE("letterbox makes no id of its gray") {
  CHECK(placed(*letterbox(""), {500, 100}).mask_fill == 0);
  CHECK(placed(*letterbox(", fill = 255"), {500, 100}).mask_fill == std::nullopt);
  CHECK(placed(*letterbox(", mask_fill = 9"), {500, 100}).mask_fill == 9);
}

TEST_CASE("pad_if_smaller grows sides that are too short, right and below") {
  const auto stage = stage_as<GeometryStage>(R"(stage = "pad_if_smaller", size = [480, 640])");
  CHECK(placed(*stage, {500, 375}).window == Box{0, 0, 640, 480});
  CHECK(placed(*stage, {700, 375}).window == Box{0, 0, 700, 480});
  CHECK(placed(*stage, {640, 480}) == Geometry::of({640, 480}));
  CHECK(stage->output(ImageSize{700, 10}) == ImageSize{700, 480});
  CHECK(stage->output(std::nullopt) == std::nullopt);
  const auto around =
      stage_as<GeometryStage>(R"(stage = "pad_if_smaller", size = 101, center = true, fill = 9)");
  CHECK(placed(*around, {100, 50}).window == Box{0, -25, 101, 101});
  CHECK(placed(*around, {100, 50}).fill == 9);
}

TEST_CASE("letterbox and pad_if_smaller refuse what is no size") {
  CHECK(refusal_of(R"(stage = "letterbox")").find("`size` is missing") != std::string::npos);
  CHECK(refusal_of(R"(stage = "letterbox", size = 0)") != "");
  CHECK(refusal_of(R"(stage = "letterbox", size = 8, fill = 256)") != "");
  CHECK(refusal_of(R"(stage = "pad_if_smaller")").find("`size` is missing") != std::string::npos);
}

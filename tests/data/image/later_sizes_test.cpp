// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/later_sizes.hpp"

#include "data/stage/stage_support.hpp"

#include "catch.hpp"

#include <algorithm>
#include <optional>
#include <string>

using namespace batchcast;
using namespace batchcast::detail;
using namespace batchcast::test;
using Catch::Contains;

namespace {

std::optional<LaterFailure> failure_of(const std::string& stages, ImageSize size) {
  const Recipe recipe = Recipe::from_toml(
      "[[field]]\nname = \"x\"\nstages = [{ stage = \"decode\" }, " + stages + "]", "r.toml");
  return later_failure(resolve(recipe).fields.at(0).stages, size);
}

const std::string crop = R"({ stage = "random_crop", size = 240 })";

}  // namespace

TEST_CASE("the sizes that draws may give lie between the extremes") {
  const std::string text = GENERATE(
      R"(stage = "random_resize", min_size = 20, max_size = 41)",
      R"(stage = "random_short_side", min_size = [20, 31, 57])",
      R"(stage = "random_short_side", min_size = [9, 99], p = 0.5)",
      R"(stage = "random_short_side", min_size = 40, max_size = 50)",
      R"(stage = "scale_jitter", target_size = [50, 40])",
      R"(stage = "scale_jitter", target_size = 30, p = 0.3)", R"(stage = "resize", size = 33)",
      R"(stage = "pad", padding = 3)", R"(stage = "center_crop", size = [12, 99])");
  INFO(text);
  const auto stage = stage_as<GeometryStage>(text);
  for (const ImageSize in : {ImageSize{60, 40}, ImageSize{31, 97}, ImageSize{50, 50}}) {
    const std::vector<ImageSize> extremes = stage->extremes(in);
    REQUIRE(!extremes.empty());
    const auto side = [&](std::int32_t ImageSize::*member, bool is_most) {
      const auto less = [member](const ImageSize& a, const ImageSize& b) {
        return a.*member < b.*member;
      };
      return is_most ? (*std::ranges::max_element(extremes, less)).*member
                     : (*std::ranges::min_element(extremes, less)).*member;
    };
    for (std::uint64_t id = 0; id < 300; ++id) {
      const ImageSize out = placed(*stage, in, id).output();
      REQUIRE(out.width >= side(&ImageSize::width, false));
      REQUIRE(out.width <= side(&ImageSize::width, true));
      REQUIRE(out.height >= side(&ImageSize::height, false));
      REQUIRE(out.height <= side(&ImageSize::height, true));
    }
  }
}

TEST_CASE("a size that some draws give and a later stage refuses is found") {
  const auto failure = failure_of(
      R"({ stage = "random_resize", min_size = 238, max_size = 299 }, )" + crop, {400, 300});
  REQUIRE(failure);
  CHECK(failure->path == "random_crop#0");
  CHECK_THAT(failure->reason, Contains("317 x 238 to 397 x 298 pixels") && Contains("240x240"));
  CHECK(!failure_of(R"({ stage = "random_resize", min_size = 240, max_size = 299 }, )" + crop,
                    {400, 300}));
}

TEST_CASE("what all draws let fail is not looked for") {
  CHECK(!failure_of(crop, {239, 300}));
  CHECK(!failure_of(R"({ stage = "random_resize", min_size = 200, max_size = 240 }, )" + crop,
                    {400, 300}));
}

TEST_CASE("containers are followed, and stages that keep the size are passed") {
  const auto nested = [](const std::string& container, const std::string& stages) {
    return "{ stage = \"" + container + "\", stages = [" + stages +
           "] }, { stage = \"invert\" }, " + crop;
  };
  const std::string resize = R"({ stage = "random_resize", min_size = 230, max_size = 299 })";
  const std::string pad = R"({ stage = "pad", padding = 1 })";
  CHECK(failure_of(nested("random_apply", resize), {500, 400}));
  CHECK(failure_of(nested("random_choice", resize + ", " + pad), {500, 400}));
  CHECK(!failure_of(nested("random_choice", pad + R"(, { stage = "pad", padding = 2 })"),
                    {500, 400}));
  CHECK(
      failure_of(nested("random_choice", pad + R"(, { stage = "pad", padding = 2 })"), {237, 400}));
  const auto inner = failure_of(
      R"({ stage = "random_short_side", min_size = [100, 300] }, )"
      R"({ stage = "random_apply", p = 0.1, stages = [{ stage = "random_crop", size = 200 }] }, )"
      R"({ stage = "center_crop", size = 9 })",
      {500, 400});
  REQUIRE(inner);
  CHECK(inner->path == "random_apply#0/random_crop#0");
}

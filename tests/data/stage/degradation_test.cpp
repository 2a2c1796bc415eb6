// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/pixel_form.hpp"
#include "data/stage/level_noise.hpp"
#include "data/stage/policy_picture.hpp"
#include "data/stage/stage_support.hpp"
#include "data/stage/table_rows.hpp"

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

// Stages that make images worse: PIL's blur, JPEG, noise before `to`. tests/oracle/policy_table.py
// has made policy.jsonl with PIL.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

Pixels noise_pixels(std::size_t count, std::uint64_t seed) {
  Draws draws({.seed = seed}, 0);
  Pixels pixels(count);
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(draws.below(256));
  return pixels;
}

/// As PIL's convert("L").
Pixels gray_picture() {
  const Pixels rgb = policy_picture();
  Pixels gray;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    gray.push_back(static_cast<std::uint8_t>(
        (rgb[i] * 19595 + rgb[i + 1] * 38470 + rgb[i + 2] * 7471 + 0x8000) >> 16));
  }
  return gray;
}

std::shared_ptr<const PixelStage> noise_before_to(const std::string& parameters) {
  // A container makes the stage one of pixels.
  const Recipe recipe = recipe_with("stage = \"gaussian_noise\"" + parameters);
  const auto& stage = recipe.fields.at(0).stages.at(0).stage;
  const auto form = detail::pixel_form_of(*stage);
  CHECK(form->name() == "gaussian_noise");
  CHECK(form->parameters_json() == stage->parameters_json());
  CHECK(form->is_random() == stage->is_random());
  CHECK(form == detail::pixel_form_of(*stage));
  return std::dynamic_pointer_cast<const PixelStage>(form);
}

}  // namespace

TEST_CASE("pil_gaussian_blur makes the pixels of PIL's GaussianBlur") {
  const auto rows = table_rows("policy.jsonl", "blur");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["digests"].size() == 12);
  for (const Json& made : rows[0]["digests"]) {
    const auto stage =
        stage_as<PixelStage>("stage = \"pil_gaussian_blur\", radius = " + made[0].dump());
    INFO("radius " << made[0]);
    CHECK(digest(run_pixels(*stage, policy_picture(), picture_size, 3)) == made[1]);
    CHECK_FALSE(stage->is_random());
  }
}

TEST_CASE("pil_gaussian_blur draws its radius as MoCo v3, DINO and DeiT III do") {
  const auto stage = stage_as<PixelStage>(R"(stage = "pil_gaussian_blur", p = 0.4)");
  CHECK(stage->is_random());
  const Pixels pixels = noise_pixels(3 * 100, 1);
  std::vector<double> radii;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    std::vector<Note> notes;
    const Pixels made = run_pixels(*stage, pixels, {10, 10}, 3, id, &notes);
    REQUIRE((made != pixels) == !notes.empty());
    if (!notes.empty()) radii.push_back(note_of(notes, "blur_radius"));
  }
  CHECK(std::abs(static_cast<double>(radii.size()) - 800) < 5 * std::sqrt(2000 * 0.24));
  double sum = 0;
  for (const double radius : radii) {
    CHECK((radius >= 0.1 && radius <= 2));
    sum += radius;
  }
  const auto count = static_cast<double>(radii.size());
  CHECK(std::abs(sum / count - 1.05) < 5 * 1.9 / std::sqrt(12 * count));
  CHECK_THAT(refusal_of(R"(stage = "pil_gaussian_blur", radius = 1001)"),
             Contains("must be from 0 to 1000, not 1001"));
  CHECK_THAT(refusal_of(R"(stage = "pil_gaussian_blur", radius = [2, 1])"), Contains("radius"));
}

TEST_CASE("jpeg makes the pixels that PIL's JPEGs have") {
  std::size_t compared = 0;
  for (const Json& row : table_rows("policy.jsonl", "jpeg")) {
    const bool is_gray = row["channels"] == 1;
    const Pixels pixels = is_gray ? gray_picture() : policy_picture();
    for (const Json& made : row["digests"]) {
      const auto stage = stage_as<PixelStage>("stage = \"jpeg\", quality = " + made[0].dump() +
                                              ", sampling = " + row["jpeg"].dump());
      INFO(row["jpeg"] << ", quality " << made[0] << ", gray " << is_gray);
      CHECK(digest(run_pixels(*stage, pixels, picture_size, is_gray ? 1 : 3)) == made[1]);
      CHECK_FALSE(stage->is_random());
      ++compared;
    }
  }
  CHECK(compared == 48);
}

TEST_CASE("jpeg draws its quality evenly from whole numbers") {
  const auto stage = stage_as<PixelStage>(R"(stage = "jpeg", quality = [30, 33], p = 0.8)");
  CHECK(stage->is_random());
  std::map<double, int> counts;
  const Pixels pixels = noise_pixels(3 * 64, 2);
  for (std::uint64_t id = 0; id < 1000; ++id) {
    std::vector<Note> notes;
    const Pixels made = run_pixels(*stage, pixels, {8, 8}, 3, id, &notes);
    REQUIRE((made != pixels) == !notes.empty());
    if (!notes.empty()) ++counts[note_of(notes, "jpeg_quality")];
  }
  REQUIRE(counts.size() == 4);
  for (const double quality : {30.0, 31.0, 32.0, 33.0}) CHECK(std::abs(counts[quality] - 200) < 65);
  CHECK_THAT(refusal_of(R"(stage = "jpeg")"), Contains("is missing: 1 to 100, or [min, max]"));
  CHECK(refusal_of(R"(stage = "jpeg", quality = 0)") != "");
  CHECK(refusal_of(R"(stage = "jpeg", quality = 101)") != "");
  CHECK_THAT(refusal_of(R"(stage = "jpeg", quality = [60, 50])"), Contains("60 is above 50"));
  CHECK_THAT(refusal_of(R"(stage = "jpeg", quality = [1, 2, 3])"), Contains("a list of 3"));
  CHECK_THAT(refusal_of(R"(stage = "jpeg", quality = 50, sampling = "4:1:1")"),
             Contains("must be one of 4:4:4, 4:2:2, 4:2:0"));
}

TEST_CASE("noise before `to` has the shares of levels that a normal distribution has",
          "[statistics]") {
  constexpr std::size_t count = 1 << 20;
  const double mean = 1.7;
  const double sigma = 5.3;
  const detail::LevelNoise noise(mean, sigma);
  Pixels pixels(count, 128);
  Draws draws({.seed = 4}, 1);
  noise.add(pixels, draws);
  std::array<double, 256> found{};
  for (const std::uint8_t level : pixels) ++found[level];
  const auto below = [&](double x) { return std::erfc((mean - x) / sigma / std::sqrt(2.0)) / 2; };
  double square = 0;
  int kinds = 0;
  for (int k = -60; k <= 60; ++k) {
    // Cut off towards 0: the levels -1 < x < 1 all are 0.
    const double low = k <= 0 ? k - 1 : k;
    const double high = k >= 0 ? k + 1 : k;
    const double wanted = (below(high) - below(low)) * static_cast<double>(count);
    if (wanted < 20) continue;
    const double off = found[static_cast<std::size_t>(128 + k)] - wanted;
    square += off * off / wanted;
    ++kinds;
  }
  CHECK(kinds > 40);
  CHECK(square < kinds + 6 * std::sqrt(2.0 * kinds));
}

TEST_CASE(
    "noise before `to` is clipped, and larger than the range of levels makes black and white") {
  const auto stage = noise_before_to(", sigma = 10");
  const Pixels made = run_pixels(*stage, Pixels(3 * 400, 128), {20, 20}, 3);
  const auto extreme = std::count_if(made.begin(), made.end(),
                                     [](std::uint8_t level) { return level == 0 || level == 255; });
  CHECK(extreme > 1100);
  const auto up = noise_before_to(", sigma = 0, mean = 0.1");
  CHECK(run_pixels(*up, {0, 250, 100}, {1, 1}, 3) == Pixels{25, 255, 125});
  // Without clipping, sums wrap, as torchvision's do.
  const auto wraps = noise_before_to(", sigma = 0, mean = 0.1, clip = false");
  CHECK(run_pixels(*wraps, {0, 250, 100}, {1, 1}, 3) == Pixels{25, 19, 125});
  const auto never = noise_before_to(", p = 0");
  CHECK(run_pixels(*never, {1, 2, 3}, {1, 1}, 3) == Pixels{1, 2, 3});
}

TEST_CASE("gaussian_noise draws its deviation from a range, and notes it") {
  const auto stage = noise_before_to(", sigma = [0.01, 0.2]");
  std::set<double> drawn;
  for (std::uint64_t id = 0; id < 50; ++id) {
    std::vector<Note> notes;
    const Pixels made = run_pixels(*stage, Pixels(3 * 900, 128), {30, 30}, 3, id, &notes);
    const double sigma = note_of(notes, "noise_sigma");
    CHECK((sigma >= 0.01 && sigma <= 0.2));
    drawn.insert(sigma);
    double sum = 0;
    for (const std::uint8_t level : made) sum += (level - 128.0) * (level - 128.0);
    const double found = std::sqrt(sum / static_cast<double>(made.size())) / 255;
    CHECK(std::abs(found - sigma) < 0.06 * sigma + 0.003);
  }
  CHECK(drawn.size() == 50);
  CHECK(refusal_of(R"(stage = "gaussian_noise", sigma = [0.2, 0.1])") != "");
  CHECK(refusal_of(R"(stage = "gaussian_noise", sigma = 11)") != "");
}

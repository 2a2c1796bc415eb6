// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "program_support.hpp"

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

// What draws by what name, and that names are all that draws have in common.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

constexpr std::array<std::string_view, 14> not_random = {
    "center_crop", "five_crop",    "letterbox", "map_colors",     "map_ids",
    "multi_hot",   "normalize",    "pad",       "pad_if_smaller", "reshape",
    "resize",      "resized_crop", "slice",     "ten_crop"};

// Every random stage that a preset or a recipe may name, in two groups beside the common one. What
// stands in a container draws by the container's path.
const std::string everything = [] {
  const std::string all =
      R"({ stage = "decode" }, { stage = "random_short_side", min_size = [80, 90] }, )"
      R"({ stage = "scale_jitter", target_size = 99 }, )"
      R"({ stage = "resize_keep_ratio", size = 90 }, )"
      R"({ stage = "random_resize", min_size = 70, max_size = 99 }, )"
      R"({ stage = "random_resized_crop", size = 64 }, )"
      R"({ stage = "random_crop", size = 32 }, { stage = "horizontal_flip" }, )"
      R"({ stage = "horizontal_flip", id = "again" }, { stage = "vertical_flip", p = 0.5 }, )"
      R"({ stage = "random_rotation", degrees = 9 }, { stage = "random_affine", degrees = 9 }, )"
      R"({ stage = "rotate", angle = 9, p = 0.5 }, { stage = "affine", angle = 9, p = 0.5 }, )"
      R"({ stage = "random_perspective" }, { stage = "elastic", sigma = 2 }, )"
      R"({ stage = "color_jitter", hue = 0.1 }, { stage = "grayscale", p = 0.2 }, )"
      R"({ stage = "solarize", threshold = 9 }, { stage = "posterize", bits = 2 }, )"
      R"({ stage = "sharpness", sharpness_factor = 2 }, { stage = "autocontrast" }, )"
      R"({ stage = "equalize" }, { stage = "invert" }, { stage = "random_photometric_distort" }, )"
      R"({ stage = "random_channel_permutation" }, { stage = "gaussian_blur", kernel_size = 3 }, )"
      R"({ stage = "pil_gaussian_blur" }, { stage = "jpeg", quality = [1, 9] }, )"
      R"({ stage = "timm_auto_augment" }, { stage = "timm_aug_mix" }, )"
      R"({ stage = "rand_augment" }, { stage = "timm_rand_augment" }, )"
      R"({ stage = "trivial_augment_wide" }, { stage = "auto_augment" }, { stage = "aug_mix" }, )"
      R"({ stage = "random_apply", stages = [{ stage = "color_jitter", hue = 0.1 }, )"
      R"({ stage = "random_choice", stages = [{ stage = "horizontal_flip" }, )"
      R"({ stage = "vertical_flip" }] }] }, )"
      R"({ stage = "random_choice", stages = [{ stage = "invert" }, { stage = "equalize" }] }, )"
      R"({ stage = "random_order", stages = [{ stage = "invert" }, { stage = "equalize" }] }, )"
      R"({ stage = "to" }, { stage = "gaussian_noise" }, { stage = "random_erasing" })";
  return field("a", all, "views = 2") + field("b", all, "draws = \"own\"");
}();

/// The x beyond which a standard normal number lies with that probability, on either side.
double beyond(double probability) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
  }
  return high;
}

/// Numbers of one draw, with the mean 0 and the sum of squares 1.
std::vector<float> standardized(std::vector<float> numbers) {
  double sum = 0;
  double squares = 0;
  for (const float number : numbers) sum += static_cast<double>(number);
  const double mean = sum / static_cast<double>(numbers.size());
  for (float& number : numbers) {
    number = static_cast<float>(static_cast<double>(number) - mean);
    squares += static_cast<double>(number) * static_cast<double>(number);
  }
  for (float& number : numbers) {
    number = static_cast<float>(static_cast<double>(number) / std::sqrt(squares));
  }
  return numbers;
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i] * b[i]);
  return sum;
}

// Instrumented, the sums would take minutes.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t samples = 4'000;
#else
constexpr std::uint64_t samples = 100'000;
#endif

}  // namespace

TEST_CASE("draws of all random stages are independent, in groups and views and between them",
          "[statistics]") {
  std::vector<DrawName> names;
  for (const detail::ResolvedField& one : resolved(everything).fields) {
    for (const detail::NamedStage& whole : one.stages) {
      detail::for_each_stage(whole, [&](const detail::NamedStage& stage) {
        if (!stage.stage->is_random()) return;
        for (std::int32_t view = 0; view < std::max(one.views, 1); ++view) {
          names.push_back(stage.draws.in_view(static_cast<std::uint32_t>(view)));
        }
      });
    }
  }
  REQUIRE(names.size() == 3 * 48);
  for (const std::string& name : StageCatalog::standard().names()) {
    INFO(name << " is in neither list, or in both");
    CHECK((std::ranges::find(not_random, name) != not_random.end()) !=
          (everything.find("{ stage = \"" + name + "\"") != std::string::npos));
  }
  std::vector<std::vector<float>> draws;
  for (const DrawName name : names) {
    std::vector<float> first;
    std::vector<float> second;
    for (std::uint64_t id = 0; id < samples; ++id) {
      Draws of_sample({.seed = 1, .epoch = 3, .sample_id = id}, name);
      first.push_back(of_sample.unit_f32());
      second.push_back(of_sample.unit_f32());
    }
    draws.push_back(standardized(std::move(first)));
    draws.push_back(standardized(std::move(second)));
  }
  const std::size_t pairs = draws.size() * (draws.size() - 1) / 2;
  const double bound = beyond(0.001 / static_cast<double>(pairs)) / std::sqrt(double{samples});
  double worst = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      worst = std::max(worst, std::abs(correlation(draws[i], draws[k])));
    }
  }
  INFO("worst " << worst << " of " << pairs << " pairs, bound " << bound);
  CHECK(worst < bound);
}

TEST_CASE("a stage draws by its name and number or its id, and not by its place") {
  const auto fields = detail::resolve(recipe(field("image", jitter + crop + flip + flip) +
                                             field("mask", crop + flip + flip)))
                          .fields;
  CHECK(paths_of(fields[0]) ==
        std::vector<std::string>{"sample color_jitter#0", "sample random_crop#0",
                                 "sample horizontal_flip#0", "sample horizontal_flip#1"});
  CHECK(fields[0].stages[1].draws == fields[1].stages[0].draws);
  CHECK(fields[0].stages[3].draws == fields[1].stages[2].draws);
  CHECK(fields[0].stages[2].draws != fields[0].stages[3].draws);

  const auto own = detail::resolve(recipe(field("a", crop) + field("b", crop, "draws = \"own\"") +
                                          field("c", crop, "draws = \"both\"") +
                                          field("d", crop, "draws = \"both\"")))
                       .fields;
  CHECK(own[0].stages[0].draws != own[1].stages[0].draws);
  CHECK(own[0].stages[0].draws != own[2].stages[0].draws);
  CHECK(own[2].stages[0].draws == own[3].stages[0].draws);

  const std::string named = R"({ stage = "horizontal_flip", id = "way" }, )";
  const auto ids =
      detail::resolve(
          recipe(field("a", R"({ stage = "horizontal_flip", id = "other" }, )" + named) +
                 field("b", named)))
          .fields;
  CHECK(ids[0].stages[1].draws == ids[1].stages[0].draws);
}

TEST_CASE("a nested stage draws by the path of what holds it, or its id") {
  const std::string twice = holding("random_apply", jitter + jitter);
  const std::string flip_by_id = R"({ stage = "horizontal_flip", id = "way" })";
  const auto fields =
      resolved(field("image", twice + ", " + twice + ", " +
                                  holding("random_order", flip_by_id, ", id = \"all\"")))
          .fields;
  std::vector<std::string> paths;
  for (const detail::NamedStage& stage : fields[0].stages) {
    for_each_stage(stage, [&](const detail::NamedStage& one) { paths.push_back(one.path); });
  }
  CHECK(paths == std::vector<std::string>{"random_apply#0", "random_apply#0/color_jitter#0",
                                          "random_apply#0/color_jitter#1", "random_apply#1",
                                          "random_apply#1/color_jitter#0",
                                          "random_apply#1/color_jitter#1", "all", "way"});
}

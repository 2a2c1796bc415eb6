// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/resolve.hpp"
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

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

std::vector<std::string> paths_of(const detail::ResolvedField& field) {
  std::vector<std::string> paths;
  for (const detail::NamedStage& stage : field.stages) {
    paths.push_back(stage.group + " " + stage.path);
  }
  return paths;
}

std::string refusal(const std::string& toml) {
  try {
    static_cast<void>(detail::resolve(recipe(toml)));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

std::string field(const std::string& name, const std::string& stages,
                  const std::string& more = "") {
  return "[[field]]\nname = \"" + name + "\"\n" + more + "\nstages = [" + stages + "]\n";
}

const std::string flip = R"({ stage = "horizontal_flip" }, )";
const std::string crop = R"({ stage = "random_crop", size = 8 }, )";
const std::string jitter = R"({ stage = "color_jitter", hue = 0.1 }, )";

constexpr std::array<std::string_view, 9> not_random = {"center_crop",  "pad",       "resize",
                                                        "resized_crop", "five_crop", "ten_crop",
                                                        "normalize",    "slice",     "reshape"};

// Every random stage that a preset or a recipe may name, in two groups beside the common one. What
// stands in a container draws by the container's path.
const std::string everything = [] {
  const std::string all =
      R"({ stage = "decode" }, { stage = "random_short_side", min_size = [80, 90] }, )"
      R"({ stage = "scale_jitter", target_size = 99 }, )"
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
  for (const detail::ResolvedField& one : detail::resolve(recipe(everything)).fields) {
    for (const detail::NamedStage& whole : one.stages) {
      detail::for_each_stage(whole, [&](const detail::NamedStage& stage) {
        if (!stage.stage->is_random()) return;
        for (std::int32_t view = 0; view < std::max(one.views, 1); ++view) {
          names.push_back(stage.draws.in_view(static_cast<std::uint32_t>(view)));
        }
      });
    }
  }
  REQUIRE(names.size() == 3 * 43);
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

TEST_CASE("stages that would draw alike and do not match are refused with ways out") {
  CHECK_THAT(refusal(field("image", flip + crop + flip) + field("mask", crop + flip)),
             Contains("`image` and `mask`") &&
                 Contains("`horizontal_flip#0`, `horizontal_flip#1`") && Contains("[[joint]]") &&
                 Contains("`id`") && Contains("draws = \"own\""));
  CHECK(refusal(field("image", flip + crop + flip) +
                field("mask", crop + flip, "draws = \"own\"")) == "nothing");
  CHECK(refusal(field("image", flip + crop + flip) + field("mask", crop)) == "nothing");
  CHECK(refusal(field("image", flip) +
                field("mask", R"({ stage = "horizontal_flip", p = 1 }, )" + flip)) != "nothing");
  const std::string named = R"({ stage = "horizontal_flip", id = "way" }, )";
  CHECK_THAT(refusal(field("image", named + named)), Contains("id `way`"));
  const std::string namesake = R"({ stage = "grayscale", p = 0.2, id = "way" }, )";
  CHECK_THAT(refusal(field("a", named) + field("b", namesake)),
             Contains("the id `way` is of a `horizontal_flip`") && Contains("`grayscale`"));
  CHECK(refusal(field("a", named) + field("b", namesake, "draws = \"own\"")) == "nothing");
  CHECK_THAT(refusal(field("image", flip, "draws = \"smaple\"")),
             Contains("nothing else draws") && Contains("Did you mean `sample`?"));
}

TEST_CASE("an image and a mask that a random crop would cut differently are refused") {
  const auto pair = [](const std::string& image, const std::string& mask) {
    return refusal(field("image", image) + field("mask", mask, "kind = \"mask\""));
  };
  const std::string resize = R"({ stage = "resize", size = [16, 16] }, )";
  const std::string bicubic =
      R"({ stage = "resize", size = [16, 16], interpolation = "bicubic" }, )";
  CHECK_THAT(pair(resize + crop, crop), Contains("cut alike by `random_crop`"));
  CHECK(pair(crop, resize + crop) != "nothing");
  CHECK(pair(crop + flip, flip + crop) != "nothing");
  CHECK(pair(crop, R"({ stage = "random_crop", size = 4 }, )") != "nothing");
  CHECK(pair(bicubic + jitter + crop + resize, resize + crop) == "nothing");
  CHECK(pair(R"({ stage = "random_crop", size = 8, padding = 2 }, )",
             R"({ stage = "random_crop", size = 8, padding = 2, fill = 255 }, )") == "nothing");
  const auto resized = [](int size) {
    return R"({ stage = "random_resized_crop", size = )" + std::to_string(size) + " }, ";
  };
  CHECK(pair(resized(8), resized(4)) == "nothing");
  CHECK(pair(resized(8) + crop, resized(16) + crop) != "nothing");
  CHECK(refusal(field("a", resize + crop) + field("b", crop)) == "nothing");
}

namespace {

bool has_all(const std::string& said, const std::vector<std::string>& words) {
  INFO(said);
  for (const std::string& word : words) CHECK_THAT(said, Contains(word));
  return true;
}

}  // namespace

TEST_CASE("what would move an image and not its mask is refused, in a joint's fields") {
  const auto pair = [](const std::string& image, const std::string& mask,
                       const std::string& more = "") {
    return refusal(field("image", image, more) + field("mask", mask, "kind = \"mask\"\n" + more) +
                   "[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [" + crop + "]\n");
  };
  const std::string own = "draws = \"own\"";
  const std::string rotate = R"({ stage = "rotate", angle = 90 }, )";
  const std::string surely = R"({ stage = "rotate", angle = 90, p = 1 }, )";
  const std::string turn = R"({ stage = "random_rotation", degrees = 20 }, )";
  const std::string perhaps = R"({ stage = "random_apply", stages = [)" + surely + "] }, ";
  for (const std::string& mover :
       {rotate, surely, turn, flip, perhaps, std::string(R"({ stage = "vertical_flip" }, )"),
        std::string(R"({ stage = "random_affine", degrees = 20 }, )"),
        std::string(R"({ stage = "center_crop", size = 4 }, )")}) {
    CAPTURE(mover);
    const std::vector<std::string> refused{"test.toml:", "share a joint",
                                           "Put it into the [[joint]]"};
    CHECK(has_all(pair(jitter + mover, ""), refused));
    CHECK(has_all(pair(jitter, mover), refused));
    CHECK(has_all(pair(mover, "", own), refused));
    CHECK(pair(jitter + mover, mover) == "nothing");
  }
  CHECK(pair(turn + flip, flip + turn) != "nothing");
  CHECK_THAT(pair(turn, turn, own), Contains("share a joint"));  // by draws of their own
  CHECK(pair(surely, surely, own) == "nothing");
  CHECK(pair(R"({ stage = "rotate", angle = 90, fill = 7, interpolation = "bilinear" }, )",
             R"({ stage = "rotate", angle = 90, mask_fill = 255 }, )") == "nothing");
  // A mask of another size shows the same place.
  CHECK(pair(jitter, R"({ stage = "resize", size = [2, 2] }, )") == "nothing");
  CHECK(pair("", R"({ stage = "resize", size = [2, 2] }, )" + flip) != "nothing");

  for (const char* name :
       {"rand_augment", "trivial_augment_wide", "auto_augment", "aug_mix", "timm_rand_augment"}) {
    CAPTURE(name);
    const std::string policy = std::string("{ stage = \"") + name + "\" }, ";
    const std::string inner = R"({ stage = "random_apply", stages = [)" + policy + "] }, ";
    const std::vector<std::string> refused{"test.toml:", std::string("`") + name + "`",
                                           "take color_jitter"};
    CHECK(has_all(pair(policy, ""), refused));
    CHECK(has_all(pair(inner, "", own), refused));
    CHECK(has_all(refusal(field("image", "") + field("mask", "", "kind = \"mask\"") +
                          "[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [" + policy + "]\n"),
                  refused));
    CHECK(refusal(field("image", policy)) == "nothing");
  }
}

TEST_CASE("what would move an image and not its mask is refused, without a joint") {
  const auto pair = [](const std::string& image, const std::string& mask,
                       const std::string& more = "") {
    return refusal(field("image", image, more) + field("mask", mask, "kind = \"mask\""));
  };
  const std::string middle = R"({ stage = "center_crop", size = 8 }, )";
  const std::vector<std::string> refused{"test.toml:", "lacks it", "[[joint]]", "draws = \"own\""};
  CHECK(has_all(pair(crop, middle), refused));
  CHECK_THAT(pair(crop, middle), Contains("`random_crop#0` of the field `image`"));
  CHECK(has_all(pair(middle, crop), refused));
  CHECK_THAT(pair(middle, crop), Contains("`random_crop#0` of the field `mask`"));
  CHECK(has_all(pair(crop, ""), refused));
  CHECK(has_all(pair(R"({ stage = "random_choice", stages = [)" + flip + jitter + "] }, ", ""),
                refused));
  CHECK_THAT(pair(R"({ stage = "rand_augment" }, )", ""),
             Contains("A policy cannot be used on an image with a mask"));
  CHECK(pair(R"({ stage = "rand_augment" }, )", "", "draws = \"own\"") == "nothing");
  CHECK(pair(crop, middle, "draws = \"own\"") == "nothing");
  CHECK(pair(middle, R"({ stage = "resize", size = 8 }, )") == "nothing");
  CHECK(pair(jitter + crop, crop) == "nothing");
  CHECK(refusal(field("a", crop) + field("b", middle)) == "nothing");  // two images
  CHECK(pair(crop, crop) == "nothing");
  CHECK(refusal(field("mask", crop, "kind = \"mask\"") + "[[field]]\nname = \"label\"\n" +
                field("text", R"({ stage = "to", dtype = "i64" })")) == "nothing");
}

TEST_CASE("a joint stands after its fields' decoding and before their own stages") {
  const std::string joint =
      "[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [" + crop + flip + "]\nviews = 2\n";
  const std::string decode = R"({ stage = "decode" }, )";
  const auto resolved = detail::resolve(recipe(
      field("image", decode + jitter + flip, "draws = \"own\"") +
      field("mask", R"({ stage = "decode", mode = "index" }, )", "kind = \"image\"") + joint));
  const auto& fields = resolved.fields;
  CHECK(paths_of(fields[0]) ==
        std::vector<std::string>{"own decode#0", "sample random_crop#0", "sample horizontal_flip#0",
                                 "own image color_jitter#0", "own image horizontal_flip#1"});
  CHECK(fields[1].stages.size() == 3);
  CHECK(fields[0].stages[1].draws == fields[1].stages[1].draws);
  CHECK(fields[0].views == 2);
  CHECK(fields[1].views == 2);
  CHECK(fields[0].kind == FieldKind::image);
  CHECK(detail::resolve(recipe(field("mask", R"({ stage = "decode", mode = "index" }, )")))
            .fields[0]
            .kind == FieldKind::mask);
  CHECK_FALSE(resolved.same_sizes.empty());

  const std::string image = field("image", decode + flip, "kind = \"image\"");
  const std::string mask = field("mask", decode + flip, "kind = \"mask\"");
  CHECK(detail::resolve(recipe(image + mask)).same_sizes.empty());
  CHECK(
      detail::resolve(recipe(image + mask + "[[joint]]\nfields = [\"image\", \"mask\"]\nviews = 2"))
          .same_sizes.empty());

  const std::string both = field("image", decode) + field("mask", decode, "views = 3");
  CHECK_THAT(refusal(both + joint), Contains("3 views") && Contains("in one place"));
  CHECK_THAT(refusal(field("image", decode) + field("mask", decode) +
                     "[[joint]]\nfields = [\"image\"]\nstages = [{ stage = \"to\" }]"),
             Contains("`to`") && Contains("cannot stand in a joint"));
  CHECK_THAT(
      refusal(field("image", decode) + "[[joint]]\nfields = [\"image\", \"image\"]\nstages = []"),
      Contains("twice"));
  Recipe own = recipe(field("image", decode));
  own.joints.push_back({.fields = {"imgae"}});
  CHECK_THROWS_WITH(detail::resolve(own), Contains("Did you mean `image`?"));
}

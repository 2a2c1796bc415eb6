// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/stage_support.hpp"

#include <batchcast/core/error.hpp>

#include <filesystem>
#include <fstream>
#include <random>

#include "catch.hpp"

namespace bc = batchcast;
using namespace batchcast::test;
using bc::Recipe;

namespace {

// All stages, with all their parameters.
constexpr std::string_view everything = R"(
[order]
mode = "blocks"
block_samples = 100
window_blocks = 8

[[field]]
name = "photo"
from = "image"
stages = [
  { stage = "decode", mode = "rgb", orient = true, fast = true, pixels_max = 1000000 },
  { stage = "resize", size = 300, max_size = 500 },
  { stage = "pad", padding = [1, 2, 3, 4], padding_mode = "symmetric" },
  { stage = "random_crop", size = [200, 210], padding = [5, 6], pad_if_needed = true },
  { stage = "random_crop", size = [200, 210], padding = 4, fill = 17, padding_mode = "edge" },
  { stage = "random_resized_crop", size = [64, 96], scale = [0.1, 0.9], ratio = [0.3, 3] },
  { stage = "center_crop", size = [50, 60] },
  { stage = "horizontal_flip", p = 0.1 },
  { stage = "vertical_flip", p = 0.3 },
  { stage = "color_jitter", brightness = 0.4, contrast = [0.5, 1.5], saturation = 0.2, hue = 0.1 },
  { stage = "grayscale", p = 0.2, channels = 3 },
  { stage = "to", dtype = "bf16", layout = "hwc" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
  { stage = "random_erasing", p = 0.25, scale = [0.02, 0.2], ratio = [0.5, 2], value = "random" },
]

[[field]]
name = "bent"
from = "image"
stages = [
  { stage = "decode" },
  { stage = "random_short_side", min_size = [300, 320], max_size = 500, pillow = 13 },
  { stage = "scale_jitter", target_size = [200, 300], scale_range = [0.5, 1.5] },
  { stage = "resized_crop", top = 1, left = 2, height = 3, width = 4, size = 64 },
  { stage = "pad", padding = 3, mask_fill = 255 },
  { stage = "random_crop", size = 60, mask_fill = 254 },
  { stage = "rotate", angle = 5, center = [3, 4.5], fill = [1, 2, 3], mask_fill = 9, p = 0.5 },
  { stage = "random_rotation", degrees = 10, interpolation = "bicubic" },
  { stage = "affine", angle = 3, translate = [4, -5], scale = 1.5, shear = [6, 7] },
  { stage = "random_affine", degrees = [-3, 9], translate = [0.1, 0.2], scale = [0.5, 2] },
  { stage = "random_affine", degrees = 3, shear = [-1, 2, -3, 4], center = [8, 9], fill = 7 },
  { stage = "random_perspective", distortion_scale = 0.3, p = 0.7, interpolation = "nearest" },
  { stage = "elastic", alpha = [40, 30], sigma = [3, 4] },
  { stage = "solarize", threshold = 99.5, p = 0.25 },
  { stage = "posterize", bits = 3 },
  { stage = "sharpness", sharpness_factor = 1.5 },
  { stage = "autocontrast" },
  { stage = "equalize" },
  { stage = "invert" },
  { stage = "color_jitter", brightness = 0.4, p = 0.8 },
  { stage = "random_photometric_distort", brightness = [0.5, 1.5], contrast = [0.6, 1.4] },
  { stage = "random_photometric_distort", saturation = [0.7, 1.3], hue = [-0.1, 0.2], p = 0.6 },
  { stage = "random_channel_permutation", p = 0.3 },
  { stage = "gaussian_blur", kernel_size = [5, 7], sigma = 1.5, p = 0.5 },
  { stage = "to" },
  { stage = "gaussian_noise", mean = 0.1, sigma = 0.2, clip = false, p = 0.9 },
  { stage = "random_erasing", mode = "rand", min_count = 2, max_count = 4 },
]

[[field]]
name = "text"
[[field.stages]]
stage = "slice"
start = 3
stop = -1
[[field.stages]]
stage = "reshape"
shape = [2, -1]
[[field.stages]]
stage = "to"
dtype = "i64"
)";

class OwnStage final : public bc::TensorStage {
 public:
  explicit OwnStage(double by) : by_(by) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "scale_by"; }
  [[nodiscard]] std::string parameters_json() const override {
    return "{\"by\":" + std::to_string(by_) + "}";
  }
  [[nodiscard]] bc::TensorSpec output(const bc::TensorSpec& in) const override { return in; }
  void run(std::span<const std::byte>, std::span<std::byte>, bc::StageContext&) const override {}

 private:
  double by_;
};

bc::StageCatalog with_own_stage() {
  bc::StageCatalog catalog = bc::StageCatalog::standard();
  catalog.add("scale_by", [](bc::StageParameters& parameters) {
    const double by = parameters.number("by").value_or(1);
    if (by == 0) parameters.refuse("by", "must not be 0");
    return std::make_shared<OwnStage>(by);
  });
  return catalog;
}

std::string from_json_refusal(std::string_view json) {
  try {
    static_cast<void>(Recipe::from_json(json));
  } catch (const bc::InvalidArgument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a recipe is read from TOML with all its stages") {
  const Recipe recipe = Recipe::from_toml(everything, "r.toml");
  CHECK(recipe.order == bc::OrderMode::blocks);
  CHECK(recipe.blocks == bc::BlockOptions{100, 8});
  REQUIRE(recipe.fields.size() == 3);
  CHECK(recipe.fields[0].name == "photo");
  CHECK(recipe.fields[0].from == "image");
  CHECK(recipe.fields[0].stages.size() == 14);
  CHECK(recipe.fields[1].stages.size() == 27);
  CHECK(recipe.fields[1].stages[6]->kind() == bc::StageKind::warp);
  CHECK(recipe.fields[2].from.empty());
  REQUIRE(recipe.fields[2].stages.size() == 3);
  CHECK(recipe.fields[2].stages[1]->name() == "reshape");
  CHECK(recipe.fields[2].stages[1]->kind() == bc::StageKind::tensor);
}

TEST_CASE("an empty recipe is every part as it stands, reshuffled") {
  const Recipe recipe = Recipe::from_toml("", "r.toml");
  CHECK(recipe.order == bc::OrderMode::reshuffle);
  CHECK(recipe.fields.empty());
  CHECK(recipe.to_json() == R"({"fields":[],"order":{"mode":"reshuffle"}})");
}

TEST_CASE("JSON says all of a recipe, and gives it back the same") {
  const std::string json = Recipe::from_toml(everything, "r.toml").to_json();
  CHECK(Recipe::from_json(json).to_json() == json);
  CHECK(json.find(R"("brightness":[0.6,1.4])") != std::string::npos);
  CHECK(json.find(R"("order":{"block_samples":100,"mode":"blocks","window_blocks":8})") !=
        std::string::npos);
  for (const std::string_view preset : Recipe::preset_names()) {
    INFO(preset);
    const std::string written = Recipe::load(preset).to_json();
    CHECK(Recipe::from_json(written).to_json() == written);
  }
}

TEST_CASE("draws, views, kinds, ids and joints are read, written and read again") {
  const Recipe recipe = Recipe::from_toml(R"(
[[field]]
name = "image"
draws = "own"
stages = [{ stage = "decode" }, { stage = "color_jitter", hue = 0.1, id = "tint" }]
[[field]]
name = "mask"
kind = "mask"
views = 2
stages = [{ stage = "decode", mode = "index" }, { stage = "to", dtype = "i64", layout = "hw" }]
[[joint]]
fields = ["image", "mask"]
views = 2
stages = [
  { stage = "random_resized_crop", size = 8, interpolation = "bicubic" },
  { stage = "resize", size = 8, interpolation = "lanczos" },
]
)",
                                          "r.toml");
  REQUIRE(recipe.joints.size() == 1);
  CHECK(recipe.joints[0].fields == std::vector<std::string>{"image", "mask"});
  CHECK(recipe.joints[0].views == 2);
  CHECK(recipe.joints[0].draws == "sample");
  CHECK(recipe.fields[0].draws == "own");
  CHECK(recipe.fields[0].stages[1].id == "tint");
  CHECK(recipe.fields[1].kind == bc::FieldKind::mask);
  const std::string json = recipe.to_json();
  CHECK(json.find(R"("id":"tint")") != std::string::npos);
  CHECK(json.find(R"("interpolation":"bicubic")") != std::string::npos);
  CHECK(json.find(R"("mode":"index")") != std::string::npos);
  CHECK(Recipe::from_json(json).to_json() == json);
}

TEST_CASE("JSON names defaults, so that equal recipes have equal texts") {
  CHECK(recipe_with(R"(stage = "random_resized_crop", size = 224)").to_json() ==
        recipe_with(R"(ratio = [0.75, 1.3333333333333333], scale = [0.08, 1], )"
                    R"(size = [224, 224], stage = "random_resized_crop")")
            .to_json());
  const auto named = [](const char* from) {
    return Recipe::from_toml("[[field]]\nname = \"x\"\n" + std::string(from), "r.toml").to_json();
  };
  CHECK(named("") == named("from = \"x\""));
  CHECK(named("") != named("from = \"y\""));
}

TEST_CASE("presets are what their documentation says") {
  const auto names = Recipe::preset_names();
  CHECK(std::vector<std::string_view>(names.begin(), names.end()) ==
        std::vector<std::string_view>{"imagenet-train",
                                      "imagenet-eval",
                                      "cifar-train",
                                      "cifar-eval",
                                      "mnist",
                                      "to-tensor",
                                      "tokens",
                                      "torchvision-v1",
                                      "torchvision-v1-eval",
                                      "torchvision-v2",
                                      "torchvision-v2-eval",
                                      "deit",
                                      "deit-eval",
                                      "deit-iii",
                                      "simclr",
                                      "moco-v3",
                                      "dino",
                                      "mae",
                                      "clip",
                                      "clip-eval",
                                      "cifar-autoaugment",
                                      "cifar-autoaugment-eval",
                                      "voc-segmentation",
                                      "pix2pix"});
  CHECK(Recipe::load("imagenet-train").to_json() ==
        R"({"fields":[{"draws":"sample","from":"image","name":"image","stages":[)"
        R"({"fast":false,"mode":"rgb","orient":false,"pixels_max":178956970,"stage":"decode"},)"
        R"({"ratio":[0.75,1.3333333333333333],"scale":[0.08,1.0],"size":[224,224],)"
        R"("stage":"random_resized_crop"},{"p":0.5,"stage":"horizontal_flip"},)"
        R"({"dtype":"f32","layout":"chw","stage":"to"},)"
        R"({"mean":[0.485,0.456,0.406],"stage":"normalize","std":[0.229,0.224,0.225]}]},)"
        R"({"draws":"sample","from":"label","name":"label","stages":[]}],)"
        R"("order":{"mode":"reshuffle"}})");
  CHECK(Recipe::load("imagenet-eval").to_json() ==
        R"({"fields":[{"draws":"sample","from":"image","name":"image","stages":[)"
        R"({"fast":false,"mode":"rgb","orient":false,"pixels_max":178956970,"stage":"decode"},)"
        R"({"size":256,"stage":"resize"},{"size":[224,224],"stage":"center_crop"},)"
        R"({"dtype":"f32","layout":"chw","stage":"to"},)"
        R"({"mean":[0.485,0.456,0.406],"stage":"normalize","std":[0.229,0.224,0.225]}]},)"
        R"({"draws":"sample","from":"label","name":"label","stages":[]}],)"
        R"("order":{"mode":"sequential"}})");
  CHECK(Recipe::load("cifar-train")
            .to_json()
            .find(R"("padding":[4,4,4,4],"padding_mode":"constant","size":[32,32])") !=
        std::string::npos);
  CHECK(Recipe::load("mnist").to_json().find(
            R"({"mean":[0.1307],"stage":"normalize","std":[0.3081]})") != std::string::npos);
  const Recipe tokens = Recipe::load("tokens");
  REQUIRE(tokens.fields.size() == 2);
  CHECK(tokens.fields[0].from == "tokens");
  CHECK(tokens.fields[1].stages[0]->parameters_json() == R"({"start":1})");
  for (const std::string_view name : names) {
    CHECK(Recipe::from_toml(Recipe::preset_toml(name), "r.toml").to_json() ==
          Recipe::load(name).to_json());
  }
}

TEST_CASE("a recipe is loaded from a file") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("batchcast-recipe-" + std::to_string(std::random_device()()) + ".toml");
  std::ofstream(path) << everything;
  CHECK(Recipe::load(path.string()).to_json() == Recipe::from_toml(everything, "r").to_json());
  std::ofstream(path) << std::string(2'000'000, '#');
  CHECK_THROWS_WITH(Recipe::load(path.string()), Catch::Contains("1 MiB"));
  std::filesystem::remove(path);
}

TEST_CASE("stages of one's own stand in recipes beside the library's") {
  const bc::StageCatalog catalog = with_own_stage();
  const std::string toml = "[[field]]\nname = \"x\"\nstages = [{ stage = \"scale_by\", by = 2.5 }]";
  const std::string json = Recipe::from_toml(toml, "r.toml", catalog).to_json();
  CHECK(json.find(R"({"by":2.5,"stage":"scale_by"})") != std::string::npos);
  CHECK(Recipe::from_json(json, catalog).to_json() == json);
  CHECK_THROWS_WITH(Recipe::from_toml(toml, "r.toml"),
                    Catch::Contains("batchcast: r.toml:3: there is no stage"));
  CHECK_THROWS_WITH(
      Recipe::from_toml("[[field]]\nname = \"x\"\nstages = [\n{ stage = \"scale_by\", by = 0 }]",
                        "r.toml", catalog),
      "batchcast: r.toml:4: scale_by: `by` must not be 0.");
  bc::StageCatalog twice = catalog;
  CHECK_THROWS_AS(twice.add("decode", [](bc::StageParameters&) { return nullptr; }),
                  bc::InvalidArgument);
}

TEST_CASE("JSON of anybody's is a recipe or refused") {
  CHECK(from_json_refusal("{") != "");
  CHECK(from_json_refusal("") != "");
  CHECK(from_json_refusal("[]") ==
        "batchcast: the recipe's JSON: a recipe is a table, not a list.");
  CHECK(
      from_json_refusal(R"({"fields":{}})") ==
      "batchcast: the recipe's JSON: the recipe: `fields` must be a list of tables, not a table.");
  CHECK(from_json_refusal(R"({"fields":[3]})") ==
        "batchcast: the recipe's JSON: a field is a table, not 3.");
  CHECK(from_json_refusal(
            R"({"fields":[{"name":"x","stages":[{"stage":"resize","size":1e400}]}]})") != "");
  CHECK(
      from_json_refusal(
          R"({"fields":[{"name":"x","stages":[{"stage":"resize","size":18446744073709551615}]}]})")
          .find("`size` takes whole numbers") != std::string::npos);
  for (const std::string_view open : {"[", "{\"a\":", "{\"fields\":[{\"name\":"}) {
    std::string deep;
    for (int i = 0; i < 200'000; ++i) deep += open;
    CHECK(from_json_refusal(deep) != "");
  }
  CHECK(from_json_refusal(std::string(100'000, '[') + std::string(100'000, ']')) ==
        "batchcast: the recipe's JSON: objects and lists are too deep.");
  CHECK(from_json_refusal("{\"fields\":[{\"name\":\"\xff\"}]}") != "");
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/compile_field.hpp"
#include "data/program/resolve.hpp"

#include "catch.hpp"

#include <batchcast/data/recipe.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// The presets of papers: what they make, and that their eval twins normalise as they do.
using namespace batchcast;

namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// Of the fields that are images.
Shapes shapes_of(std::string_view preset) {
  Shapes shapes;
  for (const detail::ResolvedField& field : detail::resolve(Recipe::load(preset)).fields) {
    if (field.from == "label") continue;
    const bool decodes =
        !field.stages.empty() && field.stages.front().stage->kind() == StageKind::decode;
    const PartSpec part = decodes ? PartSpec{field.from, PartKind::image}
                                  : PartSpec{field.from, PartKind::tensor, DType::u8, {3, 32, 32}};
    shapes[field.name] = detail::compile_field(field, part)->output().shape;
  }
  return shapes;
}

std::string names_of(std::string_view preset, std::size_t field) {
  std::string names;
  const Recipe recipe = Recipe::load(preset);
  for (const RecipeStage& stage : recipe.fields.at(field).stages) {
    names += (names.empty() ? "" : " ") + std::string(stage->name());
  }
  return names;
}

std::string normalizing_of(std::string_view preset) {
  const Recipe recipe = Recipe::load(preset);
  for (const RecipeStage& stage : recipe.fields.at(0).stages) {
    if (stage->name() == "normalize") return stage->parameters_json();
  }
  return {};
}

}  // namespace

TEST_CASE("presets of papers make fields of the papers' shapes") {
  const auto image = [](std::vector<std::int64_t> shape) { return Shapes{{"image", shape}}; };
  CHECK(shapes_of("torchvision-v1") == image({3, 224, 224}));
  CHECK(shapes_of("torchvision-v1-eval") == image({3, 224, 224}));
  CHECK(shapes_of("torchvision-v2") == image({3, 176, 176}));
  CHECK(shapes_of("torchvision-v2-eval") == image({3, 224, 224}));
  CHECK(shapes_of("deit") == image({3, 224, 224}));
  CHECK(shapes_of("deit-eval") == image({3, 224, 224}));
  CHECK(shapes_of("simclr") == image({2, 3, 224, 224}));
  CHECK(shapes_of("dino") == Shapes{{"global_1", {3, 224, 224}},
                                    {"global_2", {3, 224, 224}},
                                    {"local", {8, 3, 96, 96}}});
  CHECK(shapes_of("deit-iii") == image({3, 224, 224}));
  CHECK(shapes_of("mae") == image({3, 224, 224}));
  CHECK(shapes_of("moco-v3") == Shapes{{"view_1", {3, 224, 224}}, {"view_2", {3, 224, 224}}});
  CHECK(shapes_of("pix2pix") == Shapes{{"input", {3, 256, 256}}, {"target", {3, 256, 256}}});
  CHECK(shapes_of("clip") == image({3, 224, 224}));
  CHECK(shapes_of("clip-eval") == image({3, 224, 224}));
  CHECK(shapes_of("cifar-autoaugment") == image({3, 32, 32}));
  CHECK(shapes_of("cifar-autoaugment-eval") == image({3, 32, 32}));
  CHECK(shapes_of("voc-segmentation") == Shapes{{"image", {3, 480, 480}}, {"mask", {480, 480}}});
}

TEST_CASE("voc-segmentation names the parts of a webdataset of NAME.jpg and NAME.png") {
  const Recipe voc = Recipe::load("voc-segmentation");
  CHECK(voc.fields.at(0).from == "jpg");
  CHECK(voc.fields.at(1).from == "png");
}

TEST_CASE("presets of papers do the papers' stages") {
  CHECK(Recipe::load("torchvision-v1").to_json() == Recipe::load("imagenet-train").to_json());
  CHECK(Recipe::load("torchvision-v1-eval").to_json() == Recipe::load("imagenet-eval").to_json());
  CHECK(Recipe::load("cifar-autoaugment-eval").to_json() == Recipe::load("cifar-eval").to_json());
  CHECK(names_of("torchvision-v2", 0) ==
        "decode random_resized_crop horizontal_flip trivial_augment_wide to normalize "
        "random_erasing");
  CHECK(names_of("deit", 0) ==
        "decode random_resized_crop horizontal_flip timm_rand_augment to normalize random_erasing");
  CHECK(names_of("simclr", 0) ==
        "decode random_resized_crop horizontal_flip random_apply grayscale gaussian_blur to");
  CHECK(names_of("dino", 1) ==
        "decode random_resized_crop horizontal_flip random_apply grayscale pil_gaussian_blur "
        "solarize to normalize");
  CHECK(names_of("moco-v3", 1) == names_of("dino", 1));
  CHECK(names_of("deit-iii", 0) ==
        "decode random_resized_crop horizontal_flip random_choice color_jitter to normalize");
  for (const std::string name :
       {"torchvision-v1", "torchvision-v2", "deit", "clip", "cifar-autoaugment"}) {
    INFO(name);
    CHECK(normalizing_of(name) == normalizing_of(name + "-eval"));
    CHECK(Recipe::load(name + "-eval").order == OrderMode::sequential);
    for (const detail::ResolvedField& field :
         detail::resolve(Recipe::load(name + "-eval")).fields) {
      CHECK(std::none_of(field.stages.begin(), field.stages.end(),
                         [](const detail::NamedStage& stage) { return stage.stage->is_random(); }));
    }
  }
}

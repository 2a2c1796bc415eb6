// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pipeline/device_split.hpp"

#include "catch.hpp"
#include "data/image/program.hpp"
#include "data/pipeline/pipeline_support.hpp"
#include "data/stage/stage_support.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>

#include <string>
#include <vector>

namespace batchcast::test {
namespace {

using detail::DeviceSplit;
using detail::FieldFinish;
using detail::split_for_device;

const std::vector<PartSpec> photos = {{"image", PartKind::image},
                                      {"label", PartKind::tensor, DType::i64, {}}};

PartSpec raw_image(std::vector<std::int64_t> shape, bool channels_last = true) {
  PartSpec part{"image", PartKind::tensor, DType::u8, std::move(shape)};
  part.channels_last = channels_last;
  return part;
}

std::vector<std::string> stages_of(const FieldRecipe& field) {
  std::vector<std::string> names;
  for (const auto& stage : field.stages) {
    std::string name(stage->name());
    if (const ToStage* to = stage->as_to()) name = to->parameters_json();
    names.push_back(name);
  }
  return names;
}

const std::string to_pixels = R"({"dtype":"u8","layout":"hwc"})";

/// Of one field `image`, whose stages follow `decode`.
DeviceSplit split(const std::string& stages) {
  return split_for_device(recipe("[[field]]\nname = \"image\"\nstages = [{ stage = \"decode\" }, "
                                 "{ stage = \"resize\", size = [6, 8] }, " +
                                 stages + "]"),
                          photos);
}

const std::string flip = R"({ stage = "horizontal_flip" }, )";
const std::string jitter = R"({ stage = "color_jitter", hue = 0.1 }, )";
const std::string to_f32 = R"({ stage = "to", dtype = "f32" }, )";
const std::string normalize = R"({ stage = "normalize", mean = 0.5, std = 0.25 }, )";

}  // namespace

TEST_CASE("Split: the ImageNet preset leaves flip, type and normalising to the GPU",
          "[device-split]") {
  const Recipe whole = Recipe::load("imagenet-train");
  const DeviceSplit parts = split_for_device(whole, photos);
  CHECK(stages_of(parts.host.fields[0]) ==
        std::vector<std::string>{"decode", "random_resized_crop", to_pixels});
  CHECK(parts.host.fields[1].stages.empty());
  CHECK(parts.host.order == whole.order);
  CHECK(parts.kept.empty());
  REQUIRE(parts.finishes.size() == 1);
  const FieldFinish& finish = parts.finishes[0];
  CHECK(finish.field == 0);
  REQUIRE(finish.flip);
  CHECK(finish.flip_draws == draw_name("sample", "horizontal_flip#0"));
  CHECK(finish.size == ImageSize{224, 224});
  CHECK(finish.channels == 3);
  // As the CPU has it: the very same floats.
  CHECK(finish.format == detail::plan_image(detail::resolve(whole).fields[0], photos[0]).format);
  CHECK(finish.format.scale[1] == static_cast<float>(1.0 / (255.0 * 0.224)));
}

TEST_CASE("Split: presets of all kinds of images", "[device-split]") {
  const DeviceSplit eval = split_for_device(Recipe::load("imagenet-eval"), photos);
  REQUIRE(eval.finishes.size() == 1);
  CHECK_FALSE(eval.finishes[0].flip);
  CHECK_FALSE(eval.finishes[0].flips({1, 2, 3}));

  const PartSpec label = photos[1];
  const DeviceSplit cifar = split_for_device(
      Recipe::load("cifar-train"), std::vector<PartSpec>{raw_image({3, 32, 32}, false), label});
  REQUIRE(cifar.finishes.size() == 1);
  CHECK(cifar.finishes[0].flip_draws == draw_name("sample", "horizontal_flip#0"));
  CHECK(stages_of(cifar.host.fields[0]) == std::vector<std::string>{"random_crop", to_pixels});

  const DeviceSplit mnist =
      split_for_device(Recipe::load("mnist"), std::vector<PartSpec>{raw_image({28, 28}), label});
  REQUIRE(mnist.finishes.size() == 1);
  CHECK(mnist.finishes[0].channels == 1);
  CHECK(mnist.finishes[0].size == ImageSize{28, 28});
  CHECK(stages_of(mnist.host.fields[0]) == std::vector<std::string>{to_pixels});

  const DeviceSplit tokens = split_for_device(
      Recipe::load("tokens"), std::vector<PartSpec>{{"tokens", PartKind::tensor, DType::u16, {9}}});
  CHECK(tokens.finishes.empty());
  CHECK(tokens.kept.empty());
  CHECK(tokens.host.to_json() == Recipe::load("tokens").to_json());
}

TEST_CASE("Split: only a flip that nothing but `to` follows is taken", "[device-split]") {
  const DeviceSplit before_pixels = split(flip + jitter + to_f32 + normalize);
  REQUIRE(before_pixels.finishes.size() == 1);
  CHECK_FALSE(before_pixels.finishes[0].flip);
  CHECK(stages_of(before_pixels.host.fields[0]) ==
        std::vector<std::string>{"decode", "resize", "horizontal_flip", "color_jitter", to_pixels});

  const DeviceSplit after_pixels = split(jitter + flip + to_f32);
  REQUIRE(after_pixels.finishes.at(0).flip);
  CHECK(after_pixels.finishes[0].flip_draws == draw_name("sample", "horizontal_flip#0"));

  const DeviceSplit two = split(flip + flip + to_f32);
  REQUIRE(two.finishes.at(0).flip);
  CHECK(two.finishes[0].flip_draws == draw_name("sample", "horizontal_flip#1"));
  CHECK(stages_of(two.host.fields[0]) ==
        std::vector<std::string>{"decode", "resize", "horizontal_flip", to_pixels});

  const DeviceSplit vertical = split(R"({ stage = "vertical_flip" }, )" + to_f32);
  CHECK_FALSE(vertical.finishes.at(0).flip);
}

TEST_CASE("Split: somebody's own stage of the flip's name stays", "[device-split]") {
  struct OwnFlip final : GeometryStage {
    [[nodiscard]] std::string_view name() const noexcept override { return "horizontal_flip"; }
    [[nodiscard]] std::string parameters_json() const override { return "{}"; }
    [[nodiscard]] GeometryTraits traits() const noexcept override { return {}; }
    [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
      return in;
    }
    void place(Geometry& geometry, StageContext& /*context*/) const override {
      geometry.flip_vertically();
    }
  };
  Recipe own = recipe(R"([[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "resize", size = [6, 8] }, { stage = "to" }])");
  auto& stages = own.fields[0].stages;
  stages.insert(stages.end() - 1, std::make_shared<OwnFlip>());
  const DeviceSplit parts = split_for_device(own, photos);
  CHECK_FALSE(parts.finishes.at(0).flip);
  CHECK(parts.host.fields[0].stages.size() == 4);
}

TEST_CASE("Split: what the GPU cannot do stays whole, and says why", "[device-split]") {
  const std::string erasing = flip + to_f32 + normalize + R"({ stage = "random_erasing" })";
  const DeviceSplit erased = split(erasing);
  CHECK(erased.finishes.empty());
  REQUIRE(erased.kept.size() == 1);
  CHECK(erased.kept[0].reason.find("`random_erasing`") != std::string::npos);
  CHECK(stages_of(erased.host.fields[0]).back() == "random_erasing");

  for (const std::string& stays_u8 : {flip + R"({ stage = "to", dtype = "u8" })", flip}) {
    const DeviceSplit pixels = split(stays_u8);
    REQUIRE(pixels.kept.size() == 1);
    CHECK(pixels.kept[0].reason.find("u8") != std::string::npos);
    CHECK(pixels.finishes.empty());
  }
  CHECK_THROWS_AS(split_for_device(recipe("[[field]]\nname = \"nothing\""), photos),
                  InvalidArgument);

  const DeviceSplit views = split_for_device(recipe(R"([[field]]
name = "image"
views = 2
stages = [{ stage = "decode" }, { stage = "resize", size = [6, 8] }, { stage = "to" }])"),
                                             photos);
  REQUIRE(views.kept.size() == 1);
  CHECK(views.kept[0].reason.find("views") != std::string::npos);
  const DeviceSplit ids = split_for_device(recipe(R"([[field]]
name = "image"
stages = [{ stage = "decode", mode = "index" }, { stage = "resize", size = [6, 8] },
          { stage = "to", dtype = "i64" }])"),
                                           photos);
  REQUIRE(ids.kept.size() == 1);
  CHECK(ids.kept[0].reason.find("integers") != std::string::npos);
}

TEST_CASE("Split: a flip that another field makes too stays where it would no longer match",
          "[device-split]") {
  const auto with = [](const std::string& first_flip) {
    return split_for_device(recipe(R"([[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "resize", size = [6, 8] }, )" +
                                   first_flip + R"({ stage = "horizontal_flip" }, { stage = "to" }]
[[field]]
name = "mask"
from = "image"
kind = "mask"
stages = [{ stage = "decode", mode = "gray" }, { stage = "resize", size = [6, 8] }, )" +
                                   first_flip + R"({ stage = "horizontal_flip" }])"),
                            photos);
  };
  CHECK(with("").finishes.at(0).flip);
  const DeviceSplit two = with(flip);
  CHECK_FALSE(two.finishes.at(0).flip);
  CHECK_NOTHROW(detail::resolve(two.host));
}

TEST_CASE("Split: a flip is drawn as the CPU draws it, anew in each epoch", "[device-split]") {
  // A pixel on the left of every image says which way round it is.
  auto source = std::make_shared<FakeSource>(
      64, std::vector<PartSpec>{raw_image({2, 4, 3})},
      [](std::uint64_t, std::size_t, std::span<std::byte> out) { out[0] = std::byte{255}; });
  const Recipe whole = recipe(R"([[field]]
name = "image"
stages = [{ stage = "random_crop", size = [2, 4] }, { stage = "horizontal_flip", p = 0.3 },
          { stage = "to", layout = "hwc" }])");
  const DeviceSplit parts = split_for_device(whole, source->parts());
  const Pipeline pipeline({.source = source, .recipe = whole, .seed = 7});
  std::vector<bool> first_epoch;
  for (const std::uint64_t epoch : {0, 1, 9}) {
    const Made made = make(pipeline, {epoch, 0, 64});
    std::vector<bool> flips;
    std::vector<bool> by_split;
    for (std::size_t i = 0; i < 64; ++i) {
      flips.push_back(made.at<float>(0, i * 24) != 1);
      by_split.push_back(parts.finishes.at(0).flips({7, epoch, made.ids[i]}));
    }
    CHECK(by_split == flips);
    if (epoch == 0) first_epoch = flips;
    if (epoch == 1) CHECK(flips != first_epoch);
  }
}

}  // namespace batchcast::test

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pipeline/device_split.hpp"
#include "data/pipeline/pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

// What stands before `to`: noise in levels, and the order of channels that `to` gives.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

/// Images of 5 by 4 pixels, gray levels in the middle: (100, 128, 160).
std::shared_ptr<FakeSource> images(bool channels_last = true) {
  PartSpec part{"image", PartKind::tensor, DType::u8, {4, 5, 3}};
  if (!channels_last) part.shape = {3, 4, 5};
  part.channels_last = channels_last;
  return std::make_shared<FakeSource>(
      20, std::vector<PartSpec>{part},
      [channels_last](std::uint64_t, std::size_t, std::span<std::byte> out) {
        constexpr std::uint8_t levels[] = {100, 128, 160};
        for (std::size_t i = 0; i < out.size(); ++i) {
          out[i] = std::byte{levels[channels_last ? i % 3 : i / 20]};
        }
      });
}

std::string field(const std::string& stages) {
  return "[[field]]\nname = \"image\"\nstages = [" + stages + "]\n";
}

std::vector<std::byte> made(const std::string& toml, bool channels_last = true) {
  const Pipeline pipeline({.source = images(channels_last), .recipe = recipe(toml)});
  return make(pipeline, {0, 0, 3}).fields[0];
}

std::string refusal(const std::string& stages) {
  try {
    const Pipeline pipeline({.source = images(), .recipe = recipe(field(stages))});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

const std::string plain_hwc = R"({ stage = "to", dtype = "u8", layout = "hwc" })";
const std::string noise = R"({ stage = "gaussian_noise", sigma = 0.1 })";

}  // namespace

TEST_CASE("gaussian_noise before `to` adds whole levels, and after it what it added before") {
  const auto before = made(field(noise + ", " + plain_hwc));
  CHECK(before != made(field(plain_hwc)));
  // As floats, what was noise of levels is still whole levels.
  const auto floats = made(field(noise + R"(, { stage = "to", layout = "hwc" })"));
  REQUIRE(floats.size() == 4 * before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    float value = 0;
    std::memcpy(&value, floats.data() + 4 * i, sizeof value);
    REQUIRE(value ==
            static_cast<float>(std::to_integer<int>(before[i])) * static_cast<float>(1.0 / 255));
  }
  // After `to`, and where there is no `to`, it is the stage of tensors that it was.
  const auto after = made(field(plain_hwc + ", " + noise));
  CHECK(after != before);
  CHECK(after == made(field(noise)));
}

TEST_CASE("gaussian_noise stands in containers and between stages of pixels") {
  const auto alone =
      made(field(R"({ stage = "gaussian_noise", sigma = 0.1, id = "a" }, )" + plain_hwc));
  const auto applied = made(field(R"({ stage = "random_apply", p = 1, stages = [)"
                                  R"({ stage = "gaussian_noise", sigma = 0.1, id = "a" }] }, )" +
                                  plain_hwc));
  CHECK(applied == alone);
  const auto inverted = made(field(R"({ stage = "gaussian_noise", sigma = 0.1, id = "a" }, )"
                                   R"({ stage = "invert", p = 1 }, )" +
                                   plain_hwc));
  for (std::size_t i = 0; i < alone.size(); ++i) {
    REQUIRE(std::to_integer<int>(inverted[i]) == 255 - std::to_integer<int>(alone[i]));
  }
  CHECK_THAT(refusal(R"({ stage = "random_apply", stages = [{ stage = "random_erasing" }] })"),
             Contains("cannot stand in `random_apply`"));
}

TEST_CASE("`to` gives blue first where channel_order says so, and normalize has that order") {
  for (const bool channels_last : {true, false}) {
    const auto rgb = made(field(plain_hwc), channels_last);
    const auto bgr =
        made(field(R"({ stage = "to", dtype = "u8", layout = "hwc", channel_order = "bgr" })"),
             channels_last);
    REQUIRE(rgb.size() == bgr.size());
    for (std::size_t i = 0; i < rgb.size(); ++i) REQUIRE(bgr[i] == rgb[i - i % 3 + (2 - i % 3)]);
  }
  const Pipeline pipeline(
      {.source = images(),
       .recipe = recipe(field(R"({ stage = "to", channel_order = "bgr" }, )"
                              R"({ stage = "normalize", mean = [0.1, 0.2, 0.3], )"
                              R"(std = [1, 1, 1] })"))});
  const Made sample = make(pipeline, {0, 0, 1});
  // The first plane is blue, and 0.1 is taken off it.
  CHECK(sample.at<float>(0, 0) == Approx(160.0 / 255 - 0.1));
  CHECK(sample.at<float>(0, 20) == Approx(128.0 / 255 - 0.2));
  CHECK(sample.at<float>(0, 40) == Approx(100.0 / 255 - 0.3));
}

TEST_CASE("channel_order is for images of three channels that are not kept as they are") {
  CHECK_THAT(refusal(R"({ stage = "grayscale" }, { stage = "to", channel_order = "bgr" })"),
             Contains("channel_order = \"bgr\" is for images of 3 channels, and this one has 1"));
  CHECK_THAT(refusal(R"({ stage = "to", channel_order = "brg" })"),
             Contains("Did you mean `bgr`?"));
}

TEST_CASE("a field whose channels come blue first stays on the CPU") {
  const std::vector<PartSpec> photos = {{"image", PartKind::image}};
  const auto split = [&](const std::string& stages) {
    return detail::split_for_device(
        recipe(field(R"({ stage = "decode" }, { stage = "resize", size = [6, 8] }, )" + stages)),
        photos);
  };
  const auto kept = split(R"({ stage = "to", channel_order = "bgr" })");
  REQUIRE(kept.kept.size() == 1);
  CHECK_THAT(kept.kept[0].reason, Contains("its channels come blue first"));
  // Noise of levels does not: the GPU does what stands after it.
  CHECK(split(noise + R"(, { stage = "to" })").finishes.size() == 1);
}

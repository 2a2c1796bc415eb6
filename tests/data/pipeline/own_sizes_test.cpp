// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"
#include "data/recipe_text.hpp"

#include "catch.hpp"

#include <batchcast/data/pipeline.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// Images that keep their own sizes: their pixels are rows of an axis.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

ImageSize size_of_image(std::uint64_t id) {
  return {8 + static_cast<std::int32_t>(id % 4), 3 + static_cast<std::int32_t>(id % 3)};
}

/// PNGs, masks beside them of one channel, and a box for each image.
class Photos final : public Source {
 public:
  Photos() {
    for (std::uint64_t id = 0; id < size(); ++id) {
      images_.push_back(encoded(id, size_of_image(id), 3));
      const ImageSize of_mask = id == odd_mask ? ImageSize{5, 5} : size_of_image(id);
      masks_.push_back(encoded(id, of_mask, 1));
    }
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return 12; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t id, SampleParts& parts) const override {
    parts.resize(4);
    put(parts, 0, images_[id].data(), images_[id].size());
    put(parts, 1, masks_[id].data(), masks_[id].size());
    const std::vector<float> boxes(4 * (id % 3), static_cast<float>(id));
    put(parts, 2, boxes.data(), boxes.size() * sizeof(float));
    put(parts, 3, &id, sizeof id);
  }
  [[nodiscard]] std::string name_of(std::uint64_t id) const override { return std::to_string(id); }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("photos"); }

  static std::uint8_t level(std::uint64_t id, std::int32_t y, std::int32_t x, std::int32_t c) {
    return static_cast<std::uint8_t>(50 * id + 17 * static_cast<unsigned>(y) +
                                     5 * static_cast<unsigned>(x) + static_cast<unsigned>(c));
  }
  static constexpr std::uint64_t odd_mask = 11;

 private:
  static image_test::Bytes encoded(std::uint64_t id, ImageSize of, std::int32_t channels) {
    image_test::Picture picture{of, channels, {}};
    for (std::int32_t y = 0; y < of.height; ++y) {
      for (std::int32_t x = 0; x < of.width; ++x) {
        for (std::int32_t c = 0; c < channels; ++c) picture.pixels.push_back(level(id, y, x, c));
      }
    }
    return image_test::encode_png(
        picture, {.type = channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR});
  }
  static void put(SampleParts& parts, std::size_t part, const void* from, std::size_t bytes) {
    const std::span<std::byte> to = parts.make(part, bytes);
    if (bytes > 0) std::memcpy(to.data(), from, bytes);
  }
  std::vector<PartSpec> parts_ = {
      {.name = "image", .kind = PartKind::image},
      {.name = "mask", .kind = PartKind::image},
      {.name = "boxes", .dtype = DType::f32, .shape = {4}, .axis = "boxes"},
      {.name = "label", .dtype = DType::i64}};
  std::vector<image_test::Bytes> images_;
  std::vector<image_test::Bytes> masks_;
};

Pipeline pipeline(const std::string& fields) {
  return Pipeline({.source = std::make_shared<Photos>(),
                   .recipe = recipe("order = { mode = \"sequential\" }\n" + fields)});
}

std::string field(const std::string& stages, const std::string& more = "axis = \"pixels\"") {
  return "[[field]]\nname = \"image\"\n" + more + "\nstages = [" + stages + "]\n";
}

std::string refusal(const std::string& fields) {
  try {
    static_cast<void>(pipeline(fields));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

std::array<std::int32_t, 2> size_in(const MadeSample& made, std::size_t field) {
  std::array<std::int32_t, 2> size{};
  REQUIRE(made.field(field).size() == sizeof size);
  std::memcpy(size.data(), made.field(field).data(), sizeof size);
  return size;
}

const std::string decode = R"({ stage = "decode" })";

}  // namespace

TEST_CASE("images that keep their sizes have pixels as rows, and their sizes beside them") {
  const Pipeline all =
      pipeline(field(decode) + "[[field]]\nname = \"boxes\"\n" + "[[field]]\nname = \"label\"\n");
  CHECK(all.schema() == Schema{{"image", DType::u8, Axis{"pixels"}, {3}},
                               {"boxes", DType::f32, Axis{"boxes"}, {4}},
                               {"label", DType::i64},
                               {"image_size", DType::i32, {2}}});
  CHECK_FALSE(all.fills_in_place());
  CHECK(all.lengths("pixels") == nullptr);
  const auto worker = all.worker();
  MadeSample made(all.schema());
  for (std::uint64_t id = 0; id < 12; ++id) {
    worker->make_apart(0, id, made);
    const ImageSize size = size_of_image(id);
    CHECK(size_in(made, 3) == std::array<std::int32_t, 2>{size.height, size.width});
    CHECK(made.rows()[0] == static_cast<std::uint64_t>(size.height * size.width));
    CHECK(made.rows()[1] == id % 3);
    const auto pixels = made.field(0);
    REQUIRE(pixels.size() == 3 * made.rows()[0]);
    std::size_t at = 0;
    bool right = true;
    for (std::int32_t y = 0; y < size.height; ++y) {
      for (std::int32_t x = 0; x < size.width; ++x) {
        for (std::int32_t c = 0; c < 3; ++c) {
          right = right && pixels[at++] == static_cast<std::byte>(Photos::level(id, y, x, c));
        }
      }
    }
    CHECK(right);
  }
}

TEST_CASE("stages change sizes and pixels of images that keep their own") {
  const Pipeline shorter = pipeline(field(decode + R"(, { stage = "resize", size = 6 },
      { stage = "horizontal_flip" }, { stage = "color_jitter", brightness = 0.4 },
      { stage = "pad", padding = 1 })"));
  MadeSample made(shorter.schema());
  const auto worker = shorter.worker();
  for (std::uint64_t id = 0; id < 12; ++id) {
    worker->make_apart(0, id, made);
    const auto [height, width] = size_in(made, 1);
    const ImageSize size = size_of_image(id);
    CHECK(height == 8);
    CHECK(width == 6 * size.width / size.height + 2);
    CHECK(made.rows()[0] == static_cast<std::uint64_t>(height * width));
    CHECK(made.field(0).size() == 3 * made.rows()[0]);
  }
  const Pipeline fixed = pipeline(field(decode + R"(, { stage = "center_crop", size = [3, 5] },
      { stage = "to", dtype = "u8", layout = "hwc", channel_order = "bgr" })"));
  MadeSample small(fixed.schema());
  fixed.worker()->make_apart(0, 4, small);
  CHECK(small.rows()[0] == 15);
  CHECK(small.field(0)[0] == static_cast<std::byte>(Photos::level(4, 0, 2, 2)));
}

TEST_CASE("choices may give any size where images keep their own") {
  const std::string choice = R"(, { stage = "random_choice", stages = [
      { stage = "resize", size = [4, 6] }, { stage = "resize", size = 9 } ] })";
  CHECK_THAT(refusal(field(decode + choice, "")), Contains("differ in shape"));
  const Pipeline either = pipeline(field(decode + choice));
  MadeSample made(either.schema());
  const auto worker = either.worker();
  std::size_t small = 0;
  for (std::uint64_t id = 0; id < 12; ++id) {
    worker->make_apart(0, id, made);
    small += made.rows()[0] == 24 ? 1U : 0U;
  }
  CHECK(small > 0);
  CHECK(small < 12);
}

TEST_CASE("masks share the axis of their images, or have another") {
  const std::string mask = R"([[field]]
name = "mask"
axis = "AXIS"
stages = [ { stage = "decode", mode = "index" }, { stage = "to", dtype = "u8", layout = "hw" } ]
)";
  const auto with_axis = [&](const std::string& axis) {
    std::string of = mask;
    return of.replace(of.find("AXIS"), 4, axis);
  };
  const Pipeline own = pipeline(field(decode) + with_axis("ids"));
  CHECK(own.schema()[1] == FieldSpec{"mask", DType::u8, Axis{"ids"}});
  MadeSample apart(own.schema());
  own.worker()->make_apart(0, Photos::odd_mask, apart);
  CHECK(apart.rows()[1] == 25);
  CHECK(size_in(apart, 3) == std::array<std::int32_t, 2>{5, 5});

  const Pipeline shared = pipeline(field(decode) + with_axis("pixels"));
  MadeSample made(shared.schema());
  const auto worker = shared.worker();
  worker->make_apart(0, 5, made);
  CHECK(made.field(1).size() == made.rows()[0]);
  CHECK(made.field(1)[1] == static_cast<std::byte>(Photos::level(5, 0, 1, 0)));
  CHECK_THROWS_WITH(worker->make_apart(0, Photos::odd_mask, made),
                    Contains("`image` has 55 rows and `mask` 25") && Contains("axis `pixels`"));
}

TEST_CASE("what does not go with images that keep their sizes is refused in words") {
  CHECK_THAT(refusal(field(decode, "")), Contains("say axis = \"pixels\""));
  CHECK_THAT(refusal(field(decode + R"(, { stage = "to", dtype = "f32" })")),
             Contains("`to`") && Contains("are u8") && Contains("layout = \"hwc\""));
  CHECK_THAT(refusal(field(decode + R"(, { stage = "to", dtype = "u8" })")), Contains("\"hwc\""));
  CHECK_THAT(refusal(field(decode + R"(, { stage = "normalize", mean = [0.5], std = [0.5] })")),
             Contains("`normalize`") && Contains("axis `pixels`") && Contains("in the trainer"));
  CHECK_THAT(refusal(field(decode, "axis = \"pixels\"\nviews = 2")),
             Contains("views") && Contains("one size"));
  CHECK_THAT(refusal(field(decode + R"(, { stage = "five_crop", size = 3 })")),
             Contains("several images"));
  CHECK_THAT(refusal("[[field]]\nname = \"label\"\naxis = \"x\"\n"),
             Contains("`label`") && Contains("is no image"));
  CHECK_THAT(refusal("[[field]]\nname = \"boxes\"\naxis = \"x\"\n"),
             Contains("lies on the axis `boxes`"));
  CHECK(refusal("[[field]]\nname = \"boxes\"\naxis = \"boxes\"\n") == "nothing");
  CHECK_THAT(refusal(field(decode) + "[[field]]\nname = \"image_size\"\nfrom = \"label\"\n"),
             Contains("`image_size`"));
  CHECK_THAT(refusal(field(decode, "axis = \"\"")), Contains("`axis`") && Contains("is empty"));
}

TEST_CASE("an axis is part of a recipe's text, and changes no other's") {
  const Recipe with = recipe(field(decode));
  CHECK_THAT(with.to_json(), Contains("\"axis\":\"pixels\""));
  CHECK(Recipe::from_json(with.to_json()).to_json() == with.to_json());
  CHECK_THAT(recipe(field(decode, "")).to_json(), !Contains("axis"));
}

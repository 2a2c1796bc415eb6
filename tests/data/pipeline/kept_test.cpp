// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

// Images whose pixels stay what stands in the file: 16 bits, alpha.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

using image_test::Bytes;

constexpr ImageSize size{9, 7};

/// A level says where it is; those of 16 bits need both bytes.
template <class Level>
std::vector<Level> levels(int channels) {
  std::vector<Level> made;
  for (int i = 0; i < size.width * size.height * channels; ++i) {
    made.push_back(static_cast<Level>(sizeof(Level) == 1 ? i * 3 : i * 251 + 7));
  }
  return made;
}

template <class Level>
Bytes png(int channels, bool interlaced = false) {
  constexpr std::array types = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  const std::vector<Level> pixels = levels<Level>(channels);
  image_test::Picture picture{size, channels, Bytes(pixels.size() * sizeof(Level))};
  std::memcpy(picture.pixels.data(), pixels.data(), picture.pixels.size());
  return image_test::encode_png(picture, {.type = types[static_cast<std::size_t>(channels - 1)],
                                          .bit_depth = 8 * static_cast<int>(sizeof(Level)),
                                          .interlaced = interlaced});
}

std::shared_ptr<FakeSource> source(const Bytes& file) {
  return std::make_shared<FakeSource>(
      8,
      std::vector<PartSpec>{
          {"image", PartKind::image, DType::u8, {static_cast<std::int64_t>(file.size())}}},
      [file](std::uint64_t, std::size_t, std::span<std::byte> out) {
        std::memcpy(out.data(), file.data(), out.size());
      });
}

Pipeline pipeline(const Bytes& file, int channels, int bits, const std::string& stages,
                  const std::string& more = "") {
  return Pipeline(
      {.source = source(file),
       .recipe = recipe("[[field]]\nname = \"image\"\n" + more +
                        "\nstages = [{ stage = \"decode\", mode = \"keep\", channels = " +
                        std::to_string(channels) + ", bits = " + std::to_string(bits) + " }, " +
                        stages + "]"),
       .seed = 2});
}

/// Says 4 by 4 and takes 5 by 5.
class Liar final : public GeometryStage {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "liar"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.crops = true}; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return ImageSize{4, 4};
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    geometry.crop({0, 0, 5, 5});
  }
};

const std::string whole = R"({ stage = "center_crop", size = [7, 9] })";
const std::string last = R"(, { stage = "to", dtype = "u16", layout = "hwc" })";

std::string refusal(int channels, int bits, const std::string& stages,
                    const std::string& more = "") {
  try {
    static_cast<void>(pipeline({1, 2}, channels, bits, stages, more));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("kept pixels are those of the file, of every number of channels and bits") {
  for (int channels = 1; channels <= 4; ++channels) {
    for (const bool interlaced : {false, true}) {
      INFO(channels << " channels, interlaced " << interlaced);
      const Pipeline narrow =
          pipeline(png<std::uint8_t>(channels, interlaced), channels, 8,
                   whole + R"(, { stage = "to", dtype = "u8", layout = "hwc" })");
      CHECK(narrow.schema()[0].shape == std::vector<std::int64_t>{7, 9, channels});
      const auto eight = levels<std::uint8_t>(channels);
      const Made made = make(narrow, {0, 0, 1});
      CHECK(std::memcmp(made.fields[0].data(), eight.data(), eight.size()) == 0);

      const Pipeline wide = pipeline(png<std::uint16_t>(channels, interlaced), channels, 16, whole);
      REQUIRE(wide.schema()[0] == FieldSpec{"image", DType::u16, {channels, 7, 9}});
      const auto sixteen = levels<std::uint16_t>(channels);
      const Made planes = make(wide, {0, 0, 1});
      bool same = true;
      for (std::size_t i = 0; i < 63; ++i) {
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
          same = same && planes.at<std::uint16_t>(0, c * 63 + i) ==
                             sixteen[i * static_cast<std::size_t>(channels) + c];
        }
      }
      CHECK(same);
    }
  }
}

TEST_CASE("kept pixels are cropped, padded, turned and resized to the nearest as others are") {
  // The same image of 8 bits and one channel by the way that all images take.
  const Bytes file = png<std::uint8_t>(1);
  for (const std::string stages :
       {R"({ stage = "random_crop", size = 5 }, { stage = "horizontal_flip" })",
        R"({ stage = "pad", padding = [1, 2, 3, 4], fill = 9 }, { stage = "vertical_flip" },
           { stage = "random_crop", size = 6 })",
        R"({ stage = "pad", padding = 5, padding_mode = "reflect" },
           { stage = "center_crop", size = 12 })",
        R"({ stage = "random_resized_crop", size = [5, 11], interpolation = "nearest" })",
        R"({ stage = "resize", size = [20, 4], interpolation = "nearest" },
           { stage = "horizontal_flip" },
           { stage = "resize", size = [3, 9], interpolation = "nearest" })",
        // The pass between may leave the image as it is.
        R"({ stage = "resize", size = [6, 8], interpolation = "nearest" },
           { stage = "random_short_side", min_size = 30, p = 0.3, interpolation = "nearest" },
           { stage = "resize", size = [40, 50], interpolation = "nearest" })",
        R"({ stage = "random_choice", stages = [
             { stage = "center_crop", size = 4 }, { stage = "random_crop", size = 4 }] })"}) {
    INFO(stages);
    const std::string to = R"(, { stage = "to", dtype = "i64" })";
    const Made kept = make(pipeline(file, 1, 8, stages + to, "views = 3"), {0, 0, 8});
    const Made gray =
        make(Pipeline({.source = source(file),
                       .recipe = recipe("[[field]]\nname = \"image\"\nviews = 3\nstages = [{ stage "
                                        "= \"decode\", mode = \"gray\" }, " +
                                        stages + to + "]"),
                       .seed = 2}),
             {0, 0, 8});
    CHECK(kept.fields[0] == gray.fields[0]);
  }
}

TEST_CASE("kept pixels become wider integers, and floats from 0 to 1") {
  const Bytes file = png<std::uint16_t>(2);
  const auto stored = levels<std::uint16_t>(2);
  const Made wider =
      make(pipeline(file, 2, 16, whole + R"(, { stage = "to", dtype = "i32", layout = "hwc" })"),
           {0, 0, 1});
  const Made floats =
      make(pipeline(file, 2, 16, whole + R"(, { stage = "to", dtype = "f32", layout = "hwc" },
               { stage = "normalize", mean = 0.5, std = 0.25 })"),
           {0, 0, 1});
  bool same = true;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    same = same && wider.at<std::int32_t>(0, i) == stored[i];
    const double expected = (stored[i] / 65535.0 - 0.5) / 0.25;
    same = same && std::abs(static_cast<double>(floats.at<float>(0, i)) - expected) < 1e-6;
  }
  CHECK(same);
}

TEST_CASE("JPEG and WebP are kept too, in what they have") {
  image_test::Random random(4);
  const image_test::Picture colours = image_test::noise(random, {40, 30});
  image_test::Picture alpha = image_test::noise(random, {40, 30}, 4);
  // Where nothing is seen, libwebp's encoder does not keep colours.
  for (std::size_t i = 3; i < alpha.pixels.size(); i += 4) alpha.pixels[i] |= 1;
  const image_test::Picture gray = image_test::noise(random, {40, 30}, 1);
  const std::string crop = R"({ stage = "center_crop", size = [30, 40] })";
  const std::string hwc = crop + R"(, { stage = "to", dtype = "u8", layout = "hwc" })";
  const auto made = [&](const Bytes& file, int channels) {
    return make(pipeline(file, channels, 8, hwc), {0, 0, 1}).fields[0];
  };
  const auto as_bytes = [](const Bytes& bytes) {
    const auto span = std::as_bytes(std::span(bytes));
    return std::vector<std::byte>(span.begin(), span.end());
  };
  CHECK(made(image_test::encode_webp(colours, true), 3) == as_bytes(colours.pixels));
  CHECK(made(image_test::encode_webp(alpha, true), 4) == as_bytes(alpha.pixels));
  const Bytes jpeg = image_test::encode_jpeg(gray, {.in = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE});
  image_test::ImageDecoder decoder;
  CHECK(made(jpeg, 1) ==
        as_bytes(image_test::read_one_channel(decoder, jpeg, PixelMode::gray, {0, 0, 40, 30})));
}

TEST_CASE("an image of other channels or bits than its field keeps is a bad sample") {
  const auto bad = [](const Bytes& file, int channels, int bits) {
    try {
      static_cast<void>(make(pipeline(file, channels, bits, whole), {0, 0, 1}));
    } catch (const BadSample& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK_THAT(bad(png<std::uint16_t>(3), 3, 8), Contains("it has 3 channels of 16 bits") &&
                                                   Contains("keeps images of 3 channels of 8"));
  CHECK(bad(png<std::uint8_t>(4), 3, 8) != "nothing");
  image_test::Random random(4);
  const image_test::Picture picture = image_test::noise(random, size, 1);
  CHECK_THAT(bad(image_test::encode_png(picture, {.type = SPNG_COLOR_TYPE_INDEXED}), 1, 8),
             Contains("has a palette"));
  CHECK_THAT(bad(image_test::encode_jpeg(image_test::noise(random, size)), 1, 8),
             Contains("3 channels of 8 bits"));
  CHECK(bad(image_test::encode_webp(image_test::noise(random, size), true), 3, 16) != "nothing");
}

TEST_CASE("a stage that makes another image than it said writes nothing beyond kept pixels") {
  Recipe own = recipe(
      "[[field]]\nname = \"image\"\nstages = [{ stage = \"decode\", mode = \"keep\", "
      "channels = 1, bits = 8 }]");
  own.fields[0].stages.emplace_back(std::make_shared<Liar>());
  const Pipeline lying({.source = source(png<std::uint8_t>(1)), .recipe = own});
  CHECK_THROWS_WITH(make(lying, {0, 0, 1}), Contains("25 elements, and 16 is what they said"));
}

TEST_CASE("what kept pixels cannot be made is refused with a cure") {
  CHECK_THAT(refusal(3, 16, R"({ stage = "random_resized_crop", size = 4 })"),
             Contains("test.toml:4: ") && Contains("say interpolation = \"nearest\""));
  CHECK(refusal(3, 16, R"({ stage = "resize", size = [4, 4], interpolation = "box" })") !=
        "nothing");
  CHECK_THAT(refusal(3, 8, whole + R"(, { stage = "color_jitter", hue = 0.1 })"),
             Contains("`color_jitter`") && Contains("decode with mode = \"rgb\" or \"gray\""));
  CHECK_THAT(refusal(3, 8, whole + R"(, { stage = "rotate", angle = 10 })"), Contains("`rotate`"));
  CHECK_THAT(refusal(1, 16, whole + R"(, { stage = "to", dtype = "u8" })"),
             Contains("kept pixels of 16 bits become u16"));
  CHECK(refusal(1, 8, whole + R"(, { stage = "to", dtype = "f16" })") != "nothing");
  CHECK_THAT(refusal(4, 8, whole + R"(, { stage = "to", layout = "hw" })"),
             Contains("the image has 4"));
  CHECK_THAT(refusal(1, 16, whole + R"(, { stage = "normalize", mean = 0, std = 1 })"),
             Contains("it makes floats"));
  CHECK_THAT(refusal(1, 16, whole + R"(, { stage = "invert" })", "kind = \"mask\""),
             Contains("a mask, whose pixels are ids"));
  // A mask is resized to the nearest anyway, and its ids are no floats.
  CHECK(refusal(1, 16, R"({ stage = "resize", size = [4, 4] })", "kind = \"mask\"") == "nothing");
  CHECK(refusal(1, 16, whole + R"(, { stage = "to" })", "kind = \"mask\"") != "nothing");

  const auto decode = [](const std::string& parameters) {
    try {
      static_cast<void>(
          recipe("[[field]]\nname = \"x\"\nstages = [{ stage = \"decode\", " + parameters + " }]"));
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK_THAT(decode(R"(mode = "keep")"), Contains("`channels` is missing"));
  CHECK_THAT(decode(R"(mode = "keep", channels = 3)"), Contains("`bits` is missing"));
  CHECK(decode(R"(mode = "keep", channels = 5, bits = 8)") != "nothing");
  CHECK(decode(R"(mode = "keep", channels = 3, bits = 12)") != "nothing");
  CHECK(decode(R"(mode = "keep", channels = 3, bits = 8, fast = true)") != "nothing");
  CHECK_THAT(decode(R"(mode = "rgb", bits = 8)"), Contains("for the mode `keep` only"));
}

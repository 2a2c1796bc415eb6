// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"
#include "data/pipeline/pipeline_core.hpp"
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

// Several views of one image, and fields that are cut alike: an image and its mask.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

using image_test::Bytes;

/// A pixel says where it is; that of the mask too.
constexpr ImageSize size{60, 40};

image_test::Picture colours() {
  image_test::Picture picture{size, 3, {}};
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      for (const std::int32_t value : {x, y, 100}) {
        picture.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return picture;
}

image_test::Picture ids(ImageSize of) {
  image_test::Picture picture{of, 1, {}};
  for (std::int32_t y = 0; y < of.height; ++y) {
    for (std::int32_t x = 0; x < of.width; ++x) {
      picture.pixels.push_back(static_cast<std::uint8_t>(x));
    }
  }
  return picture;
}

std::shared_ptr<FakeSource> source(ImageSize mask_size = size) {
  const Bytes image = image_test::encode_png(colours());
  const Bytes mask = image_test::encode_png(ids(mask_size), {.type = SPNG_COLOR_TYPE_INDEXED});
  const auto length = [](const Bytes& file) {
    return std::vector<std::int64_t>{static_cast<std::int64_t>(file.size())};
  };
  return std::make_shared<FakeSource>(
      20,
      std::vector<PartSpec>{{"image", PartKind::image, DType::u8, length(image)},
                            {"mask", PartKind::image, DType::u8, length(mask)},
                            {"text", PartKind::tensor, DType::i32, {4}}},
      [image, mask](std::uint64_t, std::size_t part, std::span<std::byte> out) {
        const Bytes& file = part == 0 ? image : mask;
        if (part < 2) std::memcpy(out.data(), file.data(), out.size());
      });
}

const std::string image_and_mask = R"(
[[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "color_jitter" },
          { stage = "to", dtype = "u8", layout = "hwc" }]
[[field]]
name = "mask"
stages = [{ stage = "decode", mode = "index" }, { stage = "to", dtype = "i64", layout = "hw" }]
[[joint]]
fields = ["image", "mask"]
stages = [{ stage = "random_crop", size = [8, 10] }, { stage = "horizontal_flip" }]
)";

std::string refusal(const std::string& toml) {
  try {
    const Pipeline pipeline({.source = source(), .recipe = recipe(toml)});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("an image and its mask are cut alike, in every view") {
  const Pipeline pipeline(
      {.source = source(), .recipe = recipe(image_and_mask + "views = 3\n"), .seed = 4});
  REQUIRE(pipeline.schema() ==
          Schema{{"image", DType::u8, {3, 8, 10, 3}}, {"mask", DType::i64, {3, 8, 10}}});
  const Made made = make(pipeline, {0, 0, 20});
  std::set<std::pair<int, int>> corners;
  bool equal = true;
  for (std::size_t i = 0; i < 20 * 3 * 80; ++i) {
    equal = equal && made.at<std::uint8_t>(0, 3 * i) == made.at<std::int64_t>(1, i);
    if (i % 80 != 0) continue;
    corners.insert({made.at<std::uint8_t>(0, 3 * i), made.at<std::uint8_t>(0, 3 * i + 1)});
  }
  CHECK(equal);
  CHECK(corners.size() > 50);
}

TEST_CASE("view 0 is what the field is without views") {
  const Pipeline one({.source = source(), .recipe = recipe(image_and_mask), .seed = 4});
  const Pipeline two(
      {.source = source(), .recipe = recipe(image_and_mask + "views = 2\n"), .seed = 4});
  REQUIRE(one.schema()[0].shape == std::vector<std::int64_t>{8, 10, 3});
  const Made single = make(one, {1, 7, 1});
  const Made both = make(two, {1, 7, 1});
  CHECK(std::equal(single.fields[0].begin(), single.fields[0].end(), both.fields[0].begin()));
  CHECK_FALSE(
      std::equal(single.fields[0].begin(), single.fields[0].end(), both.fields[0].begin() + 240));
  CHECK(one.identity() != two.identity());
}

TEST_CASE("a part is decoded once for all fields and views that decode it alike") {
  const std::string stages =
      R"(stages = [{ stage = "decode" }, { stage = "random_resized_crop", size = 16 },
                   { stage = "color_jitter", brightness = 0.4 }, { stage = "horizontal_flip" }])";
  const std::string one = "[[field]]\nname = \"one\"\nfrom = \"image\"\n" + stages;
  const std::string two =
      "\n[[field]]\nname = \"two\"\nfrom = \"image\"\nviews = 2\ndraws = \"own\"\n" + stages;
  const std::string gray =
      "\n[[field]]\nname = \"gray\"\nfrom = \"image\"\n"
      "stages = [{ stage = \"decode\", mode = \"gray\" }, "
      "{ stage = \"random_resized_crop\", size = 16 }]";
  const detail::PipelineCore core(
      {.source = source(), .recipe = recipe(one + two + gray), .seed = 5});
  REQUIRE(core.units.size() == 2);
  CHECK(core.units[0].fields == std::vector<std::size_t>{0, 1});

  // And what comes out is what each of them gives by itself.
  const auto of = [](const std::string& toml) {
    return make(Pipeline({.source = source(), .recipe = recipe(toml), .seed = 5}), {2, 0, 20});
  };
  const Made all = of(one + two + gray);
  CHECK(all.fields[0] == of(one).fields[0]);
  CHECK(all.fields[1] == of(two).fields[0]);
  CHECK(all.fields[2] == of(gray).fields[0]);
}

TEST_CASE("views of a tensor that is an image") {
  const auto raw = std::make_shared<FakeSource>(
      8, std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {9, 9}}},
      [](std::uint64_t, std::size_t, std::span<std::byte> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
      });
  const Pipeline pipeline({.source = raw, .recipe = recipe(R"([[field]]
name = "image"
views = 4
stages = [{ stage = "random_crop", size = 4 }, { stage = "to" }, 
          { stage = "random_erasing", p = 1 }])")});
  REQUIRE(pipeline.schema()[0].shape == std::vector<std::int64_t>{4, 1, 4, 4});
  std::vector<std::byte> bytes(256);
  std::uint64_t id = 0;
  const std::vector<FieldSlots> slots{{bytes.data(), 256}};
  const SampleTrace trace = pipeline.trace({0, 0, slots, {&id, 1}});
  REQUIRE(trace.fields[0].views.size() == 4);
  for (const std::vector<Note>& view : trace.fields[0].views) CHECK(view.size() >= 5);
}

TEST_CASE("a mask of another size than its image is a bad sample that says so") {
  const Pipeline pipeline({.source = source({30, 20}), .recipe = recipe(image_and_mask)});
  CHECK_THROWS_WITH(make(pipeline, {0, 0, 1}),
                    Contains("`image` of 60 x 40") && Contains("`mask` of 30 x 20"));
  // Without a joint too, where both are cropped by the same draws.
  const Pipeline apart({.source = source({30, 20}), .recipe = recipe(R"(
[[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "random_crop", size = 8 }]
[[field]]
name = "mask"
stages = [{ stage = "decode", mode = "index" }, { stage = "random_crop", size = 8 }]
)")});
  CHECK_THROWS_AS(make(apart, {0, 0, 1}), BadSample);
}

TEST_CASE("an image that its stages enlarge beyond what may be decoded is a bad sample") {
  for (const bool kept : {false, true}) {
    INFO("kept: " << kept);
    const std::string mode = kept ? R"(mode = "keep", channels = 3, bits = 8)" : R"(mode = "rgb")";
    const std::string nearest = kept ? R"(, interpolation = "nearest")" : "";
    const std::string between = kept ? "" : R"({ stage = "invert", p = 1 },)";
    const Pipeline pipeline({.source = source({60, 40}), .recipe = recipe(R"(
[[field]]
name = "image"
stages = [{ stage = "decode", pixels_max = 3000, )" + mode + R"( },
          { stage = "resize", size = 80)" + nearest + " }," + between + R"(
          { stage = "resize", size = [8, 8])" + nearest + " }]\n")});
    CHECK_THROWS_WITH(make(pipeline, {0, 0, 1}), Contains("120 x 80") && Contains("3000"));
  }
}

TEST_CASE("masks are resized to the nearest, whatever their image is resized with") {
  const Pipeline pipeline({.source = source(), .recipe = recipe(R"(
[[field]]
name = "image"
stages = [{ stage = "decode" }]
[[field]]
name = "mask"
stages = [{ stage = "decode", mode = "index" }]
[[joint]]
fields = ["image", "mask"]
stages = [{ stage = "resize", size = [40, 15], interpolation = "bicubic" }]
)")});
  REQUIRE(pipeline.schema()[1].shape == std::vector<std::int64_t>{1, 40, 15});
  const Made made = make(pipeline, {0, 0, 1});
  bool nearest = true;
  for (std::size_t i = 0; i < 600; ++i) {
    nearest = nearest && made.at<std::uint8_t>(1, i) == 4 * (i % 15) + 2;
  }
  CHECK(nearest);
}

// As levels, in a joint whose stages follow.
const std::string levels_of_both = R"([[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "to", dtype = "u8", layout = "hwc" }]
[[field]]
name = "mask"
stages = [{ stage = "decode", mode = "index" }, { stage = "to", dtype = "u8", layout = "hw" }]
[[joint]]
fields = ["image", "mask"]
)";

TEST_CASE("warps move an image and its mask alike, and mix no ids") {
  const Pipeline pipeline({.source = source(),
                           .recipe = recipe(levels_of_both + R"(
stages = [
  { stage = "resize", size = [40, 60] },
  { stage = "random_affine", degrees = 20, translate = [0.1, 0.1], scale = [0.8, 1.2], p = 0.8 },
  { stage = "random_perspective", interpolation = "nearest", fill = 200, mask_fill = 200 },
  { stage = "elastic", sigma = 2, interpolation = "nearest", fill = 200, mask_fill = 200 },
  { stage = "random_crop", size = 32 },
  { stage = "random_rotation", degrees = 180, fill = 200, mask_fill = 200 },
]
)"),
                           .seed = 11});
  const Made made = make(pipeline, {0, 0, 20});
  bool equal = true;
  std::set<int> seen;
  for (std::size_t i = 0; i < 20 * 32 * 32; ++i) {
    // Red is the column, as the id is.
    equal = equal && made.at<std::uint8_t>(0, 3 * i) == made.at<std::uint8_t>(1, i);
    seen.insert(made.at<std::uint8_t>(1, i));
  }
  CHECK(equal);
  CHECK(seen.count(200) == 1);
  CHECK(seen.size() > 50);

  // What an image is mixed with, a mask is not.
  const Pipeline mixed({.source = source(), .recipe = recipe(levels_of_both + R"(
stages = [
  { stage = "resize", size = [40, 60] },
  { stage = "random_rotation", degrees = [30, 31], interpolation = "bilinear", fill = 200 },
]
)")});
  const Made bent = make(mixed, {0, 0, 1});
  std::size_t differing = 0;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < 2400; ++i) {
    const int red = bent.at<std::uint8_t>(0, 3 * i);
    const int id = bent.at<std::uint8_t>(1, i);
    if (red == 200) {
      ++beyond;
      CHECK(id == 0);
    } else if (std::abs(red - id) > 1) {
      ++differing;
    }
  }
  CHECK(beyond > 300);
  CHECK(differing == 0);
}

TEST_CASE("masks are padded with mask_fill in a joint, and with fill by their own stages") {
  const auto corner = [](const std::string& own, const std::string& joint) {
    const Pipeline pipeline({.source = source(),
                             .recipe = recipe("[[field]]\nname = \"image\"\n"
                                              "stages = [{ stage = \"decode\" }" +
                                              own +
                                              "]\n[[field]]\nname = \"mask\"\nstages = "
                                              "[{ stage = \"decode\", mode = \"index\" }" +
                                              own +
                                              "]\n[[joint]]\nfields = [\"image\", "
                                              "\"mask\"]\nstages = [{ stage = \"resize\", "
                                              "size = [40, 60] }" +
                                              joint + "]\n")});
    const Made made = make(pipeline, {0, 0, 1});
    return std::pair<int, int>{made.at<std::uint8_t>(0, 0), made.at<std::uint8_t>(1, 0)};
  };
  using Corner = std::pair<int, int>;
  CHECK(corner("", R"(, { stage = "pad", padding = 4, fill = 99 })") == Corner{99, 0});
  CHECK(corner("", R"(, { stage = "pad", padding = 4, fill = 99, mask_fill = 255 })") ==
        Corner{99, 255});
  CHECK(corner(R"(, { stage = "pad", padding = 4, fill = 99 })", "") == Corner{99, 99});
  CHECK(corner(R"(, { stage = "pad", padding = 4, fill = 99, mask_fill = 255 })", "") ==
        Corner{99, 255});
  CHECK(corner("", R"(, { stage = "random_crop", size = 90, pad_if_needed = true, fill = 9, )"
                   R"(mask_fill = 7 }, { stage = "horizontal_flip" })") == Corner{9, 7});
  // A crop in the same pass that pads nothing.
  CHECK(corner("", R"(, { stage = "pad", padding = 40, fill = 9, mask_fill = 255 }, )"
                   R"({ stage = "random_crop", size = [119, 139] })") == Corner{9, 255});
}

TEST_CASE("a joint's mask_fill is named where a mask is padded and `fill` is another") {
  const auto json = [](const std::string& stage, const std::string& kind = "mask") {
    return recipe("[[field]]\nname = \"image\"\n[[field]]\nname = \"mask\"\nkind = \"" + kind +
                  "\"\n[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [{ stage = " + stage +
                  " }]\n")
        .to_json();
  };
  const auto named = Contains(R"("mask_fill":0)");
  const std::string pad = R"("pad", padding = 4, fill = 99)";
  CHECK_THAT(json(pad), named);
  CHECK_THAT(json(R"("random_crop", size = 9, pad_if_needed = true, fill = 9)"),
             Contains(R"("mask_fill":0)"));
  CHECK(Recipe::from_json(json(pad)).to_json() == json(pad));
  for (const std::string& same : {json(pad, "image"), json(R"("pad", padding = 4)"),
                                  json(R"("random_crop", size = 9, fill = 9)"),
                                  json(R"("pad", padding = 4, fill = 9, padding_mode = "edge")")}) {
    CHECK(same.find("mask_fill") == std::string::npos);
  }
}

TEST_CASE("what cannot be done to a kind of field is refused by name") {
  const std::string image = "[[field]]\nname = \"image\"\nstages = [{ stage = \"decode\" }]\n";
  const auto mask = [](const std::string& stages, const std::string& more = "") {
    return "[[field]]\nname = \"mask\"\n" + more +
           "\nstages = [{ stage = \"decode\", mode = \"index\" }, "
           "{ stage = \"center_crop\", size = 8 }, " +
           stages + "]\n";
  };
  const auto joint = [&](const std::string& other, const std::string& stages) {
    return "[[joint]]\nfields = [\"image\", \"" + other +
           "\"]\nstages = [{ stage = \"random_crop\", size = 8 }, " + stages + "]\n";
  };
  const std::string jitter = R"({ stage = "color_jitter", hue = 0.1 })";
  CHECK_THAT(refusal(mask(jitter)), Contains("`color_jitter`") && Contains("ids"));
  CHECK_THAT(refusal(image +
                     "[[field]]\nname = \"mask\"\nstages = [{ stage = \"decode\", mode = "
                     "\"index\" }]\n" +
                     joint("mask", jitter)),
             Contains("`color_jitter` of the field `mask`") && Contains("out of the joint"));
  CHECK_THAT(refusal(mask(R"({ stage = "resize", size = [8, 8], interpolation = "lanczos" })")),
             Contains("would mix ids"));
  CHECK(refusal(mask(R"({ stage = "resize", size = [8, 8], interpolation = "nearest" })")) ==
        "nothing");
  CHECK_THAT(refusal(mask(R"({ stage = "rotate", angle = 9, interpolation = "bilinear" })")),
             Contains("would mix ids"));
  CHECK(refusal(mask(R"({ stage = "random_perspective" })")) == "nothing");
  CHECK_THAT(refusal(mask(R"({ stage = "to", dtype = "u8" }, { stage = "random_erasing" })")),
             Contains("`random_erasing`") && Contains("ids"));
  CHECK_THAT(refusal(mask(R"({ stage = "to", dtype = "u8" }, { stage = "gaussian_noise" })")),
             Contains("`gaussian_noise`") && Contains("ids"));
  CHECK_THAT(
      refusal(mask(R"({ stage = "rotate", angle = 9, fill = [1, 2, 3] })", "kind = \"image\"")),
      Contains("`fill` of 3 numbers, and the image 1 channel"));
  CHECK_THAT(refusal(mask(R"({ stage = "equalize" })")), Contains("`equalize`"));
  CHECK_THAT(refusal(mask(R"({ stage = "to", dtype = "f32" })")), Contains("integer type"));
  CHECK(refusal(mask(R"({ stage = "to", dtype = "f32" })", "kind = \"image\"")) == "nothing");
  CHECK_THAT(refusal("[[field]]\nname = \"image\"\nstages = [{ stage = \"decode\" }, { stage = "
                     "\"random_crop\", size = 8 }, { stage = \"to\", layout = \"hw\" }]"),
             Contains("`hw` is for one channel"));
}

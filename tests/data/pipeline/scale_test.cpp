// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Images of different sizes whose fields draw alike: bad samples, cut alike all the same, or one of
// them `scale` times as large as the other.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

using image_test::Bytes;

/// A pixel says where it is, in units of `scale` pixels.
Bytes where(ImageSize size, int scale, std::size_t byte_count = 0) {
  image_test::Picture picture{size, 3, {}};
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      for (const std::int32_t value : {x / scale, y / scale, 100}) {
        picture.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  Bytes file = image_test::encode_png(picture);
  file.resize(std::max(file.size(), byte_count));  // what follows a PNG does not count
  return file;
}

constexpr std::size_t file_bytes = 20'000;

std::shared_ptr<FakeSource> pairs(ImageSize large, ImageSize small, int scale) {
  const Bytes first = where(large, scale, file_bytes);
  const Bytes second = where(small, 1, file_bytes);
  REQUIRE(first.size() == file_bytes);
  const std::vector<std::int64_t> length = {static_cast<std::int64_t>(file_bytes)};
  return std::make_shared<FakeSource>(
      10,
      std::vector<PartSpec>{{"hr", PartKind::image, DType::u8, length},
                            {"lr", PartKind::image, DType::u8, length}},
      [first, second](std::uint64_t, std::size_t part, std::span<std::byte> out) {
        std::memcpy(out.data(), (part == 0 ? first : second).data(), out.size());
      });
}

std::string field(const std::string& name, const std::string& stages,
                  const std::string& more = "") {
  return "[[field]]\nname = \"" + name + "\"\n" + more + "\nstages = [{ stage = \"decode\" }, " +
         stages + "{ stage = \"to\", dtype = \"u8\", layout = \"hwc\" }]\n";
}

std::string both(const std::string& stages, const std::string& of_large = "") {
  return field("hr", stages, of_large) + field("lr", stages);
}

std::string joined(const std::string& stages, const std::string& more = "") {
  return field("hr", "", "scale = 4") + field("lr", "") +
         "[[joint]]\nfields = [\"hr\", \"lr\"]\nstages = [" + stages + "]\n" + more;
}

/// Why no sample can be made of them.
std::string fault(const std::shared_ptr<FakeSource>& source, const std::string& toml) {
  try {
    const Pipeline pipeline({.source = source, .recipe = recipe(toml)});
    static_cast<void>(make(pipeline, {0, 0, 1}));
  } catch (const BadSample& bad) {
    return bad.what();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

const std::string crop = R"({ stage = "random_crop", size = [8, 6] }, )";
const std::string flips = R"({ stage = "horizontal_flip" }, { stage = "vertical_flip" }, )";

/// Whether every pixel of lr is the block of 4 by 4 at its place in hr.
bool match(const Pipeline& pipeline, ImageSize small, std::size_t images) {
  const Made made = make(pipeline, {0, 0, 10});
  const auto width = static_cast<std::size_t>(small.width);
  const auto height = static_cast<std::size_t>(small.height);
  std::set<std::pair<int, int>> corners;
  for (std::size_t i = 0; i < 10 * images; ++i) {
    for (std::size_t y = 0; y < 4 * height; ++y) {
      for (std::size_t x = 0; x < 4 * width; ++x) {
        for (std::size_t c = 0; c < 3; ++c) {
          const auto large =
              made.at<std::uint8_t>(0, ((i * 4 * height + y) * 4 * width + x) * 3 + c);
          const auto one = made.at<std::uint8_t>(1, ((i * height + y / 4) * width + x / 4) * 3 + c);
          if (large != one) return false;
        }
      }
    }
    corners.insert({made.at<std::uint8_t>(1, i * width * height * 3),
                    made.at<std::uint8_t>(1, i * width * height * 3 + 1)});
  }
  return corners.size() > 3;
}

}  // namespace

TEST_CASE("images of two sizes that would be cut alike are bad samples, with both sizes") {
  const auto source = pairs({96, 96}, {24, 24}, 4);
  for (const std::string& stages : std::vector<std::string>{
           crop, std::string(R"({ stage = "random_resized_crop", size = 8 }, )"),
           R"({ stage = "random_choice", stages = [{ stage = "random_crop", size = 8 }, )"
           R"({ stage = "random_crop", size = 8, padding = 1 }] }, )",
           R"({ stage = "rotate", angle = 4, p = 0.5 }, { stage = "resize", size = [8, 8] }, )"}) {
    INFO(stages);
    const std::string why = fault(source, both(stages));
    CHECK_THAT(why, Contains("`hr` of 96 x 96 and `lr` of 24 x 24 pixels"));
    CHECK_THAT(why, !Contains("mask"));
    CHECK_THAT(why, Contains("scale = N"));
  }
  const std::string in_joint = field("hr", "") + field("lr", "") +
                               "[[joint]]\nfields = [\"hr\", \"lr\"]\nstages = [" + crop + "]\n";
  CHECK_THAT(fault(source, in_joint), Contains("`hr` of 96 x 96 and `lr` of 24 x 24 pixels"));
  CHECK_THAT(fault(source, in_joint), !Contains("mask"));
  CHECK(fault(source, field("hr", R"({ stage = "center_crop", size = 8 }, )") +
                          field("lr", R"({ stage = "center_crop", size = 8 }, )") +
                          "[[joint]]\nfields = [\"hr\", \"lr\"]\nstages = [" + flips + "]\n") ==
        "nothing");
}

TEST_CASE("images of two sizes may draw alike where nothing is cut by their sizes") {
  const auto source = pairs({96, 96}, {24, 24}, 4);
  CHECK(fault(source, both(R"({ stage = "center_crop", size = 8 }, )" + flips)) == "nothing");
  CHECK(fault(source, both(R"({ stage = "resize", size = [20, 20] }, )" + crop)) == "nothing");
  CHECK(fault(source, both(R"({ stage = "resize", size = 20 }, )" + crop)) == "nothing");
  CHECK_THAT(
      fault(pairs({96, 80}, {24, 24}, 4), both(R"({ stage = "resize", size = 20 }, )" + crop)),
      Contains("`hr` of 96 x 80"));
  CHECK_THAT(
      fault(pairs({80, 96}, {24, 24}, 4), both(R"({ stage = "resize", size = 20 }, )" + crop)),
      Contains("`hr` of 80 x 96"));
  CHECK(fault(source, field("hr", crop, "draws = \"own\"") + field("lr", crop)) == "nothing");
}

TEST_CASE("images of one size are what they were, though their fields resize them apart") {
  const auto source = pairs({24, 24}, {24, 24}, 1);
  const std::string toml = field("hr", R"({ stage = "resize", size = 20 }, )" + crop) +
                           field("lr", R"({ stage = "resize", size = 16 }, )" + crop);
  CHECK(fault(source, toml) == "nothing");
  // Pinned: as before there were scales.
  const Pipeline pipeline({.source = source, .recipe = recipe(both(crop)), .seed = 3});
  const Made made = make(pipeline, {0, 0, 10});
  CHECK(made.fields[0] == made.fields[1]);
  CHECK(pipeline.recipe_json().find("scale") == std::string::npos);
}

TEST_CASE("with scale = 4 crops of a larger image match those of the smaller one") {
  const auto source = pairs({96, 80}, {24, 20}, 4);
  for (const std::string& stages : std::vector<std::string>{
           crop, crop + flips, R"({ stage = "center_crop", size = 16 }, )" + crop,
           std::string(R"({ stage = "random_crop", size = [8, 6], padding = [3, 2] }, )"),
           R"({ stage = "pad", padding = 3, padding_mode = "symmetric" }, )" + crop,
           R"({ stage = "pad", padding = [1, 2, 3, 4], padding_mode = "edge" }, )" + crop + flips,
           R"({ stage = "random_choice", stages = [{ stage = "random_crop", size = [8, 6] }, )"
           R"({ stage = "center_crop", size = [8, 6] }] }, )" +
               flips,
           R"({ stage = "color_jitter", brightness = 0 }, )" + crop}) {
    INFO(stages);
    const Pipeline joint({.source = source, .recipe = recipe(joined(stages)), .seed = 5});
    CHECK(joint.schema() == Schema{{"hr", DType::u8, {32, 24, 3}}, {"lr", DType::u8, {8, 6, 3}}});
    CHECK(match(joint, {6, 8}, 1));
    const Pipeline apart(
        {.source = source, .recipe = recipe(both(stages, "scale = 4")), .seed = 5});
    CHECK(match(apart, {6, 8}, 1));
  }
  const Pipeline views(
      {.source = source, .recipe = recipe(joined(crop, "views = 3\n")), .seed = 5});
  CHECK(match(views, {6, 8}, 3));
  const Pipeline corners({.source = source,
                          .recipe = recipe(joined(crop + R"({ stage = "five_crop", size = 5 })")),
                          .seed = 5});
  CHECK(match(corners, {5, 5}, 5));
}

TEST_CASE("with a scale resizing gives both images the same part at their sizes") {
  const auto source = pairs({96, 96}, {24, 24}, 4);
  const Pipeline pipeline(
      {.source = source,
       .recipe = recipe(
           joined(R"({ stage = "random_resized_crop", size = 8, interpolation = "nearest" })"))});
  CHECK(pipeline.schema() == Schema{{"hr", DType::u8, {32, 32, 3}}, {"lr", DType::u8, {8, 8, 3}}});
  const Made made = make(pipeline, {0, 0, 10});
  int far = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t y = 0; y < 8; ++y) {
      for (std::size_t x = 0; x < 8; ++x) {
        const int large = made.at<std::uint8_t>(0, ((i * 32 + 4 * y + 2) * 32 + 4 * x + 2) * 3);
        const int small = made.at<std::uint8_t>(1, ((i * 8 + y) * 8 + x) * 3);
        if (std::abs(large - small) > 1) ++far;
      }
    }
  }
  CHECK(far == 0);
}

TEST_CASE("sizes that do not differ by exactly the scale are bad samples") {
  for (const auto& [large, small] :
       std::vector<std::pair<ImageSize, ImageSize>>{{{97, 96}, {24, 24}},
                                                    {{96, 99}, {24, 24}},
                                                    {{96, 96}, {32, 24}},
                                                    {{48, 48}, {24, 24}}}) {
    const std::string why = fault(pairs(large, small, 4), joined(crop));
    CHECK_THAT(why, Contains("they do not differ by their `scale`"));
    CHECK_THAT(why, Contains("`hr` of " + std::to_string(large.width) + " x " +
                             std::to_string(large.height) + " with scale = 4"));
    CHECK_THAT(why, Contains("`lr` of " + std::to_string(small.width)));
  }
  // Too small for the crop, before the other size is known.
  CHECK_THAT(
      fault(pairs({24, 24}, {24, 24}, 4), joined(crop)),
      Contains("a crop takes 6x8") && Contains("with scale = 4 its 24 x 24 pixels count as 6 x 6"));
  CHECK_THAT(fault(pairs({3, 3}, {24, 24}, 4), joined(crop)),
             Contains("its 3 x 3 pixels are fewer than its `scale`, which is 4"));
}

TEST_CASE("stages that a scale does not go with are refused by name") {
  const auto source = pairs({96, 96}, {24, 24}, 4);
  for (const std::string stage :
       {R"(stage = "rotate", angle = 3)", R"(stage = "random_rotation", degrees = 3)",
        R"(stage = "affine", shear = [3, 0])", R"(stage = "random_affine", degrees = 3)",
        R"(stage = "random_perspective")", R"(stage = "elastic")", R"(stage = "rand_augment")",
        R"(stage = "trivial_augment_wide")",
        R"(stage = "pad", padding = 2, padding_mode = "reflect")"}) {
    INFO(stage);
    const std::string name = stage.substr(9, stage.find('"', 9) - 9);
    CHECK_THAT(fault(source, joined(crop + "{ " + stage + " }")),
               Contains("`" + name + "`") && Contains("scale"));
  }
  const std::string erasing =
      "[[field]]\nname = \"hr\"\nscale = 4\nstages = [{ stage = \"decode\" }, " + crop +
      "{ stage = \"to\" }, { stage = \"random_erasing\" }]\n" + field("lr", crop);
  CHECK_THAT(fault(source, erasing), Contains("`random_erasing`") && Contains("scale = 4"));
  std::string noise = erasing;
  noise.replace(noise.find("{ stage = \"to\" }, { stage = \"random_erasing\" }"),
                std::string_view("{ stage = \"to\" }, { stage = \"random_erasing\" }").size(),
                "{ stage = \"gaussian_noise\" }, { stage = \"to\" }");
  CHECK_THAT(fault(source, noise), Contains("`gaussian_noise`") && Contains("scale = 4"));
  CHECK_THAT(fault(source, field("hr", R"({ stage = "random_crop", size = 32 }, )", "scale = 4") +
                               field("lr", R"({ stage = "random_crop", size = 8 }, )")),
             Contains("count in the pixels of the smaller image"));
  CHECK_THAT(fault(source, field("hr", crop, "scale = 4\ndraws = \"own\"") + field("lr", crop)),
             Contains("`hr` has scale = 4, and is cut like no field of another scale"));
  CHECK_THAT(fault(source, field("hr", crop, "scale = 17") + field("lr", crop)),
             Contains("`scale` must be from 1 to 16, not 17"));
}

TEST_CASE("a scale is part of a recipe and its identity, unless it is 1") {
  const Recipe scaled = recipe(joined(crop));
  CHECK(Recipe::from_json(scaled.to_json()).to_json() == scaled.to_json());
  CHECK_THAT(scaled.to_json(), Contains("\"scale\":4"));
  CHECK(recipe(both(crop, "scale = 1")).to_json() == recipe(both(crop)).to_json());
}

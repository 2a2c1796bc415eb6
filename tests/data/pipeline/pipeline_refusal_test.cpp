// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/fake_source.hpp"

#include <batchcast/data/pipeline.hpp>

#include "catch.hpp"

#include <memory>
#include <string>
#include <string_view>

using namespace batchcast;
using test::FakeSource;

namespace {

// What a source of an encoded image, a small raw one, numbers and text says to stages for a field.
std::string refusal(const std::string& part, const std::string& stages) {
  const auto source = std::make_shared<FakeSource>(
      3,
      std::vector<PartSpec>{{"image", PartKind::image, DType::u8, {}},
                            {"raw", PartKind::tensor, DType::u8, {3, 32, 32}},
                            {"numbers", PartKind::tensor, DType::i64, {5}},
                            {"text", PartKind::bytes, DType::u8, {}}},
      [](std::uint64_t, std::size_t, std::span<std::byte>) {});
  const std::string toml =
      "[[field]]\nname = \"x\"\nfrom = \"" + part + "\"\nstages = [" + stages + "]";
  try {
    const Pipeline pipeline({.source = source, .recipe = Recipe::from_toml(toml, "x.toml")});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

bool says(const std::string& text, const std::string& what) {
  INFO(text);
  CHECK(text.find(what) != std::string::npos);
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("stages that do not fit are refused with field, stage and a way out") {
  CHECK(says(refusal("imgae", ""), "Did you mean `image`?"));
  CHECK(says(refusal("image", ""), "begin with { stage = \"decode\" }"));
  CHECK(says(refusal("image", "{ stage = \"decode\" }"), "must have one"));
  CHECK(says(refusal("image", "{ stage = \"decode\" }, { stage = \"resize\", size = 256 }"),
             "must have one"));
  CHECK(says(refusal("raw", "{ stage = \"decode\" }"), "decoded already"));
  CHECK(says(refusal("raw", "{ stage = \"to\" }, { stage = \"horizontal_flip\" }"),
             "must stand before `to`"));
  CHECK(says(refusal("raw", "{ stage = \"normalize\", mean = [0.5], std = [0.5] }"),
             "put { stage = \"to\", dtype = \"f32\" } before it"));
  CHECK(says(refusal("raw", "{ stage = \"to\" }, { stage = \"to\" }"), "has it already"));
  CHECK(says(refusal("raw", "{ stage = \"to\", dtype = \"i64\" }, { stage = \"vertical_flip\" }"),
             "images become u8, f16, bf16 or f32"));
  CHECK(says(refusal("raw",
                     "{ stage = \"grayscale\" }, { stage = \"to\" }, "
                     "{ stage = \"normalize\", mean = [1, 2, 3], std = [1, 1, 1] }"),
             "1 channel"));
  CHECK(says(refusal("numbers", "{ stage = \"horizontal_flip\" }"), "works on images"));
  CHECK(says(refusal("text", ""), "a custom stage"));
  CHECK(says(refusal("raw", "{ stage = \"random_erasing\" }, { stage = \"to\" }"),
             "the stage `random_erasing` of the field `x` does not fit: it works on what `to` "
             "makes: put it after `to`."));
  CHECK(says(refusal("raw", "{ stage = \"map_ids\", ids = [1] }"), "or take `map_colors`"));
  CHECK(says(
      refusal("raw", "{ stage = \"grayscale\" }, { stage = \"map_colors\", colors = \"voc\" }"),
      "or take `map_ids`"));
  CHECK(says(refusal("raw", "{ stage = \"multi_hot\", classes = 3 }"), "takes ids as i64"));
  CHECK(says(refusal("raw",
                     "{ stage = \"resize\", size = [4, 4] }, "
                     "{ stage = \"map_colors\", colors = \"voc\" }"),
             "`resize` before it mixes those of neighbours"));
  CHECK(says(refusal("raw",
                     "{ stage = \"to\", dtype = \"f32\" }, { stage = \"gaussian_noise\" }, "
                     "{ stage = \"normalize\", mean = [0, 0, 0], std = [1, 1, 1] }"),
             "put it after `normalize`, or before `to`"));
  CHECK(says(refusal("numbers", "]\nscale = 2 #"), "is cut like no field of another scale"));
}

TEST_CASE("what does not go together is refused with the line of the field or stage") {
  // A field begins at line 1, and its stages stand from line 4 on.
  const std::string decode = "{ stage = \"decode\" },\n";
  CHECK(says(refusal("imgae", ""), "x.toml:1: the field `x` is to be made from the part `imgae`"));
  CHECK(says(refusal("image", ""), "x.toml:1: the part `image` is an encoded image"));
  CHECK(says(refusal("image", "\n" + decode + "{ stage = \"resize\", size = 256 }"),
             "x.toml:1: images differ in size"));
  CHECK(says(refusal("image", "\n" + decode + "{ stage = \"resize\", size = [65536, 8192] },\n" +
                                  "{ stage = \"horizontal_flip\" }"),
             "x.toml:6: the field `x` of 8192 by 65536 pixels is too large"));
  CHECK(says(refusal("text", ""), "x.toml:1: the part `text` is bytes of any length"));
  CHECK(says(refusal("text", "\n{ stage = \"to\", dtype = \"u8\" }"), "x.toml:5: the stage `"));
  CHECK(says(refusal("image:/a", ""), "x.toml:1: `image:/a`: the part `image` holds no JSON"));
  CHECK(says(refusal("raw",
                     "{ stage = \"to\" }, { stage = \"reshape\", "
                     "shape = [3, 32, 32, 1, 1, 1, 1, 1] }]\nviews = 2 #"),
             "x.toml:1: the schema cannot be served: field `x` has more than 8 dimensions."));
  CHECK(says(refusal("numbers", "]\nviews = 2 #"), "x.toml:1: the field `x` has views"));
  CHECK(says(refusal("numbers", "]\nkind = \"mask\" #"), "x.toml:1: the field `x` is a mask"));
  CHECK(says(refusal("numbers",
                     "]\n[[joint]]\nfields = [\"x\"]\nstages = [\n{ stage = \"horizontal_flip\" }"),
             "x.toml:8: the field `x` is in a joint, whose `horizontal_flip` works on images"));
}

TEST_CASE("as many pads as anybody likes overflow no sum of sides") {
  std::string pads;
  for (int i = 0; i < 1100; ++i) pads += "{ stage = \"pad\", padding = 1000000 },\n";
  const std::string crop = "{ stage = \"center_crop\", size = 32 }";
  // The first pad stands in line 5, and the 135th is the first that passes 2^28.
  const std::string text = refusal("raw", "\n" + pads + crop);
  CHECK(says(text, "x.toml:139: the stage `pad` of the field `x` does not fit: "));
  CHECK(says(text, "would be longer than 268435456 after pad. Crop it first, or pad it by less."));
  CHECK(refusal("raw", "{ stage = \"pad\", padding = 1000000 },\n" + crop) == "nothing");
}

TEST_CASE("encoded images without a recipe are refused with presets for them") {
  const auto source = std::make_shared<FakeSource>(
      3, std::vector<PartSpec>{{"image", PartKind::image, DType::u8, {}}},
      [](std::uint64_t, std::size_t, std::span<std::byte>) {});
  CHECK_THROWS_AS(Pipeline({.source = source}), InvalidArgument);
  try {
    const Pipeline pipeline({.source = source});
  } catch (const InvalidArgument& error) {
    CHECK(says(error.what(), "imagenet-train or imagenet-eval; `batchcast recipe --list`"));
    CHECK(std::string_view(error.what()).find("tokens") == std::string_view::npos);
  }
}

TEST_CASE("layouts and shapes that come out") {
  const auto shape = [](const std::vector<std::int64_t>& in, bool last, const std::string& stages) {
    const auto source = std::make_shared<FakeSource>(
        3, std::vector<PartSpec>{{"x", PartKind::tensor, DType::u8, in, last}},
        [](std::uint64_t, std::size_t, std::span<std::byte>) {});
    const Pipeline pipeline({.source = source,
                             .recipe = Recipe::from_toml(
                                 "[[field]]\nname = \"x\"\nstages = [" + stages + "]", "x.toml")});
    return pipeline.schema()[0].shape;
  };
  using Shape = std::vector<std::int64_t>;
  const std::string crop = "{ stage = \"center_crop\", size = 20 }";
  const std::string to = "{ stage = \"to\" }";
  CHECK(shape({28, 28}, false, "") == Shape{28, 28});
  CHECK(shape({28, 28}, false, to) == Shape{1, 28, 28});
  CHECK(shape({28, 28}, false, crop) == Shape{20, 20});
  CHECK(shape({3, 32, 32}, false, crop) == Shape{3, 20, 20});
  CHECK(shape({32, 30, 3}, true, crop) == Shape{20, 20, 3});
  CHECK(shape({32, 30, 3}, true, to) == Shape{3, 32, 30});
  CHECK(shape({32, 30, 3}, true, "{ stage = \"to\", layout = \"hwc\" }") == Shape{32, 30, 3});
  CHECK(shape({32, 30, 3}, true, "{ stage = \"grayscale\" }") == Shape{32, 30, 1});
}

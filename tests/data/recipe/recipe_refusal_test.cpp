// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/stage_support.hpp"

#include <batchcast/core/error.hpp>

#include "catch.hpp"

#include <map>
#include <string>

namespace bc = batchcast;
using namespace batchcast::test;
using bc::Recipe;

namespace {

std::string toml_refusal(std::string_view text) {
  try {
    static_cast<void>(Recipe::from_toml(text, "r.toml"));
  } catch (const bc::InvalidArgument& error) {
    return error.what();
  }
  return "not refused";
}

std::string load_refusal(std::string_view name) {
  try {
    static_cast<void>(Recipe::load(name));
  } catch (const bc::InvalidArgument& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("what is unknown is refused with its line and the nearest right name") {
  CHECK(toml_refusal("[order]\nmode = \"fixed\"\n\n[[fields]]\nname = \"x\"\n") ==
        "batchcast: r.toml:4: the recipe: there is no `fields` here. Did you mean `field`?");
  CHECK(toml_refusal("[order]\nmod = \"fixed\"") ==
        "batchcast: r.toml:2: order: there is no `mod` here. Did you mean `mode`?");
  CHECK(toml_refusal("[order]\nmode = \"reshufle\"") ==
        "batchcast: r.toml:2: order: `mode` must be one of reshuffle, fixed, sequential, blocks, "
        "packed, not "
        "`reshufle`. Did you mean `reshuffle`?");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstage = []") ==
        "batchcast: r.toml:3: field: there is no `stage` here. Did you mean `stages`?");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [\n  { stage = \"decode\" },\n"
                     "  { stage = \"random_resize_crop\", size = 224 },\n]") ==
        "batchcast: r.toml:5: there is no stage \"random_resize_crop\". Did you mean "
        "`random_resized_crop`?");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\n\n[[field.stages]]\nstage = \"resize\"\nsize = 9\n"
                     "maxsize = 10") ==
        "batchcast: r.toml:7: resize: there is no `maxsize` here. Did you mean `max_size`?");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [{ stage = \"to\", dtype = \"f23\" }]")
            .ends_with("Did you mean `f32`?"));
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [{ stage = \"zzzzzz\" }]")
            .find(" center_crop, color_jitter, decode") != std::string::npos);
}

TEST_CASE("torchvision's names lead to ours") {
  const auto stage = [](const std::string& name) {
    return toml_refusal("[[field]]\nname = \"x\"\nstages = [{ stage = \"" + name + "\" }]");
  };
  for (const auto& [theirs, ours] :
       std::map<std::string, std::string>{{"random_posterize", "posterize"},
                                          {"random_solarize", "solarize"},
                                          {"random_equalize", "equalize"},
                                          {"random_invert", "invert"},
                                          {"random_autocontrast", "autocontrast"},
                                          {"random_grayscale", "grayscale"},
                                          {"random_adjust_sharpness", "sharpness"},
                                          {"RandomAdjustSharpness", "sharpness"},
                                          {"RandomHorizontalFlip", "horizontal_flip"},
                                          {"RandomResizedCrop", "random_resized_crop"},
                                          {"RandomShortestSize", "random_short_side"},
                                          {"ElasticTransform", "elastic"},
                                          {"RandAugment", "rand_augment"},
                                          {"ToTensor", "to"},
                                          {"ToDtype", "to"},
                                          {"PILToTensor", "to"},
                                          {"cutout", "random_erasing"}}) {
    CAPTURE(theirs);
    CHECK(stage(theirs).ends_with("Did you mean `" + ours + "`?"));
  }
  CHECK(stage("MixUp").find("docs/torch.md") != std::string::npos);
  CHECK(stage("cutmix").find("docs/torch.md") != std::string::npos);
  for (const auto& [theirs, ours] : std::map<std::string, std::string>{{"int64", "i64"},
                                                                       {"float32", "f32"},
                                                                       {"uint8", "u8"},
                                                                       {"float16", "f16"},
                                                                       {"bfloat16", "bf16"},
                                                                       {"torch.int64", "i64"}}) {
    CAPTURE(theirs);
    CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [{ stage = \"to\", dtype = \"" + theirs +
                       "\" }]")
              .ends_with("Did you mean `" + ours + "`?"));
  }
}

TEST_CASE("what has the wrong type is refused with its line") {
  CHECK(toml_refusal("order = \"fixed\"") ==
        "batchcast: r.toml:1: the recipe: `order` must be a table, not \"fixed\".");
  CHECK(toml_refusal("\nfield = 3") ==
        "batchcast: r.toml:2: the recipe: `field` must be a list of tables, not 3.");
  CHECK(toml_refusal("[field]\nname = \"x\"") ==
        "batchcast: r.toml:1: the recipe: `field` must be a list of tables, not a table.");
  CHECK(toml_refusal("[[field]]\nname = 3") ==
        "batchcast: r.toml:2: field: `name` must be a text in quotes, not 3.");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [\n\"decode\"]") ==
        "batchcast: r.toml:4: a stage is a table, such as { stage = \"decode\" }, not \"decode\".");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [\n{ size = 3 }]") ==
        "batchcast: r.toml:4: a stage: `stage` is missing: which stage it is.");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\nstages = [{ stage = 2 }]") ==
        "batchcast: r.toml:3: a stage: `stage` must be a text in quotes, not 2.");
  CHECK(toml_refusal("# größer\nö = 1").starts_with("batchcast: r.toml:2: this is not TOML: "));
  CHECK(toml_refusal("\n[\xef\xbb\xaf").starts_with("batchcast: r.toml:2: this is not TOML: "));
  CHECK(toml_refusal("[order]\nmode = \"fixed\"\n[ { x = 1\n[{") ==
        "batchcast: r.toml:3: this is not TOML: a key was expected.");
  CHECK(toml_refusal("x = [1").starts_with("batchcast: r.toml:1: this is not TOML: "));
  CHECK(
      toml_refusal("\n\nx = 2020-01-01 2").starts_with("batchcast: r.toml:3: this is not TOML: "));
  CHECK(toml_refusal("[order]\nmode = 2020-01-01") ==
        "batchcast: r.toml:2: order: `mode` must be a text in quotes, not something else.");
}

TEST_CASE("fields are refused that cannot be") {
  CHECK(toml_refusal("\n[[field]]\nfrom = \"x\"") ==
        "batchcast: r.toml:2: field: `name` is missing.");
  CHECK(toml_refusal("[[field]]\nname = \"\"") == "batchcast: r.toml:2: field: `name` is empty.");
  CHECK(toml_refusal("[[field]]\nname = \"sample_id\"") ==
        "batchcast: r.toml:2: field: `name` `sample_id` is taken: it is always there.");
  CHECK(toml_refusal("[[field]]\nname = \"x\"\n[[field]]\nname = \"x\"") ==
        "batchcast: r.toml:4: field: `name` `x` is taken by an earlier field.");
  CHECK(toml_refusal("[[field]]\nname = \"a b\"").find("blank") != std::string::npos);
  CHECK(toml_refusal("[[field]]\nname = \"" + std::string(64, 'x') + "\"").find("63 bytes") !=
        std::string::npos);
  std::string many;
  for (int i = 0; i < 64; ++i) many += "[[field]]\nname = \"x" + std::to_string(i) + "\"\n";
  CHECK(toml_refusal(many).find("at most 63 fields") != std::string::npos);
}

TEST_CASE("draws, views, ids and joints are refused that cannot be") {
  const std::string x = "[[field]]\nname = \"x\"\n";
  CHECK(toml_refusal(x + "draws = \"a b\"") ==
        "batchcast: r.toml:3: field: `draws` must be \"sample\", \"own\" or the name of a group, "
        "with letters, digits, `_`, `-` and `.`.");
  CHECK(toml_refusal(x + "view = 2") ==
        "batchcast: r.toml:3: field: there is no `view` here. Did you mean `views`?");
  CHECK(toml_refusal(x + "views = 65") ==
        "batchcast: r.toml:3: field: `views` must be from 1 to 64, not 65.");
  CHECK(toml_refusal(x + "kind = \"maks\"") ==
        "batchcast: r.toml:3: field: `kind` must be one of image, mask, not `maks`. Did you mean "
        "`mask`?");
  CHECK(toml_refusal(x + "stages = [{ stage = \"horizontal_flip\", id = \"a#1\" }]")
            .find("`id` must be a name") != std::string::npos);
  CHECK(toml_refusal(x + "stages = [{ stage = \"resize\", size = 3, interpolation = \"cubic\" }]")
            .ends_with("Did you mean `bicubic`?"));
  CHECK(toml_refusal(x + "stages = [{ stage = \"decode\", mode = \"kept\" }]")
            .find("must be one of rgb, gray, index") != std::string::npos);
  CHECK(toml_refusal(x + "[[joint]]\nstages = []") ==
        "batchcast: r.toml:3: joint: `fields` is missing: the names of the fields that share these "
        "stages.");
  CHECK(toml_refusal(x + "[[joint]]\nfields = [\"y\"]")
            .find("r.toml:4: joint: `fields` names `y`, and the recipe's fields are `x`.") !=
        std::string::npos);
  CHECK(toml_refusal(x + "[[joint]]\nfields = [3]") ==
        "batchcast: r.toml:4: joint: `fields` must be a list of texts in quotes, not 3.");
  CHECK(toml_refusal(x + "[[joint]]\nfields = [\"x\"]\ndraw = \"own\"")
            .ends_with("Did you mean `draws`?"));
}

TEST_CASE("an order is refused that cannot be") {
  CHECK(toml_refusal("[order]\nmode = \"fixed\"\nwindow_blocks = 3") ==
        "batchcast: r.toml:3: order: `window_blocks` is for the mode `blocks` only.");
  CHECK(toml_refusal("[order]\nmode = \"blocks\"\nblock_samples = 0") ==
        "batchcast: r.toml:3: order: `block_samples` must be from 1 to 4294967296, not 0.");
  CHECK(toml_refusal("[order]\nmode = \"blocks\"\nblock_samples = 2.5") ==
        "batchcast: r.toml:3: order: `block_samples` must be a whole number, not 2.5.");
}

TEST_CASE("stages refuse values that cannot be") {
  struct Row {
    std::string parameters;
    std::string why;
  };
  const std::vector<Row> rows = {
      {R"(stage = "decode", fast = 1)", "`fast` must be true or false, not 1."},
      {R"(stage = "decode", pixels_max = 0)", "`pixels_max` must be from 1 to"},
      {R"(stage = "random_resized_crop")", "`size` is missing: one number"},
      {R"(stage = "random_resized_crop", size = -3)", "`size` takes whole numbers from 1 to"},
      {R"(stage = "random_resized_crop", size = 2.5)", "whole numbers from 1 to 1048576, not 2.5."},
      {R"(stage = "random_resized_crop", size = [1, 2, 3])", "not a list of 3."},
      {R"(stage = "random_resized_crop", size = [])", "not a list of 0."},
      {R"(stage = "random_resized_crop", size = "big")", "a list of numbers, not \"big\"."},
      {R"(stage = "random_resized_crop", size = [true])", "must be a number, not true."},
      {R"(stage = "random_resized_crop", size = 8, scale = [0.1, 1.5])", "must lie from 0 to 1"},
      {R"(stage = "random_resized_crop", size = 8, scale = [0.5, 0.1])", "in that order"},
      {R"(stage = "random_resized_crop", size = 8, scale = 0.5)", "not a list of 1."},
      {R"(stage = "random_resized_crop", size = 8, scale = [nan, 1])", "must be a finite number"},
      {R"(stage = "random_resized_crop", size = 8, ratio = [0, 1])", "`ratio` must lie from"},
      {R"(stage = "resize", size = 256, max_size = 256)", "`max_size` must be above `size`"},
      {R"(stage = "resize", size = [2, 3], max_size = 256)", "`size` of one number only"},
      {R"(stage = "resize", size = 256, pillow = 11)", "`pillow` must be 12"},
      {R"(stage = "random_resized_crop", size = 224, pillow = 14)", "or 13, not 14"},
      {R"(stage = "random_crop", size = 3, padding = [1, 2, 3])", "not a list of 3."},
      {R"(stage = "random_crop", size = 3, padding = -1)", "`padding` takes whole numbers from 0"},
      {R"(stage = "random_crop", size = 3, fill = 256)", "`fill` must be from 0 to 255"},
      {R"(stage = "random_crop", size = 3, padding_mode = "reflekt")", "Did you mean `reflect`?"},
      {R"(stage = "random_crop", size = 3, padding = 1, pad_if_needed = true, )"
       R"(padding_mode = "reflect")",
       "cannot both mirror the image"},
      {R"(stage = "pad", fill = 3)", "`padding` is missing"},
      {R"(stage = "horizontal_flip", p = 1.5)", "`p` must be from 0 to 1, not 1.5."},
      {R"(stage = "vertical_flip", p = -0.1)", "`p` must be from 0 to 1, not -0.1."},
      {R"(stage = "vertical_flip", p = nan)", "not a number that is not finite."},
      {R"(stage = "color_jitter", hue = 0.6)", "`hue` must be from 0 to 0.5"},
      {R"(stage = "color_jitter", hue = [-0.6, 0])", "`hue` must lie from -0.5 to 0.5"},
      {R"(stage = "color_jitter", brightness = -1)", "`brightness` must be from 0"},
      {R"(stage = "color_jitter", contrast = [-1, 1])", "`contrast` must lie from 0"},
      {R"(stage = "color_jitter", saturation = [1, 2, 3])", "not a list of 3."},
      {R"(stage = "grayscale", channels = 2)", "`channels` must be 1 or 3, not 2."},
      {R"(stage = "grayscale", p = 0.5, channels = 1)", "must be 3 where `p` is below 1"},
      {R"(stage = "to", layout = "nchw")", "Did you mean `chw`?"},
      {R"(stage = "normalize", mean = 0.5)", "`std` is missing"},
      {R"(stage = "normalize", std = 0.5)", "`mean` is missing"},
      {R"(stage = "normalize", mean = [1, 2], std = [1, 2])", "takes 1 or 3 numbers"},
      {R"(stage = "normalize", mean = [1, 2, 3], std = 1)", "`std` has 1 numbers and `mean` 3."},
      {R"(stage = "normalize", mean = 0.5, std = 0)", "`std` must be above 0, not 0."},
      {R"(stage = "normalize", mean = inf, std = 1)", "`mean` must be a finite number"},
      {R"(stage = "random_erasing", value = "rand")", "or \"random\""},
      {R"(stage = "random_erasing", value = [1, 2])", "takes 1 or 3 numbers, not 2."},
      {R"(stage = "random_erasing", value = 1e300)", "too large for a float"},
      {R"(stage = "random_erasing", mode = "rand", value = 3)", "is for the mode \"const\""},
      {R"(stage = "random_erasing", mode = "rand", value = "random")", "leave one out"},
      {R"(stage = "random_erasing", mode = "pixels")", "Did you mean `pixel`?"},
      {R"(stage = "random_erasing", min_count = 3, max_count = 2)", "must be from 3 to 100"},
      {R"(stage = "solarize")", "`threshold` is missing: a number from 0 to 256"},
      {R"(stage = "solarize", threshold = nan)", "must be a finite number"},
      {R"(stage = "posterize", p = 1)", "`bits` is missing"},
      {R"(stage = "posterize", bits = 9)", "from 0 to 8, not 9"},
      {R"(stage = "sharpness", sharpness_factor = -1)", "from 0 to 1000, not -1"},
      {R"(stage = "sharpness", factor = 2)", "Did you mean it by `factor`?"},
      {R"(stage = "color_jitter", p = 2)", "`p` must be from 0 to 1"},
      {R"(stage = "gaussian_blur")", "`kernel_size` is missing"},
      {R"(stage = "gaussian_blur", kernel_size = 4)", "must be odd"},
      {R"(stage = "gaussian_blur", kernel_size = [3, 5, 7])", "not a list of 3"},
      {R"(stage = "gaussian_blur", kernel_size = 3, sigma = 0)", "`sigma` must be from 0.001"},
      {R"(stage = "gaussian_blur", kernel_size = 3, sigma = [2, 1])", "in that order"},
      {R"(stage = "gaussian_noise", sigma = -0.1)", "`sigma` must be from 0 to 10"},
      {R"(stage = "random_rotation")", "`degrees` is missing"},
      {R"(stage = "random_rotation", degrees = -5)", "from 0 to 3600, not -5"},
      {R"(stage = "random_rotation", degrees = 5, expand = true)", "keeps the image's size"},
      {R"(stage = "random_rotation", degrees = 5, interpolation = "lanczos")",
       "must be one of nearest, bilinear, bicubic"},
      {R"(stage = "rotate", angle = 5, center = 3)", "`center` must be [x, y]"},
      {R"(stage = "rotate", angle = 5, fill = [1, 2])", "takes one number or three"},
      {R"(stage = "rotate", angle = 5, fill = 256)", "`fill` takes whole numbers from 0 to 255"},
      {R"(stage = "rotate", angle = 5, mask_fill = -1)", "`mask_fill` must be from 0 to 255"},
      {R"(stage = "affine", scale = 0)", "`scale` must be from 0.001"},
      {R"(stage = "affine", shear = 90)", "`shear` must be from -89 to 89"},
      {R"(stage = "affine", translate = 3)", "`translate` must be [x, y]"},
      {R"(stage = "random_affine", degrees = 0, translate = [0.1, 1.2])", "from 0 to 1, not at"},
      {R"(stage = "random_affine", degrees = 0, shear = [1, 2, 3])", "not a list of 3"},
      {R"(stage = "random_affine", degrees = 0, shear = [-5, 5, 5, -5])", "the least first"},
      {R"(stage = "random_perspective", distortion_scale = 1.5)", "from 0 to 1, not 1.5"},
      {R"(stage = "elastic", sigma = [5, 0])", "at least 0.01 along both"},
      {R"(stage = "elastic", interpolation = "bicubic")", "one of nearest, bilinear,"},
      {R"(stage = "random_short_side")", "`min_size` is missing"},
      {R"(stage = "scale_jitter", target_size = [1, 2, 3])", "not a list of 3"},
      {R"(stage = "resized_crop", top = 0, left = 0, height = 0, width = 3, size = 8)",
       "`height` must be from 1"},
      {R"(stage = "resized_crop", top = 0, left = 0, width = 3, size = 8)", "`height` is missing"},
      {R"(stage = "slice", start = 3, stop = 3)", "`stop` must be above `start`"},
      {R"(stage = "reshape")", "`shape` is missing"},
      {R"(stage = "reshape", shape = [-1, -1])", "may have one -1"},
      {R"(stage = "reshape", shape = [0])", "extents above 0"},
      {R"(stage = "reshape", shape = [1, 1, 1, 1, 1, 1, 1, 1, 1])", "at most 8"},
  };
  for (const Row& row : rows) {
    INFO(row.parameters);
    const std::string refusal = refusal_of(row.parameters);
    CHECK_THAT(refusal, Catch::StartsWith("batchcast: r.toml:3: "));
    CHECK_THAT(refusal, Catch::Contains(row.why));
  }
}

TEST_CASE("a preset's name mistyped gives the nearest, a path that is not there where they are") {
  CHECK(load_refusal("imagnet-train").find("Did you mean `imagenet-train`?") != std::string::npos);
  const std::string missing = load_refusal("no/such/recipe.toml");
  CHECK(missing.starts_with(
      "batchcast: no/such/recipe.toml: there is neither a preset nor a recipe file"));
  CHECK(missing.ends_with("of that name. `batchcast recipe --list` lists the presets."));
  CHECK(load_refusal("/").find("this is a directory") != std::string::npos);
  CHECK_THROWS_AS(Recipe::preset_toml("cifar"), bc::InvalidArgument);
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/recipe.hpp>

#include "catch.hpp"

#include <map>
#include <string>
#include <string_view>

// Every parameter of every preset, as torchvision or the paper's code has it: docs/recipes.md says
// whose they are. What stands here is the whole of a recipe's JSON.
using namespace batchcast;

namespace {

const std::string scale_default = "[0.08,1.0]";  // torchvision's, timm's and open_clip's

const std::string decode =
    R"({"fast":false,"mode":"rgb","orient":false,"pixels_max":178956970,"stage":"decode"})";
const std::string flip = R"({"p":0.5,"stage":"horizontal_flip"})";
const std::string to = R"({"dtype":"f32","layout":"chw","stage":"to"})";
const std::string imagenet_normal =
    R"({"mean":[0.485,0.456,0.406],"stage":"normalize","std":[0.229,0.224,0.225]})";
const std::string cifar_normal =
    R"({"mean":[0.4914,0.4822,0.4465],"stage":"normalize","std":[0.247,0.2435,0.2616]})";
const std::string clip_normal = R"({"mean":[0.48145466,0.4578275,0.40821073],"stage":"normalize",)"
                                R"("std":[0.26862954,0.26130258,0.27577711]})";
const std::string label = R"({"draws":"sample","from":"label","name":"label","stages":[]})";

/// `"interpolation":"bicubic",`; without a name it is bilinear.
std::string interpolated(const std::string& name) {
  return name.empty() ? "" : R"("interpolation":")" + name + R"(",)";
}
std::string square(int side) {
  return "[" + std::to_string(side) + "," + std::to_string(side) + "]";
}
std::string random_resized_crop(int size, const std::string& scale,
                                const std::string& interpolation = "") {
  return "{" + interpolated(interpolation) + R"("ratio":[0.75,1.3333333333333333],"scale":)" +
         scale + R"(,"size":)" + square(size) + R"(,"stage":"random_resized_crop"})";
}
std::string resize(int size, const std::string& interpolation = "") {
  return "{" + interpolated(interpolation) + R"("size":)" + std::to_string(size) +
         R"(,"stage":"resize"})";
}
std::string center_crop(int size) {
  return R"({"size":)" + square(size) + R"(,"stage":"center_crop"})";
}
std::string erasing(const std::string& p, const std::string& scale, const std::string& ratio,
                    const std::string& value) {
  return R"({"p":)" + p + R"(,"ratio":)" + ratio + R"(,"scale":)" + scale +
         R"(,"stage":"random_erasing","value":)" + value + "}";
}
/// In SimCLR and DINO: done to eight of ten images.
std::string jitter(const std::string& ranges) {
  return R"({"p":0.8,"stage":"random_apply","stages":[{)" + ranges +
         R"(,"stage":"color_jitter"}]})";
}
std::string blur(int kernel, const std::string& p) {
  return R"({"kernel_size":)" + square(kernel) + R"(,"p":)" + p +
         R"(,"sigma":[0.1,2.0],"stage":"gaussian_blur"})";
}
std::string pil_blur(const std::string& p) {
  return R"({"p":)" + p + R"(,"radius":[0.1,2.0],"stage":"pil_gaussian_blur"})";
}
const std::string some_gray = R"({"channels":3,"p":0.2,"stage":"grayscale"})";

std::string list(std::initializer_list<std::string> items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return "[" + text + "]";
}
std::string field(const std::string& name, const std::string& stages,
                  const std::string& from = "image", const std::string& draws = "sample",
                  int views = 0) {
  return R"({"draws":")" + draws + R"(","from":")" + from + R"(","name":")" + name +
         R"(","stages":)" + stages + (views == 0 ? "" : R"(,"views":)" + std::to_string(views)) +
         "}";
}
std::string recipe(const std::string& order, const std::string& fields,
                   const std::string& joints = "") {
  return R"({"fields":)" + fields + (joints.empty() ? "" : R"(,"joints":)" + joints) +
         R"(,"order":{"mode":")" + order + R"("}})";
}
std::string labelled(const std::string& order, const std::string& stages) {
  return recipe(order, list({field("image", stages), label}));
}
std::string tested(int resized, int cropped, const std::string& normal,
                   const std::string& interpolation = "") {
  return list({decode, resize(resized, interpolation), center_crop(cropped), to, normal});
}

/// main_dino.py: `jitter` is ColorJitter(0.4, 0.4, 0.2, 0.1), of p 0.8.
std::string dino() {
  const std::string colors =
      jitter(R"("brightness":[0.6,1.4],"contrast":[0.6,1.4],"hue":[-0.1,0.1],)"
             R"("saturation":[0.8,1.2])");
  const auto begin = [&](int size, const std::string& scale) {
    return list({decode, random_resized_crop(size, scale, "bicubic"), flip, colors, some_gray});
  };
  const auto view = [](std::string beginning, std::initializer_list<std::string> rest) {
    beginning.pop_back();
    return beginning + "," + list(rest).substr(1);
  };
  return recipe(
      "reshuffle",
      list({field("global_1", view(begin(224, "[0.4,1.0]"), {pil_blur("1.0"), to, imagenet_normal}),
                  "image", "own"),
            field("global_2",
                  view(begin(224, "[0.4,1.0]"),
                       {pil_blur("0.1"), R"({"p":0.2,"stage":"solarize","threshold":128.0})", to,
                        imagenet_normal}),
                  "image", "own"),
            field("local", view(begin(96, "[0.05,0.4]"), {pil_blur("0.5"), to, imagenet_normal}),
                  "image", "own", 8),
            label}));
}

/// main_moco.py, with crop-min as for ViT.
std::string moco() {
  const std::string begin =
      random_resized_crop(224, scale_default) + "," + flip + "," +
      jitter(R"("brightness":[0.6,1.4],"contrast":[0.6,1.4],"hue":[-0.1,0.1],)"
             R"("saturation":[0.8,1.2])") +
      "," + some_gray;
  return recipe(
      "reshuffle",
      list({field("view_1", list({decode, begin, pil_blur("1.0"), to, imagenet_normal}), "image",
                  "own"),
            field("view_2",
                  list({decode, begin, pil_blur("0.1"),
                        R"({"p":0.2,"stage":"solarize","threshold":128.0})", to, imagenet_normal}),
                  "image", "own"),
            label}));
}

/// augment.py: one of three, then ColorJitter(0.3, 0.3, 0.3).
std::string deit_iii() {
  return labelled(
      "reshuffle",
      list({decode, random_resized_crop(224, scale_default, "bicubic"), flip,
            R"({"p":[1.0,1.0,1.0],"stage":"random_choice","stages":)" +
                list({R"({"channels":3,"p":1.0,"stage":"grayscale"})",
                      R"({"p":1.0,"stage":"solarize","threshold":128.0})", pil_blur("1.0")}) +
                "}",
            R"({"brightness":[0.7,1.3],"contrast":[0.7,1.3],"hue":[0.0,0.0],)"
            R"("saturation":[0.7,1.3],"stage":"color_jitter"})",
            to, imagenet_normal}));
}

/// base_dataset.py of pix2pix: 286 by 286, of which 256 by 256 are cut and mirrored alike.
std::string pix2pix() {
  const std::string half = R"({"mean":[0.5],"stage":"normalize","std":[0.5]})";
  return recipe("reshuffle",
                list({field("input", list({decode, to, half}), "input.jpg"),
                      field("target", list({decode, to, half}), "target.jpg")}),
                list({R"({"draws":"sample","fields":["input","target"],"stages":)" +
                      list({R"({"interpolation":"bicubic","size":[286,286],"stage":"resize"})",
                            R"({"fill":0,"pad_if_needed":false,"padding":[0,0,0,0],)"
                            R"("padding_mode":"constant","size":[256,256],"stage":"random_crop"})",
                            flip}) +
                      "}"}));
}

/// ColorJitter of strength 1: 0.8 of each, 0.2 of hue.
std::string simclr() {
  const std::string colors =
      jitter(R"("brightness":[0.19999999999999996,1.8],"contrast":[0.19999999999999996,1.8],)"
             R"("hue":[-0.2,0.2],"saturation":[0.19999999999999996,1.8])");
  return recipe("reshuffle",
                list({field("image",
                            list({decode, random_resized_crop(224, scale_default, "bicubic"), flip,
                                  colors, some_gray, blur(23, "0.5"), to}),
                            "image", "sample", 2),
                      label}));
}

/// rand-m9-mstd0.5-inc1, filled with the mean, and random erasing of whole distributions.
std::string deit() {
  return labelled("reshuffle",
                  list({decode, random_resized_crop(224, scale_default, "bicubic"), flip,
                        R"({"fill":[124,116,104],"interpolation":"bicubic","magnitude":9.0,)"
                        R"("magnitude_std":0.5,"num_ops":2,"p":0.5,"stage":"timm_rand_augment"})",
                        to, imagenet_normal,
                        erasing("0.25", "[0.02,0.3333333333333333]", "[0.3,3.3333333333333335]",
                                R"("random")")}));
}

/// RandomResize from half of 520 to twice of it, and 255 beyond a mask's edge.
std::string voc() {
  return recipe(
      "reshuffle",
      list({field("image", list({decode, to, imagenet_normal}), "jpg"),
            field("mask",
                  list({R"({"fast":false,"mode":"index","orient":false,"pixels_max":178956970,)"
                        R"("stage":"decode"})",
                        R"({"dtype":"i64","layout":"hw","stage":"to"})"}),
                  "png")}),
      list({R"({"draws":"sample","fields":["image","mask"],"stages":)" +
            list({R"({"max_size":1040,"min_size":260,"stage":"random_resize"})", flip,
                  R"({"fill":0,"mask_fill":255,"pad_if_needed":true,"padding":[0,0,0,0],)"
                  R"("padding_mode":"constant","size":[480,480],"stage":"random_crop"})"}) +
            "}"}));
}

const std::string cifar_crop =
    R"({"fill":0,"pad_if_needed":false,"padding":[4,4,4,4],"padding_mode":"constant",)"
    R"("size":[32,32],"stage":"random_crop"})";

std::map<std::string, std::string, std::less<>> all_presets() {
  const std::string trained =
      labelled("reshuffle",
               list({decode, random_resized_crop(224, scale_default), flip, to, imagenet_normal}));
  const std::string cifar_tested = labelled("sequential", list({to, cifar_normal}));
  const auto tokens = [](const std::string& name, const std::string& slice) {
    return field(name, list({slice, R"({"dtype":"i64","layout":"chw","stage":"to"})"}), "tokens");
  };
  return {
      {"imagenet-train", trained},
      {"imagenet-eval", labelled("sequential", tested(256, 224, imagenet_normal))},
      {"cifar-train", labelled("reshuffle", list({cifar_crop, flip, to, cifar_normal}))},
      {"cifar-eval", cifar_tested},
      {"mnist", labelled("reshuffle",
                         list({to, R"({"mean":[0.1307],"stage":"normalize","std":[0.3081]})"}))},
      {"to-tensor", labelled("reshuffle", list({to}))},
      {"tokens",
       recipe("reshuffle", list({tokens("input", R"({"stage":"slice","start":0,"stop":-1})"),
                                 tokens("target", R"({"stage":"slice","start":1})")}))},
      {"torchvision-v1", trained},
      {"torchvision-v1-eval", labelled("sequential", tested(256, 224, imagenet_normal))},
      {"torchvision-v2",
       labelled("reshuffle",
                list({decode, random_resized_crop(176, scale_default), flip,
                      R"({"fill":[0],"interpolation":"bilinear","num_magnitude_bins":31,)"
                      R"("stage":"trivial_augment_wide"})",
                      to, imagenet_normal, erasing("0.1", "[0.02,0.33]", "[0.3,3.3]", "[0.0]")}))},
      {"torchvision-v2-eval", labelled("sequential", tested(232, 224, imagenet_normal))},
      {"deit", deit()},
      {"deit-eval", labelled("sequential", tested(256, 224, imagenet_normal, "bicubic"))},
      {"deit-iii", deit_iii()},
      {"simclr", simclr()},
      {"moco-v3", moco()},
      {"mae", labelled("reshuffle", list({decode, random_resized_crop(224, "[0.2,1.0]", "bicubic"),
                                          flip, to, imagenet_normal}))},
      {"pix2pix", pix2pix()},
      {"dino", dino()},
      {"clip",
       recipe("reshuffle",
              list({field("image", list({decode, random_resized_crop(224, "[0.9,1.0]", "bicubic"),
                                         to, clip_normal}))}))},
      {"clip-eval",
       recipe("sequential", list({field("image", tested(224, 224, clip_normal, "bicubic"))}))},
      {"cifar-autoaugment",
       labelled("reshuffle",
                list({cifar_crop, flip,
                      R"({"fill":[0],"interpolation":"nearest","policy":"cifar10",)"
                      R"("stage":"auto_augment"})",
                      to, cifar_normal, erasing("1.0", "[0.25,0.25]", "[1.0,1.0]", "[0.0]")}))},
      {"cifar-autoaugment-eval", cifar_tested},
      {"voc-segmentation", voc()},
  };
}

}  // namespace

TEST_CASE("every parameter of every preset is what its source has") {
  const auto expected = all_presets();
  CHECK(expected.size() == Recipe::preset_names().size());
  for (const std::string_view name : Recipe::preset_names()) {
    INFO(name);
    REQUIRE(expected.count(name) == 1);
    CHECK(Recipe::load(name).to_json() == expected.find(name)->second);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/plain_presets.hpp"
#include "data/recipe/presets.hpp"

#include <array>

// What papers and their published code did; docs/recipes.md says where each comes from and what is
// not the same.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::string_view torchvision_v2 = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 176 },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "trivial_augment_wide", interpolation = "bilinear" },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
  { stage = "random_erasing", p = 0.1 },
]

[[field]]
name = "label"
)";

constexpr std::string_view torchvision_v2_eval = R"([order]
mode = "sequential"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "resize", size = 232 },
  { stage = "center_crop", size = 224 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "label"
)";

constexpr std::string_view deit = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 224, interpolation = "bicubic" },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "timm_rand_augment", magnitude = 9, magnitude_std = 0.5, fill = [124, 116, 104] },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
  { stage = "random_erasing", p = 0.25, value = "random", scale = [
    0.02, 0.3333333333333333,
  ], ratio = [
    0.3, 3.3333333333333335,
  ] },
]

[[field]]
name = "label"
)";

constexpr std::string_view deit_eval = R"([order]
mode = "sequential"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "resize", size = 256, interpolation = "bicubic" },
  { stage = "center_crop", size = 224 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "label"
)";

constexpr std::string_view simclr = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
views = 2
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 224, interpolation = "bicubic" },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "random_apply", p = 0.8, stages = [
    { stage = "color_jitter", brightness = 0.8, contrast = 0.8, saturation = 0.8, hue = 0.2 },
  ] },
  { stage = "grayscale", p = 0.2 },
  { stage = "gaussian_blur", kernel_size = 23, sigma = [0.1, 2], p = 0.5 },
  { stage = "to", dtype = "f32", layout = "chw" },
]

[[field]]
name = "label"
)";

constexpr std::string_view dino = R"([order]
mode = "reshuffle"

[[field]]
name = "global_1"
from = "image"
draws = "own"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 224, scale = [0.4, 1], interpolation = "bicubic" },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "random_apply", p = 0.8, stages = [
    { stage = "color_jitter", brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1 },
  ] },
  { stage = "grayscale", p = 0.2 },
  { stage = "gaussian_blur", kernel_size = 9, sigma = [0.1, 2] },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "global_2"
from = "image"
draws = "own"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 224, scale = [0.4, 1], interpolation = "bicubic" },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "random_apply", p = 0.8, stages = [
    { stage = "color_jitter", brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1 },
  ] },
  { stage = "grayscale", p = 0.2 },
  { stage = "gaussian_blur", kernel_size = 9, sigma = [0.1, 2], p = 0.1 },
  { stage = "solarize", threshold = 128, p = 0.2 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "local"
from = "image"
draws = "own"
views = 8
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 96, scale = [0.05, 0.4], interpolation = "bicubic" },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "random_apply", p = 0.8, stages = [
    { stage = "color_jitter", brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1 },
  ] },
  { stage = "grayscale", p = 0.2 },
  { stage = "gaussian_blur", kernel_size = 9, sigma = [0.1, 2], p = 0.5 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "label"
)";

constexpr std::string_view clip = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 224, scale = [0.9, 1], interpolation = "bicubic" },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.48145466, 0.4578275, 0.40821073], std = [
    0.26862954, 0.26130258, 0.27577711,
  ] },
]
)";

constexpr std::string_view clip_eval = R"([order]
mode = "sequential"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "resize", size = 224, interpolation = "bicubic" },
  { stage = "center_crop", size = 224 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.48145466, 0.4578275, 0.40821073], std = [
    0.26862954, 0.26130258, 0.27577711,
  ] },
]
)";

constexpr std::string_view cifar_autoaugment = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "random_crop", size = 32, padding = 4 },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "auto_augment", policy = "cifar10" },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.4914, 0.4822, 0.4465], std = [0.2470, 0.2435, 0.2616] },
  { stage = "random_erasing", p = 1, scale = [0.25, 0.25], ratio = [1, 1] },
]

[[field]]
name = "label"
)";

constexpr std::string_view voc_segmentation = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
from = "jpg"                # of a webdataset: NAME.jpg and NAME.png
stages = [
  { stage = "decode" },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "mask"               # ids of classes; 255 belongs to none
from = "png"
stages = [
  { stage = "decode", mode = "index" },
  { stage = "to", dtype = "i64", layout = "hw" },
]

[[joint]]
fields = ["image", "mask"]
stages = [
  { stage = "random_resize", min_size = 260, max_size = 1040 },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "random_crop", size = 480, pad_if_needed = true, mask_fill = 255 },
]
)";

constexpr std::array<Preset, 13> all = {{
    {"torchvision-v1", plain_preset::imagenet_train},
    {"torchvision-v1-eval", plain_preset::imagenet_eval},
    {"torchvision-v2", torchvision_v2},
    {"torchvision-v2-eval", torchvision_v2_eval},
    {"deit", deit},
    {"deit-eval", deit_eval},
    {"simclr", simclr},
    {"dino", dino},
    {"clip", clip},
    {"clip-eval", clip_eval},
    {"cifar-autoaugment", cifar_autoaugment},
    {"cifar-autoaugment-eval", plain_preset::cifar_eval},
    {"voc-segmentation", voc_segmentation},
}};

}  // namespace

std::span<const Preset> paper_presets() noexcept { return all; }

}  // namespace batchcast::inline v0_1::detail

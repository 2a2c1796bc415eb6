// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/presets.hpp"

#include <array>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::string_view imagenet_train = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 224 },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "label"
)";

constexpr std::string_view imagenet_eval = R"([order]
mode = "sequential"

[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "resize", size = 256 },
  { stage = "center_crop", size = 224 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "label"
)";

constexpr std::string_view cifar_train = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "random_crop", size = 32, padding = 4 },
  { stage = "horizontal_flip", p = 0.5 },
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.4914, 0.4822, 0.4465], std = [0.2470, 0.2435, 0.2616] },
]

[[field]]
name = "label"
)";

constexpr std::string_view cifar_eval = R"([order]
mode = "sequential"

[[field]]
name = "image"
stages = [
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = [0.4914, 0.4822, 0.4465], std = [0.2470, 0.2435, 0.2616] },
]

[[field]]
name = "label"
)";

constexpr std::string_view mnist = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "to", dtype = "f32", layout = "chw" },
  { stage = "normalize", mean = 0.1307, std = 0.3081 },
]

[[field]]
name = "label"
)";

constexpr std::string_view tokens = R"([order]
mode = "reshuffle"

[[field]]
name = "input"
from = "tokens"
stages = [
  { stage = "slice", stop = -1 },
  { stage = "to", dtype = "i64" },
]

[[field]]
name = "target"
from = "tokens"
stages = [
  { stage = "slice", start = 1 },
  { stage = "to", dtype = "i64" },
]
)";

constexpr std::array<Preset, 6> plain = {{
    {"imagenet-train", imagenet_train},
    {"imagenet-eval", imagenet_eval},
    {"cifar-train", cifar_train},
    {"cifar-eval", cifar_eval},
    {"mnist", mnist},
    {"tokens", tokens},
}};

}  // namespace

std::span<const Preset> presets() noexcept {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> made(plain.begin(), plain.end());
    made.insert(made.end(), paper_presets().begin(), paper_presets().end());
    return made;
  }();
  return all;
}

}  // namespace batchcast::inline v0_1::detail

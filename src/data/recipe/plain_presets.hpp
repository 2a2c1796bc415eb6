// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string_view>

// What most begin with. Some of them are what papers did too, under those papers' names.
namespace batchcast::inline v0_1::detail::plain_preset {

inline constexpr std::string_view imagenet_train = R"([order]
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

inline constexpr std::string_view imagenet_eval = R"([order]
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

inline constexpr std::string_view cifar_train = R"([order]
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

inline constexpr std::string_view cifar_eval = R"([order]
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

inline constexpr std::string_view mnist = R"([order]
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

// torchvision's ToTensor, of images that lie there as arrays.
inline constexpr std::string_view to_tensor = R"([order]
mode = "reshuffle"

[[field]]
name = "image"
stages = [
  { stage = "to", dtype = "f32", layout = "chw" },
]

[[field]]
name = "label"
)";

inline constexpr std::string_view tokens = R"([order]
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

}  // namespace batchcast::inline v0_1::detail::plain_preset

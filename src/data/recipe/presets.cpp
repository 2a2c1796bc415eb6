// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/presets.hpp"

#include "data/recipe/plain_presets.hpp"

#include <array>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<Preset, 7> plain = {{
    {"imagenet-train", plain_preset::imagenet_train},
    {"imagenet-eval", plain_preset::imagenet_eval},
    {"cifar-train", plain_preset::cifar_train},
    {"cifar-eval", plain_preset::cifar_eval},
    {"mnist", plain_preset::mnist},
    {"to-tensor", plain_preset::to_tensor},
    {"tokens", plain_preset::tokens},
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

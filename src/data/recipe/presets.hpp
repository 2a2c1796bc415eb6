// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <span>
#include <string_view>

namespace batchcast::inline v0_1::detail {

struct Preset {
  std::string_view name;
  std::string_view toml;
};

/// From src/data/recipe/presets, by cmake/EmbedPresets.cmake.
[[nodiscard]] std::span<const Preset> presets() noexcept;

}  // namespace batchcast::inline v0_1::detail

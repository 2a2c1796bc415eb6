// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// How the standard stages read parameters that several of them take. Each refuses wrong values.
namespace batchcast::inline v0_1::detail {

/// `640x480`, as messages write sizes.
[[nodiscard]] std::string words(ImageSize size);

/// Pixels along one side; far above any image, and products of two stay exact in a double.
inline constexpr std::int64_t side_max = std::int64_t{1} << 20;

struct Range {
  double low = 0;
  double high = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// As a recipe's JSON has it.
[[nodiscard]] nlohmann::json list_of(const Range& range);
[[nodiscard]] std::string text_of(double value);
[[nodiscard]] std::string text_of(const Range& range);

/// Whether a stage with this probability runs now. It draws only where that is open.
[[nodiscard]] bool happens(double p, StageContext& context) noexcept;
[[nodiscard]] inline bool is_open(double p) noexcept { return p > 0 && p < 1; }
/// From the range's least to its largest.
[[nodiscard]] double draw_between(const Range& range, Draws& draws) noexcept;
[[nodiscard]] std::int64_t integer_in(StageParameters& parameters, std::string_view key,
                                      std::int64_t otherwise, std::int64_t low, std::int64_t high);
/// The index in `names` of the choice.
[[nodiscard]] std::size_t choice(StageParameters& parameters, std::string_view key,
                                 std::span<const std::string_view> names, std::size_t otherwise);

inline constexpr std::array<std::string_view, 4> padding_mode_names = {"constant", "edge",
                                                                       "reflect", "symmetric"};
inline constexpr std::array<std::string_view, 3> layout_names = {"chw", "hwc", "hw"};

inline constexpr std::array<std::string_view, 4> pixel_mode_names = {"rgb", "gray", "index",
                                                                     "keep"};
inline constexpr std::array<std::string_view, 5> interpolation_names = {
    "nearest", "bilinear", "bicubic", "lanczos", "box"};

inline constexpr std::array<std::string_view, 2> field_kind_names = {"image", "mask"};

}  // namespace batchcast::inline v0_1::detail

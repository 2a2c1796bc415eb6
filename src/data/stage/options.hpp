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

// How the standard stages ask for what several of them take. Each refuses what it cannot be.
namespace batchcast::inline v0_1::detail {

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

[[nodiscard]] double probability(StageParameters& parameters, double otherwise);
/// Whether a stage that is done with this probability is done now. Draws only where that is open.
[[nodiscard]] bool happens(double p, StageContext& context) noexcept;
[[nodiscard]] inline bool is_open(double p) noexcept { return p > 0 && p < 1; }
/// From the range's least to its largest.
[[nodiscard]] double draw_between(const Range& range, Draws& draws) noexcept;
[[nodiscard]] std::int64_t integer_in(StageParameters& parameters, std::string_view key,
                                      std::int64_t otherwise, std::int64_t low, std::int64_t high);
/// A number within the bounds; it must be there if there is nothing `otherwise`.
[[nodiscard]] double number_in(StageParameters& parameters, std::string_view key,
                               std::optional<double> otherwise, Range bounds);
/// Whole numbers from `low` to `high`.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_in(StageParameters& parameters,
                                                                   std::string_view key,
                                                                   std::int64_t low,
                                                                   std::int64_t high);
/// [min, max], with low <= min <= max <= high.
[[nodiscard]] Range range_in(StageParameters& parameters, std::string_view key, Range otherwise,
                             Range bounds);
/// `size`, required: one number for a square, or [height, width].
[[nodiscard]] ImageSize image_size(StageParameters& parameters);
/// `pillow`: 12, the default, or 13; whether it is 13.
[[nodiscard]] bool as_pillow_13(StageParameters& parameters);
/// The place in `names` of the one that was chosen.
[[nodiscard]] std::size_t choice(StageParameters& parameters, std::string_view key,
                                 std::span<const std::string_view> names, std::size_t otherwise);

/// No padded side is longer, so that sums of sides stay far below 2^31 however many pads there are.
inline constexpr std::int64_t padded_side_max = std::int64_t{1} << 28;

struct Padding {
  std::int32_t left = 0;
  std::int32_t top = 0;
  std::int32_t right = 0;
  std::int32_t bottom = 0;
  PaddingMode mode = PaddingMode::constant;
  std::uint8_t fill = 0;
  std::optional<std::uint8_t> mask_fill = std::nullopt;

  [[nodiscard]] bool empty() const noexcept {
    return left == 0 && top == 0 && right == 0 && bottom == 0;
  }
  /// What it makes of an image; nothing where a side would be longer than padded_side_max.
  [[nodiscard]] std::optional<ImageSize> around(ImageSize image) const noexcept;
};

/// Why Padding::around() says nothing, for a message.
[[nodiscard]] std::string why_too_padded(ImageSize image, std::string_view stage);

inline constexpr std::array<std::string_view, 4> padding_mode_names = {"constant", "edge",
                                                                       "reflect", "symmetric"};
inline constexpr std::array<std::string_view, 3> layout_names = {"chw", "hwc", "hw"};

inline constexpr std::array<std::string_view, 4> pixel_mode_names = {"rgb", "gray", "index",
                                                                     "keep"};
inline constexpr std::array<std::string_view, 5> interpolation_names = {
    "nearest", "bilinear", "bicubic", "lanczos", "box"};

inline constexpr std::array<std::string_view, 2> field_kind_names = {"image", "mask"};

/// `interpolation`; nothing where it is left to the field.
[[nodiscard]] std::optional<Interpolation> interpolation_of(StageParameters& parameters);

/// `mask_fill`, 0 to 255; nothing where it is not given.
[[nodiscard]] std::optional<std::uint8_t> mask_fill_of(StageParameters& parameters);

/// `padding` (one number; [left and right, top and bottom]; [left, top, right, bottom]), `fill`,
/// `mask_fill` and `padding_mode`.
[[nodiscard]] Padding padding(StageParameters& parameters);

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/parameter_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// No padded side is longer, so that sums of sides stay far below 2^31 for any number of pads.
inline constexpr std::int64_t padded_side_max = std::int64_t{1} << 28;

struct Borders {
  std::int32_t left = 0;
  std::int32_t top = 0;
  std::int32_t right = 0;
  std::int32_t bottom = 0;

  friend bool operator==(const Borders&, const Borders&) = default;
};

/// One number; [left and right, top and bottom]; or [left, top, right, bottom].
struct BordersOf {
  static constexpr const char* text =
      "one number, [left and right, top and bottom] or [left, top, right, bottom]";

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Borders& value) const;
  [[nodiscard]] nlohmann::json write(const Borders& value) const {
    return {value.left, value.top, value.right, value.bottom};
  }
};

struct Padding {
  Borders by;
  PaddingMode mode = PaddingMode::constant;
  std::uint8_t fill = 0;
  std::optional<std::uint8_t> mask_fill = std::nullopt;

  static void rows(auto& self, auto& table, const Row& row = {}) {
    table("padding", self.by, BordersOf(), row);
    table("fill", self.fill, level);
    table("mask_fill", self.mask_fill, level);
    table("padding_mode", self.mode, Choice{padding_mode_names});
  }
  [[nodiscard]] bool empty() const noexcept { return by == Borders(); }
  /// The size of the padded image; nothing where a side would be longer than padded_side_max.
  [[nodiscard]] std::optional<ImageSize> around(ImageSize image) const noexcept;
};

/// Why Padding::around() returns nothing, for a message.
[[nodiscard]] std::string why_too_padded(ImageSize image, std::string_view stage);

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"
#include "data/stage/parameter_table.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// What all warps take: how to make pixels between others, what lies beyond the image, how often.
namespace batchcast::inline v0_1::detail {

/// Names of the interpolations of warps; elastic has the first two.
inline constexpr std::span<const std::string_view> warp_interpolation_names =
    std::span(interpolation_names).first(3);

/// One level for all channels, or one for each.
struct LevelsOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::vector<std::uint8_t>& value) const;
  [[nodiscard]] nlohmann::json write(const std::vector<std::uint8_t>& value) const { return value; }
};

/// Throws InvalidArgument where `fill` has neither one level nor one of each channel.
void check_fill(std::string_view stage, std::span<const std::uint8_t> fill, std::int32_t channels);
[[nodiscard]] WarpOptions warp_options(Interpolation interpolation,
                                       std::span<const std::uint8_t> fill) noexcept;

/// A stage that warps. Its constructor sets what differs from the usual.
template <class Self>
class StandardWarp : public TableStage<Self, WarpStage> {
 public:
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept final {
    return interpolation_;
  }
  void check_channels(std::int32_t channels) const final {
    check_fill(Self::stage_name, fill_, channels);
  }

 protected:
  static void warp_rows(auto& self, auto& table,
                        std::span<const std::string_view> names = warp_interpolation_names) {
    table("interpolation", self.interpolation_, Choice{names});
    table("fill", self.fill_, LevelsOf());
    table("mask_fill", self.mask_fill_, level);
    table("p", self.p_, probability);
  }
  [[nodiscard]] WarpOptions options(bool is_mask) const noexcept {
    if (is_mask) return {Interpolation::nearest, {mask_fill_, mask_fill_, mask_fill_}};
    return warp_options(interpolation_.value_or(otherwise_), fill_);
  }

  Interpolation otherwise_ = Interpolation::nearest;  ///< where none is given
  std::optional<Interpolation> interpolation_;
  std::vector<std::uint8_t> fill_ = {0};  ///< of all channels, or of each
  std::uint8_t mask_fill_ = 0;
  double p_ = 1;
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"
#include "data/stage/options.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

// What all warps take: how pixels between others are made, what lies beyond the image, how often.
namespace batchcast::inline v0_1::detail {

/// `interpolation`, of "nearest", "bilinear" and perhaps "bicubic"; nothing where it is not given.
[[nodiscard]] std::optional<Interpolation> warp_interpolation(StageParameters& parameters,
                                                              bool has_bicubic = true);
/// `fill`: a level of all channels, or one of each; 0.
[[nodiscard]] std::vector<std::uint8_t> fill_levels(StageParameters& parameters);
/// Throws InvalidArgument where `fill` has neither one level nor one of each channel.
void check_fill(std::string_view stage, std::span<const std::uint8_t> fill, std::int32_t channels);
[[nodiscard]] WarpOptions warp_options(Interpolation interpolation,
                                       std::span<const std::uint8_t> fill) noexcept;

struct WarpParameters {
  std::optional<Interpolation> interpolation;
  Interpolation otherwise = Interpolation::nearest;
  std::vector<std::uint8_t> fill = {0};  ///< of all channels, or of each
  std::uint8_t mask_fill = 0;
  double p = 1;

  [[nodiscard]] WarpOptions options(bool is_mask) const noexcept;
  void add_to(nlohmann::json& object) const;
};

/// `interpolation` (of what a warp can do), `fill`, `mask_fill` and `p`.
[[nodiscard]] WarpParameters warp_parameters(StageParameters& parameters, Interpolation otherwise,
                                             double p, bool has_bicubic = true);

/// `center`: [x, y]; nothing: the image's.
[[nodiscard]] std::optional<Point> center_of(StageParameters& parameters);
[[nodiscard]] nlohmann::json json_of(const std::optional<Point>& center);

/// A warp by the parameters that all have.
class StandardWarp : public WarpStage {
 public:
  explicit StandardWarp(WarpParameters parameters) : warp_(std::move(parameters)) {}
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept override {
    return warp_.interpolation;
  }
  void check_channels(std::int32_t channels) const override {
    check_fill(name(), warp_.fill, channels);
  }

 protected:
  [[nodiscard]] const WarpParameters& warp() const noexcept { return warp_; }

 private:
  WarpParameters warp_;
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/warp_options.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace batchcast::inline v0_1::detail {

std::optional<Interpolation> warp_interpolation(StageParameters& parameters, bool has_bicubic) {
  if (!parameters.text("interpolation")) return std::nullopt;
  const std::span<const std::string_view> names(interpolation_names);
  return static_cast<Interpolation>(
      choice(parameters, "interpolation", names.first(has_bicubic ? 3 : 2), 0));
}

std::vector<std::uint8_t> fill_levels(StageParameters& parameters) {
  const auto levels = integers_in(parameters, "fill", 0, 255);
  if (!levels) return {0};
  if (levels->size() != 1 && levels->size() != 3) {
    parameters.refuse("fill",
                      "takes one number or three, not a list of " + std::to_string(levels->size()));
  }
  std::vector<std::uint8_t> fill;
  for (const std::int64_t level : *levels) fill.push_back(static_cast<std::uint8_t>(level));
  return fill;
}

void check_fill(std::string_view stage, std::span<const std::uint8_t> fill, std::int32_t channels) {
  if (fill.size() == 1 || fill.size() == static_cast<std::size_t>(channels)) return;
  throw InvalidArgument(std::string(stage) + " has a `fill` of " + std::to_string(fill.size()) +
                        " numbers, and the image " + std::to_string(channels) + " channel" +
                        (channels == 1 ? "" : "s") + ". Give one number.");
}

WarpOptions warp_options(Interpolation interpolation, std::span<const std::uint8_t> fill) noexcept {
  WarpOptions options{interpolation, {}};
  for (std::size_t c = 0; c < options.fill.size(); ++c) {
    options.fill[c] = fill[std::min(c, fill.size() - 1)];
  }
  return options;
}

WarpOptions WarpParameters::options(bool is_mask) const noexcept {
  if (is_mask) return {Interpolation::nearest, {mask_fill, mask_fill, mask_fill}};
  return warp_options(interpolation.value_or(otherwise), fill);
}

void WarpParameters::add_to(nlohmann::json& object) const {
  if (interpolation) {
    object["interpolation"] = interpolation_names[static_cast<std::size_t>(*interpolation)];
  }
  object["fill"] = fill;
  object["mask_fill"] = mask_fill;
  object["p"] = p;
}

WarpParameters warp_parameters(StageParameters& parameters, Interpolation otherwise, double p,
                               bool has_bicubic) {
  WarpParameters result;
  result.otherwise = otherwise;
  result.interpolation = warp_interpolation(parameters, has_bicubic);
  result.fill = fill_levels(parameters);
  result.mask_fill = mask_fill_of(parameters).value_or(0);
  result.p = probability(parameters, p);
  return result;
}

std::optional<Point> center_of(StageParameters& parameters) {
  const auto center = parameters.numbers("center");
  if (!center) return std::nullopt;
  if (center->size() != 2) {
    parameters.refuse("center", "must be [x, y], not a list of " + std::to_string(center->size()));
  }
  for (const double number : *center) {
    if (!(std::abs(number) <= static_cast<double>(side_max))) {
      parameters.refuse("center", "lies too far from the image: " + text_of(number));
    }
  }
  return Point{(*center)[0], (*center)[1]};
}

nlohmann::json json_of(const std::optional<Point>& center) {
  return center ? nlohmann::json::array({(*center)[0], (*center)[1]}) : nlohmann::json();
}

}  // namespace batchcast::inline v0_1::detail

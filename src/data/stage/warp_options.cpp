// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/warp_options.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace batchcast::inline v0_1::detail {

WarpOptions WarpParameters::options(bool is_mask) const noexcept {
  if (is_mask) return {Interpolation::nearest, {mask_fill, mask_fill, mask_fill}};
  WarpOptions options{interpolation.value_or(otherwise), {}};
  for (std::size_t c = 0; c < options.fill.size(); ++c) {
    options.fill[c] = fill[std::min(c, fill.size() - 1)];
  }
  return options;
}

void WarpParameters::check_channels(std::string_view stage, std::int32_t channels) const {
  if (fill.size() == 1 || fill.size() == static_cast<std::size_t>(channels)) return;
  throw InvalidArgument(std::string(stage) + " has a `fill` of " + std::to_string(fill.size()) +
                        " numbers, and the image " + std::to_string(channels) + " channel" +
                        (channels == 1 ? "" : "s") + ". Give one number.");
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
  if (parameters.text("interpolation")) {
    const std::span<const std::string_view> names(interpolation_names);
    result.interpolation = static_cast<Interpolation>(
        choice(parameters, "interpolation", names.first(has_bicubic ? 3 : 2), 0));
  }
  if (const auto fill = integers_in(parameters, "fill", 0, 255)) {
    if (fill->size() != 1 && fill->size() != 3) {
      parameters.refuse("fill",
                        "takes one number or three, not a list of " + std::to_string(fill->size()));
    }
    result.fill.clear();
    for (const std::int64_t level : *fill) {
      result.fill.push_back(static_cast<std::uint8_t>(level));
    }
  }
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

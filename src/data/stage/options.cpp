// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/options.hpp"

#include <batchcast/core/nearest_name.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

nlohmann::json list_of(const Range& range) {
  return nlohmann::json::array({range.low, range.high});
}

std::string text_of(double value) {
  std::string text = nlohmann::json(value).dump();
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string text_of(const Range& range) {
  return "[" + text_of(range.low) + ", " + text_of(range.high) + "]";
}

double probability(StageParameters& parameters, double otherwise) {
  const double p = parameters.number("p").value_or(otherwise);
  if (!(p >= 0 && p <= 1)) parameters.refuse("p", "must be from 0 to 1, not " + text_of(p));
  return p;
}

bool happens(double p, StageContext& context) noexcept {
  return is_open(p) ? context.draws().unit_f64() < p : p > 0;
}

double draw_between(const Range& range, Draws& draws) noexcept {
  return range.low + (range.high - range.low) * draws.unit_f64();
}

std::int64_t integer_in(StageParameters& parameters, std::string_view key, std::int64_t otherwise,
                        std::int64_t low, std::int64_t high) {
  const std::int64_t value = parameters.integer(key).value_or(otherwise);
  if (value < low || value > high) {
    parameters.refuse(key, "must be from " + std::to_string(low) + " to " + std::to_string(high) +
                               ", not " + std::to_string(value));
  }
  return value;
}

double number_in(StageParameters& parameters, std::string_view key, std::optional<double> otherwise,
                 Range bounds) {
  const std::string range = "from " + text_of(bounds.low) + " to " + text_of(bounds.high);
  const auto given = parameters.number(key);
  if (!given && !otherwise) parameters.refuse(key, "is missing: a number " + range);
  const double value = given ? *given : *otherwise;
  if (!(value >= bounds.low && value <= bounds.high)) {
    parameters.refuse(key, "must be " + range + ", not " + text_of(value));
  }
  return value;
}

std::optional<std::vector<std::int64_t>> integers_in(StageParameters& parameters,
                                                     std::string_view key, std::int64_t low,
                                                     std::int64_t high) {
  const auto numbers = parameters.numbers(key);
  if (!numbers) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const double number : *numbers) {
    const bool inside = number >= static_cast<double>(low) && number <= static_cast<double>(high);
    if (!inside || static_cast<double>(static_cast<std::int64_t>(number)) != number) {
      parameters.refuse(key, "takes whole numbers from " + std::to_string(low) + " to " +
                                 std::to_string(high) + ", not " + text_of(number));
    }
    result.push_back(static_cast<std::int64_t>(number));
  }
  return result;
}

Range range_in(StageParameters& parameters, std::string_view key, Range otherwise, Range bounds) {
  const auto numbers = parameters.numbers(key);
  if (!numbers) return otherwise;
  if (numbers->size() != 2) {
    parameters.refuse(key, "must be [min, max], not a list of " + std::to_string(numbers->size()));
  }
  const Range range{(*numbers)[0], (*numbers)[1]};
  if (!(range.low <= range.high)) {
    parameters.refuse(key, "must be [min, max] in that order, not " + text_of(range));
  }
  if (!(bounds.low <= range.low && range.high <= bounds.high)) {
    parameters.refuse(key, "must lie from " + text_of(bounds.low) + " to " + text_of(bounds.high) +
                               ", not " + text_of(range));
  }
  return range;
}

ImageSize image_size(StageParameters& parameters) {
  const auto sides = integers_in(parameters, "size", 1, side_max);
  if (!sides) parameters.refuse("size", "is missing: one number for a square, or [height, width]");
  if (sides->empty() || sides->size() > 2) {
    parameters.refuse("size", "must be one number or [height, width], not a list of " +
                                  std::to_string(sides->size()));
  }
  return {static_cast<std::int32_t>(sides->back()), static_cast<std::int32_t>(sides->front())};
}

bool as_pillow_13(StageParameters& parameters) {
  const std::int64_t release = parameters.integer("pillow").value_or(12);
  if (release != 12 && release != 13) {
    parameters.refuse(
        "pillow", "must be 12, for every release before 13, or 13, not " + std::to_string(release));
  }
  return release == 13;
}

namespace {

/// torch.int64 and int64 are i64.
std::string short_dtype(std::string name) {
  if (name.starts_with("torch.")) name.erase(0, 6);
  for (const std::string_view word : {"uint", "int", "float"}) {
    if (name.starts_with(word)) return name.front() + name.substr(word.size());
  }
  return name == "bfloat16" ? "bf16" : name;
}

}  // namespace

std::size_t choice(StageParameters& parameters, std::string_view key,
                   std::span<const std::string_view> names, std::size_t otherwise) {
  const auto text = parameters.text(key);
  if (!text) return otherwise;
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found == names.end()) {
    const std::vector<std::string> all(names.begin(), names.end());
    std::string list;
    for (const std::string& name : all) list += (list.empty() ? "" : ", ") + name;
    const std::string meant = key == "dtype" ? short_dtype(*text) : *text;
    parameters.refuse(
        key, "must be one of " + list + ", not `" + *text + "`." + did_you_mean(meant, all));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<Interpolation> interpolation_of(StageParameters& parameters) {
  if (!parameters.text("interpolation")) return std::nullopt;
  return static_cast<Interpolation>(choice(parameters, "interpolation", interpolation_names, 0));
}

std::optional<std::uint8_t> mask_fill_of(StageParameters& parameters) {
  if (!parameters.integer("mask_fill")) return std::nullopt;
  return static_cast<std::uint8_t>(integer_in(parameters, "mask_fill", 0, 0, 255));
}

std::optional<ImageSize> Padding::around(ImageSize image) const noexcept {
  const std::int64_t width = std::int64_t{image.width} + left + right;
  const std::int64_t height = std::int64_t{image.height} + top + bottom;
  if (width > padded_side_max || height > padded_side_max) return std::nullopt;
  return ImageSize{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
}

std::string why_too_padded(ImageSize image, std::string_view stage) {
  return "an image of " + std::to_string(image.width) + "x" + std::to_string(image.height) +
         " pixels would be longer than " + std::to_string(padded_side_max) + " after " +
         std::string(stage) + ". Crop it first, or pad it by less.";
}

Padding padding(StageParameters& parameters) {
  Padding result;
  if (const auto sides = integers_in(parameters, "padding", 0, side_max)) {
    const auto side = [&](std::size_t i) { return static_cast<std::int32_t>((*sides)[i]); };
    if (sides->size() == 1) {
      result = {side(0), side(0), side(0), side(0)};
    } else if (sides->size() == 2) {
      result = {side(0), side(1), side(0), side(1)};
    } else if (sides->size() == 4) {
      result = {side(0), side(1), side(2), side(3)};
    } else {
      parameters.refuse("padding",
                        "must be one number, [left and right, top and bottom] or [left, top, "
                        "right, bottom], not a list of " +
                            std::to_string(sides->size()));
    }
  }
  result.fill = static_cast<std::uint8_t>(integer_in(parameters, "fill", 0, 0, 255));
  result.mask_fill = mask_fill_of(parameters);
  result.mode = static_cast<PaddingMode>(choice(parameters, "padding_mode", padding_mode_names, 0));
  return result;
}

}  // namespace batchcast::inline v0_1::detail

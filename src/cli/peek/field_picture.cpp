// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/field_picture.hpp"

#include "core/half.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace batchcast::cli {
namespace {

using Json = nlohmann::json;

template <class T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool are_channels(std::int64_t extent) { return extent == 1 || extent == 3; }

bool is_pixel_type(DType dtype) {
  return dtype == DType::u8 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 ||
         dtype == DType::f64;
}

std::string list_of(const Schema& schema) {
  std::string text;
  for (const FieldSpec& field : schema) text += (text.empty() ? "" : ", ") + to_text(field);
  return text;
}

std::vector<double> numbers(const Json& stage, const char* key) {
  const Json value = stage.value(key, Json());
  if (value.is_number()) return {value.get<double>()};
  std::vector<double> result;
  if (!value.is_array()) return result;
  for (const Json& number : value) {
    if (number.is_number()) result.push_back(number.get<double>());
  }
  return result;
}

}  // namespace

FieldPicture::FieldPicture(const Schema& schema, const BoardRecipe& recipe,
                           const std::optional<std::string>& name) {
  for (field_ = 0; field_ < schema.size(); ++field_) {
    if (name && schema[field_].name != *name) continue;
    if (!adopt(schema[field_], recipe.has_views(schema[field_].name))) continue;
    read_recipe(recipe.stages_of(schema[field_].name));
    return;
  }
  throw InvalidArgument(
      "batchcast: " +
      (name ? "there is no field `" + *name + "` that can be shown as a picture"
            : std::string("no field can be shown as a picture")) +
      ": it takes u8 or floats of the shape [1 or 3, height, width], [height, width, 1 or 3] or "
      "[height, width]. The fields are " +
      list_of(schema) + ".");
}

bool FieldPicture::adopt(const FieldSpec& given, bool has_views) {
  FieldSpec field = given;
  // Of views, which stand in front, the first is shown.
  if (has_views && !field.shape.empty()) field.shape.erase(field.shape.begin());
  if (!is_pixel_type(field.dtype)) return false;
  const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(field.shape[i]); };
  dtype_ = field.dtype;
  if (field.shape.size() == 2) {
    channels_ = 1;
    height_ = extent(0);
    width_ = extent(1);
    return true;
  }
  if (field.shape.size() != 3) return false;
  channels_last_ = !are_channels(field.shape[0]);
  if (channels_last_ && !are_channels(field.shape[2])) return false;
  channels_ = extent(channels_last_ ? 2 : 0);
  height_ = extent(channels_last_ ? 0 : 1);
  width_ = extent(channels_last_ ? 1 : 2);
  return true;
}

void FieldPicture::read_recipe(const Json& stages) {
  known_range_ = dtype_ == DType::u8;
  for (const Json& stage : stages) {
    if (!stage.is_object()) continue;
    const std::string kind = stage.value("stage", "");
    if (kind == "to") known_range_ = true;
    if (kind != "normalize") continue;
    mean_ = numbers(stage, "mean");
    std_ = numbers(stage, "std");
  }
}

double FieldPicture::value(const std::byte* sample, std::size_t element) const {
  const std::byte* const at = sample + element * size_of(dtype_);
  switch (dtype_) {
    case DType::f16:
      return static_cast<double>(detail::f32_from_f16(read<std::uint16_t>(at)));
    case DType::bf16:
      return static_cast<double>(detail::f32_from_bf16(read<std::uint16_t>(at)));
    case DType::f32:
      return static_cast<double>(read<float>(at));
    case DType::f64:
      return read<double>(at);
    default:
      return static_cast<double>(read<std::uint8_t>(at)) / 255;
  }
}

std::size_t FieldPicture::element(std::size_t channel, std::size_t y,
                                  std::size_t x) const noexcept {
  return channels_last_ ? (y * width_ + x) * channels_ + channel
                        : (channel * height_ + y) * width_ + x;
}

FieldPicture::Scale FieldPicture::range_of(const std::byte* sample) const {
  double low = value(sample, 0);
  double high = low;
  for (std::size_t i = 0; i < channels_ * height_ * width_; ++i) {
    const double one = value(sample, i);
    if (!std::isfinite(one)) continue;
    low = std::min(low, one);
    high = std::max(high, one);
  }
  // What lies between 0 and 1 is taken for what it is.
  if (low >= 0 && high <= 1) return {};
  const double factor = high > low ? 255 / (high - low) : 0;
  return {factor, -low * factor};
}

Picture FieldPicture::of(std::span<const std::byte> sample) const {
  const Scale scale = known_range_ ? Scale{} : range_of(sample.data());
  Picture picture{width_, height_, {}};
  picture.rgb.reserve(3 * width_ * height_);
  for (std::size_t y = 0; y < height_; ++y) {
    for (std::size_t x = 0; x < width_; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t channel = std::min(c, channels_ - 1);
        double one = value(sample.data(), element(channel, y, x));
        if (!std_.empty()) one *= std_[std::min(channel, std_.size() - 1)];
        if (!mean_.empty()) one += mean_[std::min(channel, mean_.size() - 1)];
        const double level = one * scale.factor + scale.offset;
        picture.rgb.push_back(level > 0 ? static_cast<std::uint8_t>(std::min(level + 0.5, 255.0))
                                        : std::uint8_t{0});
      }
    }
  }
  return picture;
}

}  // namespace batchcast::cli

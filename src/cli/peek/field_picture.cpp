// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/peek/field_picture.hpp"

#include "core/half.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

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

bool is_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

/// Integers other than u8 are ids, or levels that no screen has.
bool is_pixel_type(DType dtype) { return dtype == DType::u8 || is_float(dtype); }

/// A colour for each id, near ones far apart: VOC's, where 0 is black.
std::array<std::uint8_t, 3> color_of(std::uint8_t id) {
  std::array<std::uint8_t, 3> rgb{};
  for (unsigned bit = 0; bit < 8; ++bit) {
    const unsigned value = id >> bit & 1U;
    rgb[bit % 3] = static_cast<std::uint8_t>(rgb[bit % 3] | value << (7 - bit / 3));
  }
  return rgb;
}

std::string list_of(const Schema& schema) {
  std::string text;
  for (const FieldSpec& field : schema) text += (text.empty() ? "" : ", ") + to_text(field);
  return text;
}

bool has_layout_hw(const Json& stages) {
  return std::any_of(stages.begin(), stages.end(), [](const Json& stage) {
    return stage.is_object() && stage.value("layout", Json()) == "hw";
  });
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
  const bool found = name ? adopt_named(schema, recipe, *name)
                          : adopt_first(schema, recipe, false) || adopt_first(schema, recipe, true);
  if (!found) {
    throw InvalidArgument(text(
        "batchcast: {}: it takes numbers of the shape [1 or 3, height, width], [height, width, 1 "
        "or 3] or [height, width], each perhaps after the number of views, or pixels on an axis "
        "with their NAME_size. The fields are {}.",
        name ? text("the field `{}` cannot be shown as a picture", *name)
             : "no field can be shown as a picture",
        list_of(schema)));
  }
  read_recipe(recipe, schema[field_].name);
}

bool FieldPicture::adopt_named(const Schema& schema, const BoardRecipe& recipe,
                               const std::string& name) {
  std::vector<std::string> names;
  for (const FieldSpec& field : schema) names.push_back(field.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw InvalidArgument(text("batchcast: there is no field `{}`. The fields are {}.{}", name,
                               list_of(schema), detail::did_you_mean(name, names)));
  }
  field_ = static_cast<std::size_t>(found - names.begin());
  return adopt(schema[field_], schema, recipe);
}

bool FieldPicture::adopt_first(const Schema& schema, const BoardRecipe& recipe, bool others) {
  for (field_ = 0; field_ < schema.size(); ++field_) {
    const FieldSpec& field = schema[field_];
    const bool shows_colors = is_pixel_type(field.dtype) && !recipe.is_mask(field.name);
    if (shows_colors != others && adopt(field, schema, recipe)) return true;
  }
  return false;
}

/// Rows that are the pixels of images, whose sizes stand beside them.
bool FieldPicture::adopt_pixels(const FieldSpec& field, const Schema& schema) {
  const auto size =
      std::find(schema.begin(), schema.end(), FieldSpec(field.name + "_size", DType::i32, {2}));
  const bool has_channels = field.shape.size() == 1 && are_channels(field.shape.front());
  if (size == schema.end() || !(field.shape.empty() || has_channels)) return false;
  size_field_ = static_cast<std::size_t>(size - schema.begin());
  dtype_ = field.dtype;
  channels_ = field.shape.empty() ? 1 : static_cast<std::size_t>(field.shape.front());
  channels_last_ = true;
  views_ = 1;
  return true;
}

bool FieldPicture::adopt(const FieldSpec& field, const Schema& schema, const BoardRecipe& recipe) {
  size_field_.reset();
  if (field.on_axis()) return adopt_pixels(field, schema);
  std::vector<std::int64_t> shape = field.shape;
  // Views stand in front, and behind them what a stage makes of each, such as five_crop.
  views_ = 1;
  bool has_views = recipe.has_views(field.name);
  const std::size_t dimensions = has_layout_hw(recipe.stages_of(field.name)) ? 2 : 3;
  while (!shape.empty() && (has_views || shape.size() > dimensions)) {
    views_ *= static_cast<std::size_t>(shape.front());
    shape.erase(shape.begin());
    has_views = false;
  }
  const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(shape[i]); };
  dtype_ = field.dtype;
  if (shape.size() == 2) {
    channels_ = 1;
    height_ = extent(0);
    width_ = extent(1);
    return true;
  }
  if (shape.size() != 3) return false;
  channels_last_ = !are_channels(shape[0]);
  if (channels_last_ && !are_channels(shape[2])) return false;
  channels_ = extent(channels_last_ ? 2 : 0);
  height_ = extent(channels_last_ ? 0 : 1);
  width_ = extent(channels_last_ ? 1 : 2);
  return true;
}

void FieldPicture::read_recipe(const BoardRecipe& recipe, const std::string& name) {
  is_mask_ = recipe.is_mask(name) && channels_ == 1 && !is_float(dtype_);
  known_range_ = dtype_ == DType::u8;
  for (const Json& stage : recipe.stages_of(name)) {
    if (!stage.is_object()) continue;
    const std::string kind = stage.value("stage", "");
    if (kind == "to" && is_float(dtype_)) known_range_ = true;
    if (kind == "to" && channels_ == 3) is_bgr_ = stage.value("channel_order", "") == "bgr";
    if (kind != "normalize") continue;
    mean_ = numbers(stage, "mean");
    std_ = numbers(stage, "std");
  }
}

double FieldPicture::value(const std::byte* picture, std::size_t element) const {
  const std::byte* const at = picture + element * size_of(dtype_);
  switch (dtype_) {
    case DType::f16:
      return static_cast<double>(detail::f32_from_f16(read<std::uint16_t>(at)));
    case DType::bf16:
      return static_cast<double>(detail::f32_from_bf16(read<std::uint16_t>(at)));
    case DType::f32:
      return static_cast<double>(read<float>(at));
    case DType::f64:
      return read<double>(at);
    case DType::i8:
      return static_cast<double>(read<std::int8_t>(at));
    case DType::i16:
      return static_cast<double>(read<std::int16_t>(at));
    case DType::i32:
      return static_cast<double>(read<std::int32_t>(at));
    case DType::i64:
      return static_cast<double>(read<std::int64_t>(at));
    case DType::u16:
      return static_cast<double>(read<std::uint16_t>(at));
    case DType::u32:
      return static_cast<double>(read<std::uint32_t>(at));
    case DType::u64:
      return static_cast<double>(read<std::uint64_t>(at));
    case DType::boolean:
      return static_cast<double>(read<std::uint8_t>(at));
    case DType::u8:
      break;
  }
  return static_cast<double>(read<std::uint8_t>(at)) / 255;
}

/// Its lowest byte: no data set has more classes, and -1 is as good as 255.
std::uint8_t FieldPicture::id(const std::byte* picture, std::size_t element) const {
  return read<std::uint8_t>(picture + element * size_of(dtype_));
}

std::size_t FieldPicture::element(std::size_t channel, std::size_t y,
                                  std::size_t x) const noexcept {
  return channels_last_ ? (y * width_ + x) * channels_ + channel
                        : (channel * height_ + y) * width_ + x;
}

FieldPicture::Scale FieldPicture::range_of(const std::byte* picture) const {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t i = 0; i < channels_ * height_ * width_; ++i) {
    const double one = value(picture, i);
    if (!std::isfinite(one)) continue;
    low = std::min(low, one);
    high = std::max(high, one);
  }
  // What lies between 0 and 1 is taken for what it is.
  if (low >= 0 && high <= 1) return {};
  const double factor = high > low ? 255 / (high - low) : 0;
  return {factor, high > low ? -low * factor : 0};
}

Picture FieldPicture::of(std::span<const std::byte> sample, std::size_t view) const {
  const std::size_t byte_count = channels_ * height_ * width_ * size_of(dtype_);
  const std::byte* const picture = sample.subspan(view * byte_count, byte_count).data();
  const Scale scale = known_range_ || is_mask_ ? Scale{} : range_of(picture);
  Picture made{width_, height_, {}, is_mask_};
  made.rgb.reserve(3 * width_ * height_);
  for (std::size_t y = 0; y < height_; ++y) {
    for (std::size_t x = 0; x < width_; ++x) add_pixel(picture, scale, y, x, made.rgb);
  }
  return made;
}

Picture FieldPicture::of_size(std::span<const std::byte> sample,
                              std::span<const std::byte> size) const {
  FieldPicture one = *this;
  one.height_ = static_cast<std::size_t>(std::max(0, read<std::int32_t>(size.data())));
  one.width_ = static_cast<std::size_t>(std::max(0, read<std::int32_t>(size.data() + 4)));
  const std::size_t pixel_bytes = channels_ * size_of(dtype_);
  if (sample.size() % pixel_bytes != 0 || sample.size() / pixel_bytes != one.height_ * one.width_) {
    throw Error(text("batchcast: an image of {} x {} pixels has {} rows.", one.width_, one.height_,
                     sample.size() / pixel_bytes));
  }
  return one.of(sample, 0);
}

void FieldPicture::add_pixel(const std::byte* picture, const Scale& scale, std::size_t y,
                             std::size_t x, std::vector<std::uint8_t>& rgb) const {
  if (is_mask_) {
    for (const std::uint8_t level : color_of(id(picture, element(0, y, x)))) rgb.push_back(level);
    return;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t channel = is_bgr_ ? 2 - c : std::min(c, channels_ - 1);
    double one = value(picture, element(channel, y, x));
    if (!std_.empty()) one *= std_[std::min(channel, std_.size() - 1)];
    if (!mean_.empty()) one += mean_[std::min(channel, mean_.size() - 1)];
    const double level = one * scale.factor + scale.offset;
    rgb.push_back(level > 0 ? static_cast<std::uint8_t>(std::min(level + 0.5, 255.0))
                            : std::uint8_t{0});
  }
}

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

/// To one size, or the shorter side to a length with the ratio kept.
struct ResizeParameters {
  std::optional<ImageSize> exact;
  std::int64_t shorter = 0;
  std::optional<std::int64_t> max_size;
  std::optional<Interpolation> interpolation;
  bool as_pillow_13 = false;
};

class ResizeStage final : public GeometryStage {
 public:
  explicit ResizeStage(const ResizeParameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "resize"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept override {
    return parameters_.interpolation;
  }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.resizes = true}; }
  [[nodiscard]] std::string parameters_json() const override {
    Json object;
    if (parameters_.exact) {
      object["size"] = {parameters_.exact->height, parameters_.exact->width};
    } else {
      object["size"] = parameters_.shorter;
    }
    if (parameters_.max_size) object["max_size"] = *parameters_.max_size;
    if (parameters_.interpolation) {
      object["interpolation"] =
          interpolation_names[static_cast<std::size_t>(*parameters_.interpolation)];
    }
    if (parameters_.as_pillow_13) object["pillow"] = 13;
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (parameters_.exact) return parameters_.exact;
    if (!in) return std::nullopt;
    const auto size = size_for(*in);
    if (!size) throw InvalidArgument(why_too_long(*in));
    return size;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    const auto size = size_for(geometry.output());
    if (!size) throw BadSample(why_too_long(geometry.output()));
    geometry.resize(*size);
    geometry.interpolation = parameters_.interpolation.value_or(geometry.interpolation);
    geometry.as_pillow_13 = parameters_.as_pillow_13;
  }

 private:
  [[nodiscard]] std::optional<ImageSize> size_for(ImageSize in) const noexcept {
    if (parameters_.exact) return parameters_.exact;
    const bool upright = in.width <= in.height;
    const std::int64_t in_short = upright ? in.width : in.height;
    const std::int64_t in_long = upright ? in.height : in.width;
    // torchvision divides as floats and cuts off; below 2^53 that is what dividing integers gives.
    std::int64_t new_short = parameters_.shorter;
    std::int64_t new_long = parameters_.shorter * in_long / in_short;
    if (parameters_.max_size && new_long > *parameters_.max_size) {
      new_short = std::max<std::int64_t>(*parameters_.max_size * new_short / new_long, 1);
      new_long = *parameters_.max_size;
    }
    if (new_long > side_max) return std::nullopt;
    const auto narrow = static_cast<std::int32_t>(new_short);
    const auto wide = static_cast<std::int32_t>(new_long);
    return upright ? ImageSize{narrow, wide} : ImageSize{wide, narrow};
  }
  [[nodiscard]] std::string why_too_long(ImageSize in) const {
    return "an image of " + std::to_string(in.width) + "x" + std::to_string(in.height) +
           " pixels with its shorter side resized to " + std::to_string(parameters_.shorter) +
           " would be longer than " + std::to_string(side_max) + ". Give resize a `max_size`.";
  }

  ResizeParameters parameters_;
};

class PadStage final : public GeometryStage {
 public:
  explicit PadStage(const Padding& padding) : padding_(padding) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "pad"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.pads = true}; }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"padding", {padding_.left, padding_.top, padding_.right, padding_.bottom}},
                   {"fill", padding_.fill},
                   {"padding_mode", padding_mode_names[static_cast<std::size_t>(padding_.mode)]}};
    if (padding_.mask_fill) object["mask_fill"] = *padding_.mask_fill;
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (!in) return std::nullopt;
    const auto out = padding_.around(*in);
    if (!out) throw InvalidArgument(why_too_padded(*in, name()));
    return out;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    const ImageSize in = geometry.output();
    if (!padding_.around(in)) throw BadSample(why_too_padded(in, name()));
    geometry.pad(padding_.left, padding_.top, padding_.right, padding_.bottom, padding_.mode,
                 padding_.fill);
    geometry.mask_fill = padding_.mask_fill;
  }

 private:
  Padding padding_;
};

class FlipStage final : public GeometryStage {
 public:
  enum class Axis : std::uint8_t { horizontal, vertical };
  FlipStage(Axis axis, double p) : axis_(axis), p_(p) {}
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0 && p_ < 1; }
  [[nodiscard]] Axis axis() const noexcept { return axis_; }
  [[nodiscard]] std::string_view name() const noexcept override {
    return axis_ == Axis::horizontal ? "horizontal_flip" : "vertical_flip";
  }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {}; }
  [[nodiscard]] std::string parameters_json() const override { return Json({{"p", p_}}).dump(); }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    return in;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const bool flips = context.draws().unit_f64() < p_;
    context.note(axis_ == Axis::horizontal ? "flip" : "vertical_flip", flips ? 1 : 0);
    if (!flips) return;
    if (axis_ == Axis::horizontal) {
      geometry.flip_horizontally();
    } else {
      geometry.flip_vertically();
    }
  }

 private:
  Axis axis_;
  double p_;
};

}  // namespace

StagePointer make_resize(StageParameters& parameters) {
  const auto sides = integers_in(parameters, "size", 1, side_max);
  ResizeParameters result;
  if (sides && sides->size() == 1) {
    result.shorter = sides->front();
  } else {
    result.exact = image_size(parameters);
  }
  if (const auto max_size = parameters.integer("max_size")) {
    if (result.exact) parameters.refuse("max_size", "is for a `size` of one number only");
    if (*max_size <= result.shorter || *max_size > side_max) {
      parameters.refuse("max_size", "must be above `size`, which is " +
                                        std::to_string(result.shorter) + ", and at most " +
                                        std::to_string(side_max) + ", not " +
                                        std::to_string(*max_size));
    }
    result.max_size = max_size;
  }
  result.interpolation = interpolation_of(parameters);
  result.as_pillow_13 = as_pillow_13(parameters);
  return std::make_shared<ResizeStage>(result);
}

StagePointer make_pad(StageParameters& parameters) {
  const Padding result = padding(parameters);
  if (!parameters.numbers("padding")) {
    parameters.refuse("padding",
                      "is missing: one number, [left and right, top and bottom] or [left, top, "
                      "right, bottom]");
  }
  return std::make_shared<PadStage>(result);
}

StagePointer make_horizontal_flip(StageParameters& parameters) {
  return std::make_shared<FlipStage>(FlipStage::Axis::horizontal, probability(parameters, 0.5));
}

StagePointer make_vertical_flip(StageParameters& parameters) {
  return std::make_shared<FlipStage>(FlipStage::Axis::vertical, probability(parameters, 0.5));
}

bool is_horizontal_flip(const Stage& stage) noexcept {
  const auto* flip = dynamic_cast<const FlipStage*>(&stage);
  return flip != nullptr && flip->axis() == FlipStage::Axis::horizontal;
}

}  // namespace batchcast::inline v0_1::detail

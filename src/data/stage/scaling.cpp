// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

// Stages that resize to what depends on the image or the draw, and a crop that is resized.
namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

std::string words(ImageSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

struct Resizing {
  std::optional<Interpolation> interpolation;
  bool as_pillow_13 = false;
  double p = 1;  ///< of those that draw

  void apply(Geometry& geometry, ImageSize size) const noexcept {
    geometry.resize(size);
    geometry.interpolation = interpolation.value_or(geometry.interpolation);
    geometry.as_pillow_13 = as_pillow_13;
  }
  void add_to(Json& object) const {
    if (interpolation) {
      object["interpolation"] = interpolation_names[static_cast<std::size_t>(*interpolation)];
    }
    if (as_pillow_13) object["pillow"] = 13;
  }
};

Resizing resizing_of(StageParameters& parameters) {
  return {interpolation_of(parameters), as_pillow_13(parameters)};
}

Resizing random_resizing_of(StageParameters& parameters) {
  Resizing result = resizing_of(parameters);
  result.p = probability(parameters, 1);
  return result;
}

// Cut off; sides that come to 0 are 1. As torchvision, RandomShortestSize reckons in doubles and
// ScaleJitter in floats, where one product in ten is cut off to another side.
template <class Real>
ImageSize scaled(ImageSize size, Real factor, std::string_view stage) {
  const Real width = static_cast<Real>(size.width) * factor;
  const Real height = static_cast<Real>(size.height) * factor;
  if (!(width <= static_cast<Real>(side_max) && height <= static_cast<Real>(side_max))) {
    throw BadSample("an image of " + words(size) + " pixels would be longer than " +
                    std::to_string(side_max) + " after " + std::string(stage) +
                    ". Crop it first, or scale it by less.");
  }
  return {std::max(static_cast<std::int32_t>(width), 1),
          std::max(static_cast<std::int32_t>(height), 1)};
}

class ScalingStage : public GeometryStage {
 public:
  explicit ScalingStage(const Resizing& resizing) : resizing_(resizing) {}
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.resizes = true}; }
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept override {
    return resizing_.interpolation;
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return std::nullopt;
  }

 protected:
  [[nodiscard]] const Resizing& resizing() const noexcept { return resizing_; }

 private:
  Resizing resizing_;
};

class RandomShortSideStage final : public ScalingStage {
 public:
  RandomShortSideStage(std::vector<std::int64_t> sides, std::optional<std::int64_t> max_size,
                       const Resizing& resizing)
      : ScalingStage(resizing), sides_(std::move(sides)), max_size_(max_size) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_short_side"; }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(resizing().p) || (resizing().p > 0 && sides_.size() > 1);
  }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"min_size", sides_}, {"p", resizing().p}};
    if (max_size_) object["max_size"] = *max_size_;
    resizing().add_to(object);
    return object.dump();
  }
  void place(Geometry& geometry, StageContext& context) const override {
    if (!happens(resizing().p, context)) return;
    const ImageSize in = geometry.output();
    const auto side = static_cast<double>(sides_[context.draws().below(sides_.size())]);
    context.note("short_side", side);
    double factor = side / std::min(in.width, in.height);
    if (max_size_) {
      factor = std::min(factor, static_cast<double>(*max_size_) / std::max(in.width, in.height));
    }
    resizing().apply(geometry, scaled(in, factor, name()));
  }

 private:
  std::vector<std::int64_t> sides_;
  std::optional<std::int64_t> max_size_;
};

class ScaleJitterStage final : public ScalingStage {
 public:
  ScaleJitterStage(ImageSize target, Range range, const Resizing& resizing)
      : ScalingStage(resizing), target_(target), range_(range) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "scale_jitter"; }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(resizing().p) || (resizing().p > 0 && range_.low < range_.high);
  }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"target_size", {target_.height, target_.width}},
                   {"scale_range", {range_.low, range_.high}},
                   {"p", resizing().p}};
    resizing().add_to(object);
    return object.dump();
  }
  void place(Geometry& geometry, StageContext& context) const override {
    if (!happens(resizing().p, context)) return;
    const ImageSize in = geometry.output();
    const double scale = draw_between(range_, context.draws());
    context.note("jitter_scale", scale);
    // torchvision's, which holds the target's width against the image's height.
    const double fit = std::min(static_cast<double>(target_.width) / in.height,
                                static_cast<double>(target_.height) / in.width);
    const float factor = static_cast<float>(fit) * static_cast<float>(scale);
    resizing().apply(geometry, scaled(in, factor, name()));
  }

 private:
  ImageSize target_;
  Range range_;
};

class ResizedCropStage final : public GeometryStage {
 public:
  ResizedCropStage(Box box, ImageSize size, const Resizing& resizing)
      : box_(box), size_(size), resizing_(resizing) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "resized_crop"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .resizes = true};
  }
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept override {
    return resizing_.interpolation;
  }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"top", box_.y},
                   {"left", box_.x},
                   {"height", box_.height},
                   {"width", box_.width},
                   {"size", {size_.height, size_.width}}};
    resizing_.add_to(object);
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (in && !fits(*in)) throw InvalidArgument(why_not(*in));
    return size_;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    const ImageSize in = geometry.output();
    if (!fits(in)) throw BadSample(why_not(in));
    geometry.crop(box_);
    resizing_.apply(geometry, size_);
  }

 private:
  [[nodiscard]] bool fits(ImageSize in) const noexcept {
    return box_.x + box_.width <= in.width && box_.y + box_.height <= in.height;
  }
  [[nodiscard]] std::string why_not(ImageSize in) const {
    return "the image has " + words(in) + " pixels, and the crop reaches to " +
           words({box_.x + box_.width, box_.y + box_.height}) + ". Pad it first, or crop less.";
  }

  Box box_;
  ImageSize size_;
  Resizing resizing_;
};

std::int32_t needed_side(StageParameters& parameters, std::string_view key, std::int64_t least) {
  if (!parameters.integer(key)) parameters.refuse(key, "is missing: a number of pixels");
  return static_cast<std::int32_t>(integer_in(parameters, key, least, least, side_max));
}

}  // namespace

StagePointer make_random_short_side(StageParameters& parameters) {
  auto sides = integers_in(parameters, "min_size", 1, side_max);
  if (!sides || sides->empty()) {
    parameters.refuse("min_size", "is missing: the shorter side, or a list of some to draw from");
  }
  std::optional<std::int64_t> max_size;
  if (parameters.integer("max_size")) {
    max_size = integer_in(parameters, "max_size", 1, 1, side_max);
  }
  return std::make_shared<RandomShortSideStage>(std::move(*sides), max_size,
                                                random_resizing_of(parameters));
}

StagePointer make_scale_jitter(StageParameters& parameters) {
  const auto target = integers_in(parameters, "target_size", 1, side_max);
  if (!target) {
    parameters.refuse("target_size", "is missing: one number for a square, or [height, width]");
  }
  if (target->empty() || target->size() > 2) {
    parameters.refuse("target_size", "must be one number or [height, width], not a list of " +
                                         std::to_string(target->size()));
  }
  const ImageSize size = {static_cast<std::int32_t>(target->back()),
                          static_cast<std::int32_t>(target->front())};
  const Range range = range_in(parameters, "scale_range", {0.1, 2}, {1e-3, 1000});
  return std::make_shared<ScaleJitterStage>(size, range, random_resizing_of(parameters));
}

StagePointer make_resized_crop(StageParameters& parameters) {
  Box box;
  box.y = needed_side(parameters, "top", 0);
  box.x = needed_side(parameters, "left", 0);
  box.height = needed_side(parameters, "height", 1);
  box.width = needed_side(parameters, "width", 1);
  const ImageSize size = image_size(parameters);
  return std::make_shared<ResizedCropStage>(box, size, resizing_of(parameters));
}

}  // namespace batchcast::inline v0_1::detail

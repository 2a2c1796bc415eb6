// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/crop_box.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

Json sides_of(ImageSize size) { return Json::array({size.height, size.width}); }

std::string words(ImageSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

class RandomResizedCropStage final : public GeometryStage {
 public:
  RandomResizedCropStage(ImageSize size, BoxRange range, std::optional<Interpolation> interpolation,
                         bool as_pillow_13)
      : size_(size), range_(range), interpolation_(interpolation), as_pillow_13_(as_pillow_13) {}
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept override {
    return interpolation_;
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "random_resized_crop"; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .resizes = true};
  }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"size", sides_of(size_)},
                   {"scale", list_of(range_.scale())},
                   {"ratio", list_of(range_.ratio())}};
    if (interpolation_) {
      object["interpolation"] = interpolation_names[static_cast<std::size_t>(*interpolation_)];
    }
    if (as_pillow_13_) object["pillow"] = 13;
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    geometry.crop(draw_crop_box(geometry.output(), range_, context.draws()));
    geometry.resize(size_);
    geometry.interpolation = interpolation_.value_or(geometry.interpolation);
    geometry.as_pillow_13 = as_pillow_13_;
  }

 private:
  ImageSize size_;
  BoxRange range_;
  std::optional<Interpolation> interpolation_;
  bool as_pillow_13_;
};

class CenterCropStage final : public GeometryStage {
 public:
  explicit CenterCropStage(ImageSize size) : size_(size) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "center_crop"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .pads = true};
  }
  [[nodiscard]] std::string parameters_json() const override {
    return Json({{"size", sides_of(size_)}}).dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return size_;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    const ImageSize in = geometry.output();
    const std::int32_t extra_x = std::max(size_.width - in.width, 0);
    const std::int32_t extra_y = std::max(size_.height - in.height, 0);
    geometry.pad(extra_x / 2, extra_y / 2, (extra_x + 1) / 2, (extra_y + 1) / 2,
                 PaddingMode::constant, 0);
    const ImageSize padded = geometry.output();
    geometry.crop({offset(padded.width, size_.width), offset(padded.height, size_.height),
                   size_.width, size_.height});
  }

 private:
  static std::int32_t offset(std::int32_t outer, std::int32_t inner) {
    return static_cast<std::int32_t>(round_half_even((outer - inner) / 2.0));
  }
  ImageSize size_;
};

struct RandomCropParameters {
  ImageSize size;
  Padding padding;
  bool pad_if_needed = false;
};

class RandomCropStage final : public GeometryStage {
 public:
  explicit RandomCropStage(const RandomCropParameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_crop"; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .pads = parameters_.pad_if_needed || !parameters_.padding.empty()};
  }
  [[nodiscard]] std::string parameters_json() const override {
    const Padding& padding = parameters_.padding;
    Json object = {{"size", sides_of(parameters_.size)},
                   {"padding", {padding.left, padding.top, padding.right, padding.bottom}},
                   {"fill", padding.fill},
                   {"padding_mode", padding_mode_names[static_cast<std::size_t>(padding.mode)]},
                   {"pad_if_needed", parameters_.pad_if_needed}};
    if (padding.mask_fill) object["mask_fill"] = *padding.mask_fill;
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (in && !fits(*in)) throw InvalidArgument(why_not(*in));
    return parameters_.size;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const ImageSize in = geometry.output();
    if (!fits(in)) throw BadSample(why_not(in));
    const Padding& padding = parameters_.padding;
    const ImageSize missing = missing_of(*padding.around(in));
    geometry.pad(padding.left + missing.width, padding.top + missing.height,
                 padding.right + missing.width, padding.bottom + missing.height, padding.mode,
                 padding.fill);
    // What a `pad` before it said stays where it pads nothing itself.
    if (traits().pads) geometry.mask_fill = padding.mask_fill;
    const ImageSize outer = geometry.output();
    const ImageSize size = parameters_.size;
    const auto y =
        context.draws().below(static_cast<std::uint64_t>(outer.height - size.height) + 1);
    const auto x = context.draws().below(static_cast<std::uint64_t>(outer.width - size.width) + 1);
    geometry.crop(
        {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), size.width, size.height});
  }

 private:
  // What pad_if_needed adds to what is `padded` already, on both sides alike as torchvision does.
  [[nodiscard]] ImageSize missing_of(ImageSize padded) const noexcept {
    if (!parameters_.pad_if_needed) return {};
    return {std::max(parameters_.size.width - padded.width, 0),
            std::max(parameters_.size.height - padded.height, 0)};
  }
  [[nodiscard]] bool fits(ImageSize in) const noexcept {
    const auto padded = parameters_.padding.around(in);
    if (!padded || parameters_.pad_if_needed) return padded.has_value();
    return padded->width >= parameters_.size.width && padded->height >= parameters_.size.height;
  }
  [[nodiscard]] std::string why_not(ImageSize in) const {
    const auto padded = parameters_.padding.around(in);
    if (!padded) return why_too_padded(in, name());
    return "the image has " + words(in) + " pixels, with padding " + words(*padded) +
           ", and a crop takes " + words(parameters_.size) +
           ". Resize it first, pad more, or set `pad_if_needed`.";
  }

  RandomCropParameters parameters_;
};

}  // namespace

StagePointer make_random_resized_crop(StageParameters& parameters) {
  const ImageSize size = image_size(parameters);
  const Range scale = range_in(parameters, "scale", {0.08, 1.0}, {0, 1});
  const Range ratio = range_in(parameters, "ratio", {3.0 / 4.0, 4.0 / 3.0}, ratio_bounds);
  return std::make_shared<RandomResizedCropStage>(
      size, BoxRange(scale, ratio), interpolation_of(parameters), as_pillow_13(parameters));
}

StagePointer make_center_crop(StageParameters& parameters) {
  return std::make_shared<CenterCropStage>(image_size(parameters));
}

StagePointer make_random_crop(StageParameters& parameters) {
  RandomCropParameters result{image_size(parameters), padding(parameters),
                              parameters.boolean("pad_if_needed").value_or(false)};
  const PaddingMode mode = result.padding.mode;
  if (result.pad_if_needed && !result.padding.empty() &&
      (mode == PaddingMode::reflect || mode == PaddingMode::symmetric)) {
    parameters.refuse("pad_if_needed", "and `padding` cannot both mirror the image: give one");
  }
  return std::make_shared<RandomCropStage>(result);
}

}  // namespace batchcast::inline v0_1::detail

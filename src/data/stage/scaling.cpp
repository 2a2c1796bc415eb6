// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/resizing.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>

// Stages that resize to a size which depends on the image or the draw, and a crop that is resized.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr const char* some_pixels = "a number of pixels";

// Cut off; a side of 0 becomes 1. As in torchvision, RandomShortestSize computes in doubles and
// ScaleJitter in floats, where one product in ten gives another side.
template <class Real>
ImageSize scaled(ImageSize size, Real factor, std::string_view stage) {
  const Real width = static_cast<Real>(size.width) * factor;
  const Real height = static_cast<Real>(size.height) * factor;
  if (!(width <= static_cast<Real>(side_max) && height <= static_cast<Real>(side_max))) {
    throw BadSample(
        text("an image of {} pixels would be longer than {} after {}. Crop it first, or scale it "
             "by less.",
             words(size), side_max, stage));
  }
  return {std::max(static_cast<std::int32_t>(width), 1),
          std::max(static_cast<std::int32_t>(height), 1)};
}

/// torchvision's RandomResize: the shorter side becomes a drawn length.
class RandomResizeStage final : public ResizingStage<RandomResizeStage> {
 public:
  static constexpr std::string_view stage_name = "random_resize";
  static void rows(auto& self, auto& table) {
    table("min_size", self.min_size_, Whole{1, side_max - 1}, {.missing = some_pixels});
    table("max_size", self.max_size_, Whole{self.min_size_ + 1, side_max},
          {.missing = some_pixels});
    Resizing::rows(self.resizing_, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return max_size_ > min_size_ + 1; }
  [[nodiscard]] std::vector<ImageSize> extremes(ImageSize in) const override {
    return {size_for(in, min_size_), size_for(in, max_size_ - 1)};
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const auto lengths = static_cast<std::uint64_t>(max_size_ - min_size_);
    const std::int64_t shorter =
        min_size_ + static_cast<std::int64_t>(context.draws().below(lengths));
    context.note("short_side", static_cast<double>(shorter));
    resizing_.apply(geometry, size_for(geometry.output(), shorter));
  }

 private:
  static ImageSize size_for(ImageSize in, std::int64_t shorter) {
    const auto [low, high] = std::minmax(in.width, in.height);
    const std::int64_t longer = shorter * high / low;
    if (longer > side_max) {
      throw BadSample(
          text("an image of {} pixels with its shorter side resized to {} would be longer than {}. "
               "Crop it first.",
               words(in), shorter, side_max));
    }
    const auto narrow = static_cast<std::int32_t>(shorter);
    const auto wide = static_cast<std::int32_t>(longer);
    return in.width <= in.height ? ImageSize{narrow, wide} : ImageSize{wide, narrow};
  }

  std::int64_t min_size_ = 0;
  std::int64_t max_size_ = 0;
};

class RandomShortSideStage final : public ResizingStage<RandomShortSideStage> {
 public:
  static constexpr std::string_view stage_name = "random_short_side";
  static void rows(auto& self, auto& table) {
    table("min_size", self.sides_, Wholes{1, side_max}, {.missing = sides_text});
    table("max_size", self.max_size_, Whole{1, side_max});
    table("p", self.p_, probability);
    Resizing::rows(self.resizing_, table);
  }
  void settle(StageParameters& given) {
    if (sides_.empty()) given.refuse("min_size", text("is missing: {}", sides_text));
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(p_) || (p_ > 0 && sides_.size() > 1);
  }
  void place(Geometry& geometry, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const ImageSize in = geometry.output();
    const std::int64_t side = sides_[context.draws().below(sides_.size())];
    context.note("short_side", static_cast<double>(side));
    resizing_.apply(geometry, size_for(in, side));
  }
  [[nodiscard]] std::vector<ImageSize> extremes(ImageSize in) const override {
    std::vector<ImageSize> sizes;
    if (p_ < 1) sizes.push_back(in);
    if (p_ == 0) return sizes;
    const auto [least, most] = std::minmax_element(sides_.begin(), sides_.end());
    sizes.push_back(size_for(in, *least));
    sizes.push_back(size_for(in, *most));
    return sizes;
  }

 private:
  [[nodiscard]] ImageSize size_for(ImageSize in, std::int64_t side) const {
    double factor = static_cast<double>(side) / std::min(in.width, in.height);
    if (max_size_) {
      factor = std::min(factor, static_cast<double>(*max_size_) / std::max(in.width, in.height));
    }
    return scaled(in, factor, name());
  }

  static constexpr const char* sides_text = "the shorter side, or a list of some to draw from";
  std::vector<std::int64_t> sides_;
  std::optional<std::int64_t> max_size_;
  double p_ = 1;
};

class ScaleJitterStage final : public ResizingStage<ScaleJitterStage> {
 public:
  static constexpr std::string_view stage_name = "scale_jitter";
  static void rows(auto& self, auto& table) {
    table("target_size", self.target_, Sides(), {.missing = Sides::text});
    table("scale_range", self.range_, Between{1e-3, 1000});
    table("p", self.p_, probability);
    Resizing::rows(self.resizing_, table);
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(p_) || (p_ > 0 && range_.low < range_.high);
  }
  void place(Geometry& geometry, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const ImageSize in = geometry.output();
    const double scale = draw_between(range_, context.draws());
    context.note("jitter_scale", scale);
    resizing_.apply(geometry, size_for(in, scale));
  }
  [[nodiscard]] std::vector<ImageSize> extremes(ImageSize in) const override {
    std::vector<ImageSize> sizes;
    if (p_ < 1) sizes.push_back(in);
    if (p_ == 0) return sizes;
    sizes.push_back(size_for(in, range_.low));
    sizes.push_back(size_for(in, range_.high));
    return sizes;
  }

 private:
  [[nodiscard]] ImageSize size_for(ImageSize in, double scale) const {
    // torchvision's formula, which divides the target's width by the image's height.
    const double fit = std::min(static_cast<double>(target_.width) / in.height,
                                static_cast<double>(target_.height) / in.width);
    const float factor = static_cast<float>(fit) * static_cast<float>(scale);
    return scaled(in, factor, name());
  }

  ImageSize target_;
  Range range_{0.1, 2};
  double p_ = 1;
};

class ResizedCropStage final : public ResizingStage<ResizedCropStage> {
 public:
  static constexpr std::string_view stage_name = "resized_crop";
  static void rows(auto& self, auto& table) {
    table("top", self.box_.y, Whole{0, side_max}, {.missing = some_pixels});
    table("left", self.box_.x, Whole{0, side_max}, {.missing = some_pixels});
    table("height", self.box_.height, Whole{1, side_max}, {.missing = some_pixels});
    table("width", self.box_.width, Whole{1, side_max}, {.missing = some_pixels});
    table("size", self.size_, Sides(), {.missing = Sides::text});
    Resizing::rows(self.resizing_, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .resizes = true};
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (in && !fits(*in)) throw InvalidArgument(why_not(*in));
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const ImageSize in = geometry.output();
    if (!fits(in)) throw BadSample(why_not(in));
    context.note_crop(box_);
    geometry.crop(box_);
    resizing_.apply(geometry, size_);
  }

 private:
  [[nodiscard]] bool fits(ImageSize in) const noexcept {
    return box_.x + box_.width <= in.width && box_.y + box_.height <= in.height;
  }
  [[nodiscard]] std::string why_not(ImageSize in) const {
    return text("the image has {} pixels, and the crop reaches to {}. Pad it first, or crop less.",
                words(in), words({box_.x + box_.width, box_.y + box_.height}));
  }

  Box box_;
  ImageSize size_;
};

}  // namespace

void add_scaling(StandardStages& stages) {
  stages.add<RandomResizeStage>();
  stages.add<RandomShortSideStage>();
  stages.add<ScaleJitterStage>();
  stages.add<ResizedCropStage>();
}

}  // namespace batchcast::inline v0_1::detail

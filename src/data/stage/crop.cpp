// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/crop_box.hpp"
#include "data/stage/padding.hpp"
#include "data/stage/resizing.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

class RandomResizedCropStage final : public ResizingStage<RandomResizedCropStage> {
 public:
  static constexpr std::string_view stage_name = "random_resized_crop";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
    BoxRange::rows(self.range_, table);
    Resizing::rows(self.resizing_, table);
  }
  void settle(StageParameters& /*given*/) { range_.settle(); }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .resizes = true};
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const Box box = draw_crop_box(geometry.output(), range_, context.draws());
    context.note_crop(box);
    geometry.crop(box);
    resizing_.apply(geometry, size_);
  }

 private:
  ImageSize size_;
  BoxRange range_{{0.08, 1.0}, {3.0 / 4.0, 4.0 / 3.0}};
};

class CenterCropStage final : public TableStage<CenterCropStage, GeometryStage> {
 public:
  static constexpr std::string_view stage_name = "center_crop";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
    // Recipes that are older than the parameter keep their identity.
    table("padding_mode", self.mode_, Choice{padding_mode_names},
          {.printed = self.mode_ != PaddingMode::constant});
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .pads = true};
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const ImageSize in = geometry.output();
    const std::int32_t extra_x = std::max(size_.width - in.width, 0);
    const std::int32_t extra_y = std::max(size_.height - in.height, 0);
    geometry.pad(extra_x / 2, extra_y / 2, (extra_x + 1) / 2, (extra_y + 1) / 2, mode_, 0);
    const ImageSize padded = geometry.output();
    const std::int32_t x = offset(padded.width, size_.width);
    const std::int32_t y = offset(padded.height, size_.height);
    context.note_crop({x - extra_x / 2, y - extra_y / 2, size_.width, size_.height});
    geometry.crop({x, y, size_.width, size_.height});
  }

 private:
  static std::int32_t offset(std::int32_t outer, std::int32_t inner) {
    return static_cast<std::int32_t>(round_half_even((outer - inner) / 2.0));
  }
  ImageSize size_;
  PaddingMode mode_ = PaddingMode::constant;
};

class RandomCropStage final : public TableStage<RandomCropStage, GeometryStage> {
 public:
  static constexpr std::string_view stage_name = "random_crop";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
    Padding::rows(self.padding_, table);
    table("pad_if_needed", self.pad_if_needed_, Flag());
  }
  void settle(StageParameters& given) {
    const PaddingMode mode = padding_.mode;
    if (pad_if_needed_ && !padding_.empty() &&
        (mode == PaddingMode::reflect || mode == PaddingMode::symmetric)) {
      given.refuse("pad_if_needed", "and `padding` cannot both mirror the image: give one");
    }
  }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.crops = true, .pads = pad_if_needed_ || !padding_.empty()};
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (in && !fits(*in)) throw InvalidArgument(why_not(*in));
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const ImageSize in = geometry.output();
    if (!fits(in)) throw BadSample(why_not(in));
    const Borders& by = padding_.by;
    const ImageSize missing = missing_of(*padding_.around(in));
    geometry.pad(by.left + missing.width, by.top + missing.height, by.right + missing.width,
                 by.bottom + missing.height, padding_.mode, padding_.fill);
    // The `mask_fill` of an earlier `pad` stays where this stage pads nothing.
    if (traits().pads) geometry.mask_fill = padding_.mask_fill;
    const ImageSize outer = geometry.output();
    const auto y =
        context.draws().below(static_cast<std::uint64_t>(outer.height - size_.height) + 1);
    const auto x = context.draws().below(static_cast<std::uint64_t>(outer.width - size_.width) + 1);
    const Box box{static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), size_.width,
                  size_.height};
    context.note_crop(
        {box.x - by.left - missing.width, box.y - by.top - missing.height, box.width, box.height});
    geometry.crop(box);
  }

 private:
  // What pad_if_needed adds to the `padded` size, on both sides alike as torchvision does.
  [[nodiscard]] ImageSize missing_of(ImageSize padded) const noexcept {
    if (!pad_if_needed_) return {};
    return {std::max(size_.width - padded.width, 0), std::max(size_.height - padded.height, 0)};
  }
  [[nodiscard]] bool fits(ImageSize in) const noexcept {
    const auto padded = padding_.around(in);
    if (!padded || pad_if_needed_) return padded.has_value();
    return padded->width >= size_.width && padded->height >= size_.height;
  }
  [[nodiscard]] std::string why_not(ImageSize in) const {
    const auto padded = padding_.around(in);
    if (!padded) return why_too_padded(in, name());
    return text(
        "the image has {} pixels, with padding {}, and a crop takes {}. Resize it first, pad more, "
        "or set `pad_if_needed`.",
        words(in), words(*padded), words(size_));
  }

  ImageSize size_;
  Padding padding_;
  bool pad_if_needed_ = false;
};

/// The corners and the centre, as torchvision's FiveCrop.
template <class Self>
class SeveralCropsStage : public TableStage<Self, GeometryStage> {
 public:
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
  }
  [[nodiscard]] bool is_random() const noexcept final { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept final { return {.crops = true}; }
  [[nodiscard]] std::int32_t count() const noexcept override { return places; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const final {
    if (in && !fits(*in)) throw InvalidArgument(why_too_small(*in));
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    if (!fits(geometry.output())) throw BadSample(why_too_small(geometry.output()));
    const std::int32_t place = context.part() % places;
    const std::int32_t right = geometry.output().width - size_.width;
    const std::int32_t below = geometry.output().height - size_.height;
    const bool is_centre = place == places - 1;
    const std::int32_t x = is_centre ? half(right) : place % 2 == 0 ? 0 : right;
    const std::int32_t y = is_centre ? half(below) : place < 2 ? 0 : below;
    context.note_crop({x, y, size_.width, size_.height});
    geometry.crop({x, y, size_.width, size_.height});
  }

 protected:
  static constexpr std::int32_t places = 5;
  ImageSize size_;

 private:
  static std::int32_t half(std::int32_t extra) noexcept {
    return static_cast<std::int32_t>(round_half_even(extra / 2.0));
  }
  [[nodiscard]] bool fits(ImageSize in) const noexcept {
    return in.width >= size_.width && in.height >= size_.height;
  }
  [[nodiscard]] std::string why_too_small(ImageSize in) const {
    return text("an image of {} pixels is smaller than its crops of {}. Resize it first", words(in),
                words(size_));
  }
};

class FiveCropStage final : public SeveralCropsStage<FiveCropStage> {
 public:
  static constexpr std::string_view stage_name = "five_crop";
};

/// FiveCrop's, and those of the mirrored image.
class TenCropStage final : public SeveralCropsStage<TenCropStage> {
 public:
  static constexpr std::string_view stage_name = "ten_crop";
  static void rows(auto& self, auto& table) {
    SeveralCropsStage::rows(self, table);
    table("vertical_flip", self.vertical_flip_, Flag());
  }
  [[nodiscard]] std::int32_t count() const noexcept override { return 2 * places; }
  void place(Geometry& geometry, StageContext& context) const override {
    if (context.part() >= places) {
      if (vertical_flip_) {
        geometry.flip_vertically();
      } else {
        geometry.flip_horizontally();
      }
    }
    SeveralCropsStage::place(geometry, context);
  }

 private:
  bool vertical_flip_ = false;
};

}  // namespace

void add_crops(StandardStages& stages) {
  stages.add<RandomResizedCropStage>();
  stages.add<RandomCropStage>();
  stages.add<CenterCropStage>();
  stages.add<FiveCropStage>();
  stages.add<TenCropStage>();
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/padding.hpp"
#include "data/stage/resizing.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>

// Images of any shape in one size, as detectors take them: all of the image, and padding.
namespace batchcast::inline v0_1::detail {
namespace {

/// What pads an image to a size: how, and whether on all sides.
struct Surround {
  bool center = false;
  Padding padding;

  /// Pads what came out so far to that size, where it is smaller.
  void apply(Geometry& geometry, ImageSize size) const noexcept {
    const ImageSize in = geometry.output();
    const std::int32_t across = std::max(size.width - in.width, 0);
    const std::int32_t down = std::max(size.height - in.height, 0);
    if (across == 0 && down == 0) return;
    const std::int32_t left = center ? across / 2 : 0;
    const std::int32_t top = center ? down / 2 : 0;
    geometry.pad(left, top, across - left, down - top, padding.mode, padding.fill);
    geometry.mask_fill = padding.mask_fill;
  }
};

/// Ultralytics' LetterBox: the image is scaled to fit, and what is left of the size is filled.
class LetterboxStage final : public ResizingStage<LetterboxStage> {
 public:
  LetterboxStage() { around_.center = true; }
  static constexpr std::string_view stage_name = "letterbox";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
    table("center", self.around_.center, Flag());
    table("scaleup", self.scaleup_, Flag());
    table("fill", self.fill_, level);
    table("mask_fill", self.around_.padding.mask_fill, level);
    Resizing::rows(self.resizing_, table);
  }
  // 114 is Ultralytics' gray, and no id.
  void settle(StageParameters& /*given*/) {
    if (!fill_ && !around_.padding.mask_fill) around_.padding.mask_fill = 0;
    fill_ = fill_.value_or(std::uint8_t{114});
    around_.padding.fill = *fill_;
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override {
    return {.resizes = true, .pads = true};
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return size_;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    resizing_.apply(geometry, size_for(geometry.output()));
    around_.apply(geometry, size_);
  }

 private:
  // As Python's round(), which Ultralytics takes of the same doubles.
  [[nodiscard]] ImageSize size_for(ImageSize in) const noexcept {
    double factor = std::min(static_cast<double>(size_.height) / in.height,
                             static_cast<double>(size_.width) / in.width);
    if (!scaleup_) factor = std::min(factor, 1.0);
    const auto side = [factor](std::int32_t from, std::int32_t most) {
      return std::clamp(static_cast<std::int32_t>(round_half_even(from * factor)), 1, most);
    };
    return {side(in.width, size_.width), side(in.height, size_.height)};
  }

  ImageSize size_;
  bool scaleup_ = true;
  std::optional<std::uint8_t> fill_;
  Surround around_;
};

/// torchvision's references pad segmentation images so: a side that is too short grows, right and
/// below.
class PadIfSmallerStage final : public TableStage<PadIfSmallerStage, GeometryStage> {
 public:
  static constexpr std::string_view stage_name = "pad_if_smaller";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
    table("center", self.around_.center, Flag());
    table("fill", self.around_.padding.fill, level);
    table("mask_fill", self.around_.padding.mask_fill, level);
    table("padding_mode", self.around_.padding.mode, Choice{padding_mode_names});
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.pads = true}; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (!in) return std::nullopt;
    return ImageSize{std::max(in->width, size_.width), std::max(in->height, size_.height)};
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    around_.apply(geometry, size_);
  }

 private:
  ImageSize size_;
  Surround around_;
};

}  // namespace

void add_letterbox(StandardStages& stages) {
  stages.add<LetterboxStage>();
  stages.add<PadIfSmallerStage>();
}

}  // namespace batchcast::inline v0_1::detail

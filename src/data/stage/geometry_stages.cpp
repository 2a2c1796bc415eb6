// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/padding.hpp"
#include "data/stage/resizing.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {
namespace {

/// One number for the shorter side, or [height, width].
struct Target {
  std::optional<ImageSize> exact;
  std::int64_t shorter = 0;
};

struct TargetOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Target& value) const {
    std::vector<std::int64_t> sides;
    if (!Wholes{1, side_max}.read(given, key, sides)) return false;
    if (sides.size() == 1) {
      value.shorter = sides.front();
      return true;
    }
    value.exact.emplace();
    return Sides().read(given, key, *value.exact);
  }
  [[nodiscard]] nlohmann::json write(const Target& value) const {
    return value.exact ? Sides().write(*value.exact) : nlohmann::json(value.shorter);
  }
};

/// Resizes to one size, or the shorter side to a length, keeping the ratio.
class ResizeStage final : public ResizingStage<ResizeStage> {
 public:
  static constexpr std::string_view stage_name = "resize";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, TargetOf(), {.missing = Sides::text});
    table("max_size", self.max_size_, Whole{1, side_max});
    Resizing::rows(self.resizing_, table);
  }
  void settle(StageParameters& given) {
    if (!max_size_) return;
    if (size_.exact) given.refuse("max_size", "is for a `size` of one number only");
    if (*max_size_ > size_.shorter) return;
    given.refuse("max_size",
                 text("must be above `size`, which is {}, not {}", size_.shorter, *max_size_));
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (size_.exact) return size_.exact;
    if (!in) return std::nullopt;
    const auto size = size_for(*in);
    if (!size) throw InvalidArgument(why_too_long(*in));
    return size;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    const auto size = size_for(geometry.output());
    if (!size) throw BadSample(why_too_long(geometry.output()));
    resizing_.apply(geometry, *size);
  }

 private:
  [[nodiscard]] std::optional<ImageSize> size_for(ImageSize in) const noexcept {
    if (size_.exact) return size_.exact;
    const bool upright = in.width <= in.height;
    const std::int64_t in_short = upright ? in.width : in.height;
    const std::int64_t in_long = upright ? in.height : in.width;
    // torchvision divides as floats and cuts off; below 2^53 dividing integers gives the same.
    std::int64_t new_short = size_.shorter;
    std::int64_t new_long = size_.shorter * in_long / in_short;
    if (max_size_ && new_long > *max_size_) {
      new_short = std::max<std::int64_t>(*max_size_ * new_short / new_long, 1);
      new_long = *max_size_;
    }
    if (new_long > side_max) return std::nullopt;
    const auto narrow = static_cast<std::int32_t>(new_short);
    const auto wide = static_cast<std::int32_t>(new_long);
    return upright ? ImageSize{narrow, wide} : ImageSize{wide, narrow};
  }
  [[nodiscard]] std::string why_too_long(ImageSize in) const {
    return text(
        "an image of {} pixels with its shorter side resized to {} would be longer than {}. Give "
        "resize a `max_size`.",
        words(in), size_.shorter, side_max);
  }

  Target size_;
  std::optional<std::int64_t> max_size_;
};

class PadStage final : public TableStage<PadStage, GeometryStage> {
 public:
  static constexpr std::string_view stage_name = "pad";
  static void rows(auto& self, auto& table) {
    Padding::rows(self.padding_, table, {.missing = BordersOf::text});
  }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.pads = true}; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (!in) return std::nullopt;
    const auto out = padding_.around(*in);
    if (!out) throw InvalidArgument(why_too_padded(*in, name()));
    return out;
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    const ImageSize in = geometry.output();
    if (!padding_.around(in)) throw BadSample(why_too_padded(in, name()));
    const Borders& by = padding_.by;
    geometry.pad(by.left, by.top, by.right, by.bottom, padding_.mode, padding_.fill);
    geometry.mask_fill = padding_.mask_fill;
  }

 private:
  Padding padding_;
};

enum class Axis : std::uint8_t { horizontal, vertical };

template <Axis axis>
class FlipStage final : public TableStage<FlipStage<axis>, GeometryStage> {
 public:
  static constexpr std::string_view stage_name =
      axis == Axis::horizontal ? "horizontal_flip" : "vertical_flip";
  static void rows(auto& self, auto& table) { table("p", self.p_, probability); }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {}; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    return in;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const bool flips = context.draws().unit_f64() < p_;
    context.note(axis == Axis::horizontal ? "flip" : "vertical_flip", flips ? 1 : 0);
    if (!flips) return;
    if (axis == Axis::horizontal) {
      geometry.flip_horizontally();
    } else {
      geometry.flip_vertically();
    }
  }

 private:
  double p_ = 0.5;
};

}  // namespace

void add_geometry(StandardStages& stages) {
  stages.add<ResizeStage>();
  stages.add<PadStage>();
  stages.add<FlipStage<Axis::horizontal>>();
  stages.add<FlipStage<Axis::vertical>>();
}

bool is_horizontal_flip(const Stage& stage) noexcept {
  return dynamic_cast<const FlipStage<Axis::horizontal>*>(&stage) != nullptr;
}

}  // namespace batchcast::inline v0_1::detail

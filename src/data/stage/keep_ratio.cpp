// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/resizing.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace batchcast::inline v0_1::detail {
namespace {

/// timm's ResizeKeepRatio: the target fits into the new size, or the new size into the target. A
/// scale and a change of the ratio are drawn.
class ResizeKeepRatioStage final : public ResizingStage<ResizeKeepRatioStage> {
 public:
  static constexpr std::string_view stage_name = "resize_keep_ratio";
  static void rows(auto& self, auto& table) {
    table("size", self.size_, Sides(), {.missing = Sides::text});
    table("longest", self.longest_, probability);
    table("scale", self.scale_, Between{1e-3, 1000});
    table("scale_p", self.scale_p_, probability);
    table("ratio", self.ratio_, Between{1e-3, 1000});
    table("ratio_p", self.ratio_p_, probability);
    Resizing::rows(self.resizing_, table);
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return varies(scale_, scale_p_) || varies(ratio_, ratio_p_);
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const ImageSize in = geometry.output();
    const auto [height_factor, width_factor] = draw_factors(context);
    const double down = static_cast<double>(in.height) / size_.height;
    const double across = static_cast<double>(in.width) / size_.width;
    const double ratio =
        std::max(down, across) * longest_ + std::min(down, across) * (1.0 - longest_);
    const double height = in.height * height_factor / ratio;
    const double width = in.width * width_factor / ratio;
    if (!(width <= static_cast<double>(side_max) && height <= static_cast<double>(side_max))) {
      throw BadSample(
          text("an image of {} pixels would be longer than {} after {}. Crop it first, or scale it "
               "by less.",
               words(in), side_max, name()));
    }
    const auto side = [](double length) {
      return std::max(static_cast<std::int32_t>(round_half_even(length)), 1);
    };
    resizing_.apply(geometry, {side(width), side(height)});
  }

 private:
  static bool varies(const Range& range, double p) noexcept {
    return is_open(p) ? range != Range{1, 1} : p > 0 && range.low < range.high;
  }

  /// Of height and width.
  [[nodiscard]] std::array<double, 2> draw_factors(StageContext& context) const {
    std::array<double, 2> factors = {1, 1};
    if (happens(scale_p_, context)) {
      // A share of the area, as of a crop: less of it is shown larger.
      const double area = draw_between(scale_, context.draws());
      context.note("keep_scale", area);
      factors.fill(1 / std::sqrt(area));
    }
    if (!happens(ratio_p_, context)) return factors;
    const Range logarithms = {portable_log(ratio_.low), portable_log(ratio_.high)};
    const double ratio = portable_exp(draw_between(logarithms, context.draws()));
    context.note("keep_ratio", ratio);
    const double root = std::sqrt(ratio);
    return {factors[0] / root, factors[1] * root};
  }

  ImageSize size_;
  double longest_ = 0;
  Range scale_{0.8, 1};
  double scale_p_ = 0.5;
  Range ratio_{0.9, 1 / 0.9};
  double ratio_p_ = 0.5;
};

}  // namespace

void add_keep_ratio(StandardStages& stages) { stages.add<ResizeKeepRatioStage>(); }

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/geometry.hpp>
#include <batchcast/data/random.hpp>

#include "data/stage/parameter_table.hpp"

#include <optional>

// Boxes of random area and aspect ratio, distributed as torchvision draws them.
namespace batchcast::inline v0_1::detail {

/// Which boxes: their share of the image's area, and width / height.
class BoxRange {
 public:
  BoxRange(Range scale, Range ratio) noexcept;
  static void rows(auto& self, auto& table) {
    table("scale", self.scale_, Between{0, 1});
    table("ratio", self.ratio_, Between{1e-6, 1e6});
  }
  /// Call it after `rows` has changed the members.
  void settle() noexcept { *this = BoxRange(scale_, ratio_); }
  [[nodiscard]] const Range& ratio() const noexcept { return ratio_; }

  /// Sides of one try, to the nearest whole number; they may exceed any image. The area is uniform,
  /// and so is the logarithm of the ratio.
  struct Sides {
    double width = 0;
    double height = 0;
  };
  [[nodiscard]] Sides draw(double area, Draws& draws) const noexcept;

 private:
  Range scale_;
  Range ratio_;
  Range log_ratio_;
};

inline constexpr int box_tries = 10;

/// As RandomResizedCrop.get_params: the first of ten tries that fits, at a uniform place. If none
/// fits, the centre, as large as the range of ratios permits.
[[nodiscard]] Box draw_crop_box(ImageSize image, const BoxRange& range, Draws& draws) noexcept;

/// As RandomErasing.get_params, where the ratio is height / width: nothing if no try of ten fits.
/// `count` boxes share the area.
[[nodiscard]] std::optional<Box> draw_erase_box(ImageSize image, const BoxRange& range,
                                                Draws& draws, double count = 1) noexcept;

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

#include <array>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::array<std::string_view, 2>, 4> corner_names = {
    {{"top_left_x", "top_left_y"},
     {"top_right_x", "top_right_y"},
     {"bottom_right_x", "bottom_right_y"},
     {"bottom_left_x", "bottom_left_y"}}};

class RandomPerspectiveStage final : public StandardWarp {
 public:
  RandomPerspectiveStage(double distortion_scale, WarpParameters warp)
      : StandardWarp(std::move(warp)), distortion_scale_(distortion_scale) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_perspective"; }
  [[nodiscard]] bool is_random() const noexcept override { return warp().p > 0; }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"distortion_scale", distortion_scale_}};
    warp().add_to(object);
    return object.dump();
  }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    const bool applies = happens(warp().p, context);
    context.note("perspective", applies ? 1 : 0);
    if (!applies) return false;
    const Corners corners = draw_corners(in.size, context.draws());
    for (std::size_t i = 0; i < corners.size(); ++i) {
      for (std::size_t k = 0; k < 2; ++k) context.note(corner_names[i][k], corners[i][k]);
    }
    const auto matrix = perspective_matrix(in.size, corners);
    if (!matrix) return false;  // an image of a pixel's width has no corners to move
    warp_perspective(in, out, *matrix, warp().options(is_mask));
    return true;
  }

 private:
  // Each lies within a share of the half image from its own.
  [[nodiscard]] Corners draw_corners(ImageSize size, Draws& draws) const {
    const auto reach = [&](std::int32_t side) {
      return static_cast<std::int32_t>(distortion_scale_ * (side / 2)) + 1;
    };
    const auto below = [&](std::int32_t n) {
      return static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(n)));
    };
    Corners corners{};
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const bool is_right = i == 1 || i == 2;
      const bool is_low = i >= 2;
      const std::int32_t x = reach(size.width);
      const std::int32_t y = reach(size.height);
      corners[i][0] = (is_right ? size.width - x : 0) + below(x);
      corners[i][1] = (is_low ? size.height - y : 0) + below(y);
    }
    return corners;
  }

  double distortion_scale_;
};

}  // namespace

StagePointer make_random_perspective(StageParameters& parameters) {
  const double scale = number_in(parameters, "distortion_scale", 0.5, {0, 1});
  return std::make_shared<RandomPerspectiveStage>(
      scale, warp_parameters(parameters, Interpolation::bilinear, 0.5));
}

}  // namespace batchcast::inline v0_1::detail

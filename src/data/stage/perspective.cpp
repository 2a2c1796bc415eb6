// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

#include <array>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<std::array<std::string_view, 2>, 4> corner_names = {
    {{"top_left_x", "top_left_y"},
     {"top_right_x", "top_right_y"},
     {"bottom_right_x", "bottom_right_y"},
     {"bottom_left_x", "bottom_left_y"}}};

class RandomPerspectiveStage final : public StandardWarp<RandomPerspectiveStage> {
 public:
  RandomPerspectiveStage() {
    otherwise_ = Interpolation::bilinear;
    p_ = 0.5;
  }
  static constexpr std::string_view stage_name = "random_perspective";
  static void rows(auto& self, auto& table) {
    table("distortion_scale", self.distortion_scale_, Number{0, 1});
    warp_rows(self, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    const bool applies = happens(p_, context);
    context.note("perspective", applies ? 1 : 0);
    if (!applies) return false;
    const Corners corners = draw_corners(in.size, context.draws());
    for (std::size_t i = 0; i < corners.size(); ++i) {
      for (std::size_t k = 0; k < 2; ++k) context.note(corner_names[i][k], corners[i][k]);
    }
    const auto matrix = perspective_matrix(in.size, corners);
    if (!matrix) return false;  // the corners of an image one pixel wide cannot move
    warp_perspective(in, out, *matrix, options(is_mask));
    return true;
  }

 private:
  // Each lies within a share of half the image from its place.
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

  double distortion_scale_ = 0.5;
};

}  // namespace

void add_perspective(StandardStages& stages) { stages.add<RandomPerspectiveStage>(); }

}  // namespace batchcast::inline v0_1::detail

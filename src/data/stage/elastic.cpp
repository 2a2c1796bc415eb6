// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/offset_warp.hpp"

#include "data/pixels/gaussian_blur.hpp"
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <optional>

namespace batchcast::inline v0_1::detail {
namespace {

/// One number within bounds, or [x, y].
struct OneOrPair {
  double low;
  double high;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Point& value) const {
    const auto numbers = given.numbers(key);
    if (!numbers) return false;
    if (numbers->empty() || numbers->size() > 2) {
      given.refuse(key, text("must be one number or [x, y], not a list of {}", numbers->size()));
    }
    for (const double number : *numbers) {
      if (number >= low && number <= high) continue;
      given.refuse(
          key, text("must be from {} to {}, not {}", text_of(low), text_of(high), text_of(number)));
    }
    value = {numbers->front(), numbers->back()};
    return true;
  }
  [[nodiscard]] nlohmann::json write(const Point& value) const { return value; }
};

class ElasticStage final : public StandardWarp<ElasticStage> {
 public:
  ElasticStage() { otherwise_ = Interpolation::bilinear; }
  static constexpr std::string_view stage_name = "elastic";
  static void rows(auto& self, auto& table) {
    table("alpha", self.alpha_, OneOrPair{0, 1e6});
    table("sigma", self.sigma_, OneOrPair{0, 31});
    warp_rows(self, table, warp_interpolation_names.first(2));
  }
  void settle(StageParameters& given) {
    const auto [x, y] = sigma_;
    if ((x == 0) != (y == 0) || (x > 0 && std::min(x, y) < 0.01)) {
      given.refuse("sigma", "must be 0 for no blur at all, or at least 0.01 along both axes");
    }
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size,
                                          std::int32_t /*channels*/) const override {
    // 0 for an image that run() refuses: for a wide and low one it would be gigabytes.
    if (refused_axis(size)) return 0;
    std::size_t bytes = 0;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      bytes = std::max(bytes, blur_scratch_bytes(size, 1, blur_of(axis)));
    }
    return 2 * plane_bytes(size) + bytes;
  }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    const bool applies = happens(p_, context);
    context.note("elastic", applies ? 1 : 0);
    if (!applies) return false;
    if (const auto axis = refused_axis(in.size)) {
      throw BadSample(why_too_small(in.size, blur_of(*axis)));
    }
    const std::size_t bytes = plane_bytes(in.size);
    const std::span<std::byte> scratch = context.scratch();
    auto* x = reinterpret_cast<float*>(scratch.data());
    auto* y = reinterpret_cast<float*>(scratch.data() + bytes);
    draw_offsets(0, in.size, x, scratch.subspan(2 * bytes), context.draws());
    draw_offsets(1, in.size, y, scratch.subspan(2 * bytes), context.draws());
    warp_by_offsets(in, out, {x, y}, options(is_mask));
    return true;
  }

 private:
  static std::size_t pixel_count(ImageSize size) noexcept {
    return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  }
  static std::size_t plane_bytes(ImageSize size) noexcept {
    return (pixel_count(size) * sizeof(float) + 63) / 64 * 64;
  }

  // The kernel for an axis's offsets is square, and its weights fall off by both axes' sigmas.
  [[nodiscard]] Blur blur_of(std::size_t axis) const noexcept {
    const auto kernel = static_cast<std::int32_t>(8 * sigma_[axis] + 1) | 1;
    return {{kernel, sigma_[0]}, {kernel, sigma_[1]}};
  }

  /// The axis whose offsets cannot be blurred.
  [[nodiscard]] std::optional<std::size_t> refused_axis(ImageSize size) const noexcept {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (!can_blur(size, blur_of(axis))) return axis;
    }
    return std::nullopt;
  }

  // Offsets in pixels. torchvision counts them in shares of half the side, and `alpha` in pixels.
  void draw_offsets(std::size_t axis, ImageSize size, float* offsets, std::span<std::byte> scratch,
                    Draws& draws) const {
    const std::size_t count = pixel_count(size);
    for (std::size_t i = 0; i < count; ++i) offsets[i] = draws.unit_f32() * 2 - 1;
    if (sigma_[axis] > 0) gaussian_blur(offsets, size, blur_of(axis), scratch);
    const auto scale = static_cast<float>(alpha_[axis] / 2);
    for (std::size_t i = 0; i < count; ++i) offsets[i] *= scale;
  }

  static std::string why_too_small(ImageSize size, const Blur& blur) {
    return text(
        "an image of {} pixels is too small for elastic's blur with a kernel of {} (8 times its "
        "sigma), half of which must be less than a side. Resize it first, or take a smaller "
        "`sigma`.",
        words(size), blur.across.kernel);
  }

  Point alpha_{50, 50};
  Point sigma_{5, 5};
};

}  // namespace

void add_elastic(StandardStages& stages) { stages.add<ElasticStage>(); }

}  // namespace batchcast::inline v0_1::detail

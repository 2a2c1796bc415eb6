// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/box_blur.hpp"
#include "data/pixels/gaussian_blur.hpp"

#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

/// An odd number of pixels, or [across, down].
struct KernelOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, ImageSize& value) const {
    std::vector<std::int64_t> sides;
    if (!Wholes{1, blur_kernel_max}.read(given, key, sides)) return false;
    if (sides.empty() || sides.size() > 2) {
      given.refuse(key,
                   text("must be one number or [across, down], not a list of {}", sides.size()));
    }
    for (const std::int64_t side : sides) {
      if (side % 2 != 0) continue;
      given.refuse(key,
                   text("must be odd, so that it has a middle, not {}: take {}", side, side + 1));
    }
    value = {static_cast<std::int32_t>(sides.front()), static_cast<std::int32_t>(sides.back())};
    return true;
  }
  [[nodiscard]] nlohmann::json write(ImageSize value) const {
    return nlohmann::json::array({value.width, value.height});
  }
};

/// [min, max], or one number for both.
struct SigmaOf {
  double low = 1e-3;
  double high = 1000;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Range& value) const {
    const Between bounds{low, high};
    const auto numbers = given.numbers(key);
    if (!numbers || numbers->size() != 1) return bounds.read(given, key, value);
    const double sigma = numbers->front();
    if (!(sigma >= bounds.low && sigma <= bounds.high)) {
      given.refuse(
          key, text("must be from {} to {}, not {}", text_of(low), text_of(high), text_of(sigma)));
    }
    value = {sigma, sigma};
    return true;
  }
  [[nodiscard]] nlohmann::json write(const Range& value) const { return list_of(value); }
};

class GaussianBlurStage final : public TableStage<GaussianBlurStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "gaussian_blur";
  static void rows(auto& self, auto& table) {
    table("kernel_size", self.kernel_, KernelOf(),
          {.missing = "an odd number of pixels, or [across, down]"});
    table("sigma", self.sigma_, SigmaOf());
    table("p", self.p_, probability);
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(p_) || (p_ > 0 && sigma_.low < sigma_.high);
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    // 0 for an image that run() refuses: for a wide and low one it would be gigabytes.
    return can_blur(size, blur_of(1)) ? blur_scratch_bytes(size, channels, blur_of(1)) : 0;
  }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const double sigma = draw_between(sigma_, context.draws());
    context.note("blur_sigma", sigma);
    const Blur blur = blur_of(sigma);
    if (!can_blur(image.size, blur)) {
      throw BadSample(
          text("an image of {} pixels is too small for a blur with a kernel of {}, half of which "
               "must be less than a side. Resize it first, or take a smaller `kernel_size`.",
               words(image.size), words(kernel_)));
    }
    gaussian_blur(image, blur, context.scratch());
  }

 private:
  [[nodiscard]] Blur blur_of(double sigma) const noexcept {
    return {{kernel_.width, sigma}, {kernel_.height, sigma}};
  }
  ImageSize kernel_{1, 1};
  Range sigma_{0.1, 2};
  double p_ = 1;
};

class PilGaussianBlurStage final : public TableStage<PilGaussianBlurStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "pil_gaussian_blur";
  static void rows(auto& self, auto& table) {
    table("radius", self.radius_, SigmaOf{0, pil_blur_radius_max});
    table("p", self.p_, probability);
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(p_) || (p_ > 0 && radius_.low < radius_.high);
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return pil_blur_scratch_bytes(size, channels);
  }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const double radius = draw_between(radius_, context.draws());
    context.note("blur_radius", radius);
    pil_gaussian_blur(image, radius, context.scratch());
  }

 private:
  Range radius_{0.1, 2};  // as MoCo, DINO and DeiT III draw it
  double p_ = 1;
};

}  // namespace

void add_blur(StandardStages& stages) {
  stages.add<GaussianBlurStage>();
  stages.add<PilGaussianBlurStage>();
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/gaussian_blur.hpp"

#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

struct BlurParameters {
  std::int32_t across = 1;
  std::int32_t down = 1;
  Range sigma{0.1, 2};
  double p = 1;
};

class GaussianBlurStage final : public PixelStage {
 public:
  explicit GaussianBlurStage(const BlurParameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "gaussian_blur"; }
  [[nodiscard]] bool is_random() const noexcept override {
    return is_open(parameters_.p) ||
           (parameters_.p > 0 && parameters_.sigma.low < parameters_.sigma.high);
  }
  [[nodiscard]] std::string parameters_json() const override {
    return Json({{"kernel_size", {parameters_.across, parameters_.down}},
                 {"sigma", {parameters_.sigma.low, parameters_.sigma.high}},
                 {"p", parameters_.p}})
        .dump();
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    // Nothing for an image that run() refuses: of one that is wide and low it would be gigabytes.
    return can_blur(size, blur_of(1)) ? blur_scratch_bytes(size, channels, blur_of(1)) : 0;
  }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(parameters_.p, context)) return;
    const double sigma = draw_between(parameters_.sigma, context.draws());
    context.note("blur_sigma", sigma);
    const Blur blur = blur_of(sigma);
    if (!can_blur(image.size, blur)) {
      throw BadSample("an image of " + std::to_string(image.size.width) + "x" +
                      std::to_string(image.size.height) +
                      " pixels is too small for a blur with a kernel of " +
                      std::to_string(parameters_.across) + "x" + std::to_string(parameters_.down) +
                      ", half of which must be less than a side. Resize it first, or take a "
                      "smaller `kernel_size`.");
    }
    gaussian_blur(image, blur, context.scratch());
  }

 private:
  [[nodiscard]] Blur blur_of(double sigma) const noexcept {
    return {{parameters_.across, sigma}, {parameters_.down, sigma}};
  }
  BlurParameters parameters_;
};

}  // namespace

StagePointer make_gaussian_blur(StageParameters& parameters) {
  const auto sides = integers_in(parameters, "kernel_size", 1, blur_kernel_max);
  if (!sides) {
    parameters.refuse("kernel_size", "is missing: an odd number of pixels, or [across, down]");
  }
  if (sides->empty() || sides->size() > 2) {
    parameters.refuse("kernel_size", "must be one number or [across, down], not a list of " +
                                         std::to_string(sides->size()));
  }
  for (const std::int64_t side : *sides) {
    if (side % 2 == 0) {
      parameters.refuse("kernel_size", "must be odd, so that it has a middle, not " +
                                           std::to_string(side) + ": take " +
                                           std::to_string(side + 1));
    }
  }
  BlurParameters result;
  result.across = static_cast<std::int32_t>(sides->front());
  result.down = static_cast<std::int32_t>(sides->back());
  constexpr Range sigma_bounds{1e-3, 1000};
  const auto sigma = parameters.numbers("sigma");
  if (sigma && sigma->size() == 1) {
    result.sigma = {sigma->front(), sigma->front()};
    if (!(sigma->front() >= sigma_bounds.low && sigma->front() <= sigma_bounds.high)) {
      parameters.refuse("sigma", "must be from 0.001 to 1000, not " + text_of(sigma->front()));
    }
  } else {
    result.sigma = range_in(parameters, "sigma", result.sigma, sigma_bounds);
  }
  result.p = probability(parameters, 1);
  return std::make_shared<GaussianBlurStage>(result);
}

}  // namespace batchcast::inline v0_1::detail

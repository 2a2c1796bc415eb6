// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"
#include "data/stage/channel_order.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

struct PhotometricParameters {
  Range brightness{0.875, 1.125};
  Range contrast{0.5, 1.5};
  Range saturation{0.5, 1.5};
  Range hue{-0.05, 0.05};
  double p = 0.5;
};

class RandomPhotometricDistortStage final : public PixelStage {
 public:
  explicit RandomPhotometricDistortStage(const PhotometricParameters& parameters)
      : parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override {
    return "random_photometric_distort";
  }
  [[nodiscard]] bool is_random() const noexcept override { return parameters_.p > 0; }
  [[nodiscard]] std::string parameters_json() const override {
    const auto list = [](const Range& range) { return Json::array({range.low, range.high}); };
    return Json({{"brightness", list(parameters_.brightness)},
                 {"contrast", list(parameters_.contrast)},
                 {"saturation", list(parameters_.saturation)},
                 {"hue", list(parameters_.hue)},
                 {"p", parameters_.p}})
        .dump();
  }
  void run(const ImageView& image, StageContext& context) const override {
    const auto brightness = draw("brightness", parameters_.brightness, context);
    const auto contrast = draw("contrast", parameters_.contrast, context);
    const auto saturation = draw("saturation", parameters_.saturation, context);
    const auto hue = draw("hue", parameters_.hue, context);
    const bool contrast_first = context.draws().unit_f64() < 0.5;
    context.note("contrast_first", contrast_first ? 1 : 0);
    if (brightness) adjust_brightness(image, *brightness);
    if (contrast && contrast_first) adjust_contrast(image, *contrast);
    if (saturation) adjust_saturation(image, *saturation);
    if (hue) adjust_hue(image, *hue);
    if (contrast && !contrast_first) adjust_contrast(image, *contrast);
    if (!happens(parameters_.p, context)) return;
    const ChannelOrder order = draw_channel_order(context);
    if (image.channels == 3) permute_channels(image, order);
  }

 private:
  [[nodiscard]] std::optional<double> draw(std::string_view key, const Range& range,
                                           StageContext& context) const {
    if (!happens(parameters_.p, context)) return std::nullopt;
    const double factor = draw_between(range, context.draws());
    context.note(key, factor);
    return factor;
  }

  PhotometricParameters parameters_;
};

}  // namespace

StagePointer make_random_photometric_distort(StageParameters& parameters) {
  constexpr Range factors{0, 1000};
  PhotometricParameters result;
  result.brightness = range_in(parameters, "brightness", result.brightness, factors);
  result.contrast = range_in(parameters, "contrast", result.contrast, factors);
  result.saturation = range_in(parameters, "saturation", result.saturation, factors);
  result.hue = range_in(parameters, "hue", result.hue, {-0.5, 0.5});
  result.p = probability(parameters, result.p);
  return std::make_shared<RandomPhotometricDistortStage>(result);
}

}  // namespace batchcast::inline v0_1::detail

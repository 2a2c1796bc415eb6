// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/color_adjust.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

struct Adjustment {
  std::string_view key;
  void (*adjust)(const ImageView&, double) noexcept;
  double neutral;
  Range bounds;
};

// Larger factors than this leave only black and white.
constexpr Range factor_bounds{0, 1000};

constexpr std::array<Adjustment, 4> adjustments = {{
    {"brightness", adjust_brightness, 1, factor_bounds},
    {"contrast", adjust_contrast, 1, factor_bounds},
    {"saturation", adjust_saturation, 1, factor_bounds},
    {"hue", adjust_hue, 0, {-0.5, 0.5}},
}};

using JitterRanges = std::array<Range, adjustments.size()>;

class ColorJitterStage final : public PixelStage {
 public:
  ColorJitterStage(const JitterRanges& ranges, double p) : ranges_(ranges), p_(p) {}
  [[nodiscard]] bool is_random() const noexcept override {
    return p_ > 0 && (active(0) || active(1) || active(2) || active(3));
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "color_jitter"; }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = Json::object();
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
      object[std::string(adjustments[i].key)] = {ranges_[i].low, ranges_[i].high};
    }
    if (p_ != 1) object["p"] = p_;
    return object.dump();
  }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(p_, context)) return;
    Draws& draws = context.draws();
    std::array<std::size_t, adjustments.size()> order = {0, 1, 2, 3};
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[draws.below(left)]);
    }
    std::array<double, adjustments.size()> factors{};
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
      factors[i] = draw_between(ranges_[i], draws);
      if (active(i)) context.note(adjustments[i].key, factors[i]);
    }
    double digits = 0;
    for (const std::size_t i : order) digits = 10 * digits + static_cast<double>(i + 1);
    context.note("jitter_order", digits);
    for (const std::size_t i : order) {
      if (active(i)) adjustments[i].adjust(image, factors[i]);
    }
  }

 private:
  [[nodiscard]] bool active(std::size_t i) const noexcept {
    return ranges_[i] != Range{adjustments[i].neutral, adjustments[i].neutral};
  }
  JitterRanges ranges_;
  double p_;
};

Range jitter_range(StageParameters& parameters, const Adjustment& adjustment) {
  const Range nothing{adjustment.neutral, adjustment.neutral};
  const auto numbers = parameters.numbers(adjustment.key);
  if (!numbers) return nothing;
  if (numbers->size() != 1) {
    return range_in(parameters, adjustment.key, nothing, adjustment.bounds);
  }
  const double by = numbers->front();
  const double by_max = adjustment.bounds.high - adjustment.neutral;
  if (!(by >= 0 && by <= by_max)) {
    parameters.refuse(adjustment.key, "must be from 0 to " + text_of(by_max) +
                                          " or [min, max], not " + text_of(by));
  }
  return {std::max(adjustment.neutral - by, adjustment.bounds.low), adjustment.neutral + by};
}

class GrayscaleStage final : public PixelStage {
 public:
  GrayscaleStage(double p, std::int32_t channels) : p_(p), channels_(channels) {}
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0 && p_ < 1; }
  [[nodiscard]] std::string_view name() const noexcept override { return "grayscale"; }
  [[nodiscard]] std::string parameters_json() const override {
    return Json({{"p", p_}, {"channels", channels_}}).dump();
  }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    return std::min(channels, channels_);
  }
  void run(const ImageView& image, StageContext& context) const override {
    const bool gray = context.draws().unit_f64() < p_;
    context.note("grayscale", gray ? 1 : 0);
    if (gray) to_grayscale(image, channels_);
  }

 private:
  double p_;
  std::int32_t channels_;
};

}  // namespace

StagePointer make_color_jitter(StageParameters& parameters) {
  JitterRanges ranges;
  for (std::size_t i = 0; i < adjustments.size(); ++i) {
    ranges[i] = jitter_range(parameters, adjustments[i]);
  }
  return std::make_shared<ColorJitterStage>(ranges, probability(parameters, 1));
}

StagePointer make_grayscale(StageParameters& parameters) {
  const double p = probability(parameters, 1);
  const std::int64_t channels = parameters.integer("channels").value_or(p < 1 ? 3 : 1);
  if (channels != 1 && channels != 3) {
    parameters.refuse("channels", "must be 1 or 3, not " + std::to_string(channels));
  }
  if (p < 1 && channels == 1) {
    parameters.refuse("channels", "must be 3 where `p` is below 1: all samples have one shape");
  }
  return std::make_shared<GrayscaleStage>(p, static_cast<std::int32_t>(channels));
}

}  // namespace batchcast::inline v0_1::detail

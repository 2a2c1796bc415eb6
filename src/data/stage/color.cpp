// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/color_adjust.hpp"
#include "data/pixels/operations.hpp"
#include "data/stage/channel_order.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// Larger factors than this leave only black and white.
constexpr Between factor_bounds{0, 1000};
constexpr Between hue_bounds{-0.5, 0.5};

struct Adjustment {
  std::string_view key;
  void (*adjust)(const ImageView&, double) noexcept;
  double neutral;
  Between bounds;
};

constexpr std::array<Adjustment, 4> adjustments = {{
    {"brightness", adjust_brightness, 1, factor_bounds},
    {"contrast", adjust_contrast, 1, factor_bounds},
    {"saturation", adjust_saturation, 1, factor_bounds},
    {"hue", adjust_hue, 0, hue_bounds},
}};

/// [min, max], or a number: the largest change.
struct JitterOf {
  const Adjustment& adjustment;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Range& value) const {
    const auto numbers = given.numbers(key);
    if (!numbers) return false;
    const auto& [name, adjust, neutral, bounds] = adjustment;
    if (numbers->size() != 1) return bounds.read(given, key, value);
    const double by = numbers->front();
    const double by_max = bounds.high - neutral;
    if (!(by >= 0 && by <= by_max)) {
      given.refuse(
          key, text("must be from 0 to {} or [min, max], not {}", text_of(by_max), text_of(by)));
    }
    value = {std::max(neutral - by, bounds.low), neutral + by};
    return true;
  }
  [[nodiscard]] nlohmann::json write(const Range& value) const { return list_of(value); }
};

class ColorJitterStage final : public TableStage<ColorJitterStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "color_jitter";
  static void rows(auto& self, auto& table) {
    for (std::size_t i = 0; i < adjustments.size(); ++i) {
      table(adjustments[i].key, self.ranges_[i], JitterOf{adjustments[i]});
    }
    // Recipes that are older than the parameter keep their identity.
    table("p", self.p_, probability, {.printed = self.p_ != 1});
  }
  [[nodiscard]] bool is_random() const noexcept override {
    return p_ > 0 && (active(0) || active(1) || active(2) || active(3));
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
  std::array<Range, adjustments.size()> ranges_ = {{{1, 1}, {1, 1}, {1, 1}, {0, 0}}};
  double p_ = 1;
};

class GrayscaleStage final : public TableStage<GrayscaleStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "grayscale";
  static void rows(auto& self, auto& table) {
    table("p", self.p_, probability);
    table("channels", self.channels_, Either{1, 3, "1 or 3"});
  }
  void settle(StageParameters& given) {
    if (channels_ == 0) channels_ = p_ < 1 ? 3 : 1;
    if (p_ < 1 && channels_ == 1) {
      given.refuse("channels", "must be 3 where `p` is below 1: all samples have one shape");
    }
  }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    return std::min(channels, channels_);
  }
  void run(const ImageView& image, StageContext& context) const override {
    const bool gray = context.draws().unit_f64() < p_;
    context.note("grayscale", gray ? 1 : 0);
    if (gray) to_grayscale(image, channels_);
  }

 private:
  double p_ = 1;
  std::int32_t channels_ = 0;  // until it is settled: not given
};

class RandomPhotometricDistortStage final
    : public TableStage<RandomPhotometricDistortStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "random_photometric_distort";
  static void rows(auto& self, auto& table) {
    table("brightness", self.brightness_, factor_bounds);
    table("contrast", self.contrast_, factor_bounds);
    table("saturation", self.saturation_, factor_bounds);
    table("hue", self.hue_, hue_bounds);
    table("p", self.p_, probability);
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  void run(const ImageView& image, StageContext& context) const override {
    const auto brightness = draw("brightness", brightness_, context);
    const auto contrast = draw("contrast", contrast_, context);
    const auto saturation = draw("saturation", saturation_, context);
    const auto hue = draw("hue", hue_, context);
    const bool contrast_first = context.draws().unit_f64() < 0.5;
    context.note("contrast_first", contrast_first ? 1 : 0);
    if (brightness) adjust_brightness(image, *brightness);
    if (contrast && contrast_first) adjust_contrast(image, *contrast);
    if (saturation) adjust_saturation(image, *saturation);
    if (hue) adjust_hue(image, *hue);
    if (contrast && !contrast_first) adjust_contrast(image, *contrast);
    if (!happens(p_, context)) return;
    const ChannelOrder order = draw_channel_order(context);
    if (image.channels == 3) permute_channels(image, order);
  }

 private:
  [[nodiscard]] std::optional<double> draw(std::string_view key, const Range& range,
                                           StageContext& context) const {
    if (!happens(p_, context)) return std::nullopt;
    const double factor = draw_between(range, context.draws());
    context.note(key, factor);
    return factor;
  }

  Range brightness_{0.875, 1.125};
  Range contrast_{0.5, 1.5};
  Range saturation_{0.5, 1.5};
  Range hue_{-0.05, 0.05};
  double p_ = 0.5;
};

}  // namespace

void add_color(StandardStages& stages) {
  stages.add<ColorJitterStage>();
  stages.add<GrayscaleStage>();
  stages.add<RandomPhotometricDistortStage>();
}

}  // namespace batchcast::inline v0_1::detail

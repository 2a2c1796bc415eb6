// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"
#include "data/stage/channel_order.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <nlohmann/json.hpp>

#include <utility>

// Stages that are one operation, done with a probability.
namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

struct Tone {
  std::string_view name;
  std::string_view parameter;  ///< of the operation's one number; empty: it has none
  void (*apply)(const ImageView&, double, std::span<std::byte>);
  std::size_t (*scratch_bytes)(ImageSize, std::int32_t) noexcept = nullptr;
};

constexpr Tone solarize_tone{"solarize", "threshold",
                             [](const ImageView& image, double threshold, std::span<std::byte>) {
                               solarize(image, threshold);
                             }};
constexpr Tone posterize_tone{"posterize", "bits",
                              [](const ImageView& image, double bits, std::span<std::byte>) {
                                posterize(image, static_cast<int>(bits));
                              }};
constexpr Tone sharpness_tone{"sharpness", "sharpness_factor", adjust_sharpness,
                              sharpness_scratch_bytes};
constexpr Tone autocontrast_tone{
    "autocontrast", {}, [](const ImageView& image, double, std::span<std::byte>) {
      autocontrast(image);
    }};
constexpr Tone equalize_tone{
    "equalize", {}, [](const ImageView& image, double, std::span<std::byte>) { equalize(image); }};
constexpr Tone invert_tone{
    "invert", {}, [](const ImageView& image, double, std::span<std::byte>) { invert(image); }};

class ToneStage final : public PixelStage {
 public:
  ToneStage(const Tone& tone, Json number, double p)
      : tone_(tone), number_(std::move(number)), p_(p) {}
  [[nodiscard]] std::string_view name() const noexcept override { return tone_.name; }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"p", p_}};
    if (!tone_.parameter.empty()) object[std::string(tone_.parameter)] = number_;
    return object.dump();
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return tone_.scratch_bytes == nullptr ? 0 : tone_.scratch_bytes(size, channels);
  }
  void run(const ImageView& image, StageContext& context) const override {
    const bool applies = happens(p_, context);
    context.note(tone_.name, applies ? 1 : 0);
    if (!applies) return;
    tone_.apply(image, number_.is_null() ? 0 : number_.get<double>(), context.scratch());
  }

 private:
  const Tone& tone_;
  Json number_;
  double p_;
};

StagePointer make_tone(const Tone& tone, StageParameters& parameters, Json number = nullptr) {
  return std::make_shared<ToneStage>(tone, std::move(number), probability(parameters, 0.5));
}

class RandomChannelPermutationStage final : public PixelStage {
 public:
  explicit RandomChannelPermutationStage(double p) : p_(p) {}
  [[nodiscard]] std::string_view name() const noexcept override {
    return "random_channel_permutation";
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] std::string parameters_json() const override { return Json({{"p", p_}}).dump(); }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const ChannelOrder order = draw_channel_order(context);
    if (image.channels == 3) permute_channels(image, order);
  }

 private:
  double p_;
};

}  // namespace

ChannelOrder draw_channel_order(StageContext& context) {
  ChannelOrder order = {0, 1, 2};
  std::swap(order[2], order[context.draws().below(3)]);
  std::swap(order[1], order[context.draws().below(2)]);
  context.note("channel_order", 100 * (order[0] + 1) + 10 * (order[1] + 1) + order[2] + 1);
  return order;
}

StagePointer make_solarize(StageParameters& parameters) {
  // 256 leaves every level as it is.
  return make_tone(solarize_tone, parameters,
                   number_in(parameters, "threshold", std::nullopt, {0, 256}));
}

StagePointer make_posterize(StageParameters& parameters) {
  if (!parameters.integer("bits")) {
    parameters.refuse("bits", "is missing: how many bits of each level are kept, 0 to 8");
  }
  return make_tone(posterize_tone, parameters, integer_in(parameters, "bits", 8, 0, 8));
}

StagePointer make_sharpness(StageParameters& parameters) {
  return make_tone(sharpness_tone, parameters,
                   number_in(parameters, "sharpness_factor", std::nullopt, {0, 1000}));
}

StagePointer make_autocontrast(StageParameters& parameters) {
  return make_tone(autocontrast_tone, parameters);
}

StagePointer make_equalize(StageParameters& parameters) {
  return make_tone(equalize_tone, parameters);
}

StagePointer make_invert(StageParameters& parameters) { return make_tone(invert_tone, parameters); }

StagePointer make_random_channel_permutation(StageParameters& parameters) {
  return std::make_shared<RandomChannelPermutationStage>(probability(parameters, 1));
}

}  // namespace batchcast::inline v0_1::detail

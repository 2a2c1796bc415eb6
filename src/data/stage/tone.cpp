// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"
#include "data/stage/channel_order.hpp"
#include "data/stage/standard_stages.hpp"

#include <utility>

// Stages that run one operation with a probability.
namespace batchcast::inline v0_1::detail {
namespace {

/// An operation without parameters.
struct Plain {
  static void rows(auto& /*self*/, auto& /*table*/) {}
  static std::size_t scratch_bytes(ImageSize, std::int32_t /*channels*/) noexcept { return 0; }
};

struct Solarize : Plain {
  static constexpr std::string_view name = "solarize";
  static void rows(auto& self, auto& table) {
    constexpr Number levels{0, 256};  // 256 leaves every level as it is
    table("threshold", self.threshold, levels, {.missing = levels.text()});
  }
  void apply(const ImageView& image, std::span<std::byte> /*scratch*/) const {
    solarize(image, threshold);
  }
  double threshold = 0;
};

struct Posterize : Plain {
  static constexpr std::string_view name = "posterize";
  static void rows(auto& self, auto& table) {
    table("bits", self.bits, Whole{0, 8},
          {.missing = "how many bits of each level are kept, 0 to 8"});
  }
  void apply(const ImageView& image, std::span<std::byte> /*scratch*/) const {
    posterize(image, bits);
  }
  int bits = 8;
};

struct Sharpness {
  static constexpr std::string_view name = "sharpness";
  static void rows(auto& self, auto& table) {
    constexpr Number factors{0, 1000};
    table("sharpness_factor", self.factor, factors, {.missing = factors.text()});
  }
  static std::size_t scratch_bytes(ImageSize size, std::int32_t channels) noexcept {
    return sharpness_scratch_bytes(size, channels);
  }
  void apply(const ImageView& image, std::span<std::byte> scratch) const {
    adjust_sharpness(image, factor, scratch);
  }
  double factor = 1;
};

struct Autocontrast : Plain {
  static constexpr std::string_view name = "autocontrast";
  void apply(const ImageView& image, std::span<std::byte> /*scratch*/) const {
    autocontrast(image);
  }
};

struct Equalize : Plain {
  static constexpr std::string_view name = "equalize";
  void apply(const ImageView& image, std::span<std::byte> /*scratch*/) const { equalize(image); }
};

struct Invert : Plain {
  static constexpr std::string_view name = "invert";
  void apply(const ImageView& image, std::span<std::byte> /*scratch*/) const { invert(image); }
};

template <class Tone>
class ToneStage final : public TableStage<ToneStage<Tone>, PixelStage> {
 public:
  static constexpr std::string_view stage_name = Tone::name;
  static void rows(auto& self, auto& table) {
    Tone::rows(self.tone_, table);
    table("p", self.p_, probability);
  }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return Tone::scratch_bytes(size, channels);
  }
  void run(const ImageView& image, StageContext& context) const override {
    const bool applies = happens(p_, context);
    context.note(Tone::name, applies ? 1 : 0);
    if (applies) tone_.apply(image, context.scratch());
  }

 private:
  Tone tone_;
  double p_ = 0.5;
};

class RandomChannelPermutationStage final
    : public TableStage<RandomChannelPermutationStage, PixelStage> {
 public:
  static constexpr std::string_view stage_name = "random_channel_permutation";
  static void rows(auto& self, auto& table) { table("p", self.p_, probability); }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  void run(const ImageView& image, StageContext& context) const override {
    if (!happens(p_, context)) return;
    const ChannelOrder order = draw_channel_order(context);
    if (image.channels == 3) permute_channels(image, order);
  }

 private:
  double p_ = 1;
};

}  // namespace

ChannelOrder draw_channel_order(StageContext& context) {
  ChannelOrder order = {0, 1, 2};
  std::swap(order[2], order[context.draws().below(3)]);
  std::swap(order[1], order[context.draws().below(2)]);
  context.note("channel_order", 100 * (order[0] + 1) + 10 * (order[1] + 1) + order[2] + 1);
  return order;
}

void add_tones(StandardStages& stages) {
  stages.add<ToneStage<Solarize>>();
  stages.add<ToneStage<Posterize>>();
  stages.add<ToneStage<Sharpness>>();
  stages.add<ToneStage<Autocontrast>>();
  stages.add<ToneStage<Equalize>>();
  stages.add<ToneStage<Invert>>();
  stages.add<RandomChannelPermutationStage>();
}

}  // namespace batchcast::inline v0_1::detail

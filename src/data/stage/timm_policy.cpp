// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/level_rows.hpp"
#include "data/stage/policy_stage.hpp"
#include "data/stage/share_draws.hpp"
#include "data/stage/standard_stages.hpp"
#include "data/stage/timm_space.hpp"

#include <algorithm>
#include <cstring>

// timm's policies: rand-…, the AutoAugment of several names, and augmix-….
namespace batchcast::inline v0_1::detail {
namespace {

// Above 10 `magnitude_max` has to allow it.
constexpr Number levels{0, 100};
// timm draws uniformly where the deviation is above 100.
constexpr Number deviations{0, 1000};
constexpr double uniform_above = 100;
constexpr double usual_level_max = 10;

/// From 0 to the magnitude where the deviation is large, else normal about it.
double draw_level(double magnitude, double deviation, double most, Draws& draws,
                  NormalDraws& normal) noexcept {
  const double level = deviation > uniform_above
                           ? draws.unit_f64() * magnitude
                           : magnitude + deviation * static_cast<double>(normal.next());
  return std::clamp(level, 0.0, most);
}

class TimmStage : public PolicyStage {
 public:
  TimmStage() { interpolation_ = Interpolation::bicubic; }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return timm_scratch_bytes(size, channels);
  }

 protected:
  void apply(const ImageView& image, const TimmOperation& what, std::span<std::byte> scratch,
             StageContext& context) const {
    context.note("operation", name_of(what.operation));
    context.note("magnitude", what.negates ? -what.level : what.level);
    if (what.radius) context.note("blur_radius", *what.radius);
    apply_timm_operation(image, what, warps(), scratch);
  }
};

/// timm's RandAugment, such as rand-m9-mstd0.5-inc1.
class TimmRandAugmentStage final : public TableStage<TimmRandAugmentStage, TimmStage> {
 public:
  static constexpr std::string_view stage_name = "timm_rand_augment";
  static void rows(auto& self, auto& table) {
    table("num_ops", self.num_ops_, operation_counts);
    table("magnitude", self.magnitude_, levels);
    table("magnitude_std", self.magnitude_std_, deviations);
    table("p", self.p_, probability);
    // Recipes that are older than these keep their identity.
    table("magnitude_max", self.magnitude_max_, Number{1, levels.high},
          {.printed = self.magnitude_max_ != usual_level_max});
    table("increasing", self.increasing_, Flag(), {.printed = !self.increasing_});
    table("operations", self.operations_, Choice{timm_choice_names},
          {.printed = self.operations_ != TimmChoices::all});
    warp_rows(self, table);
  }
  void settle(StageParameters& given) {
    if (magnitude_ > magnitude_max_) {
      given.refuse("magnitude", text("must be at most `magnitude_max`, which is {}, not {}",
                                     text_of(magnitude_max_), text_of(magnitude_)));
    }
    if (!increasing_ && operations_ != TimmChoices::all) {
      given.refuse("increasing", "must be true where `operations` is not \"all\", as timm has it");
    }
    const auto count = static_cast<int>(timm_choices(operations_).size());
    if (is_weighted(operations_) && num_ops_ > count) {
      given.refuse("num_ops", text("must be at most {}, since operations with weights are chosen "
                                   "once each, not {}",
                                   count, num_ops_));
    }
  }
  [[nodiscard]] bool is_random() const noexcept override { return num_ops_ > 0; }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    NormalDraws normal(draws);
    Chooser chooser(operations_);
    for (int i = 0; i < num_ops_; ++i) {
      TimmOperation drawn{chooser.draw(draws)};
      if (!increasing_) drawn.scale = TimmScale::plain;
      if (!(draws.unit_f64() < p_)) continue;
      drawn.level = draw_level(magnitude_, magnitude_std_, magnitude_max_, draws, normal);
      drawn.negates = is_signed(drawn) && draws.unit_f64() < 0.5;
      apply(image, drawn, context.scratch(), context);
    }
  }

 private:
  /// Operations one after the other; where they have weights, each once.
  class Chooser {
   public:
    explicit Chooser(TimmChoices which) noexcept
        : choices_(timm_choices(which)), weighted_(is_weighted(which)) {
      for (std::size_t i = 0; i < choices_.size(); ++i) weights_[i] = choices_[i].weight;
    }
    Operation draw(Draws& draws) noexcept {
      if (!weighted_) return choices_[draws.below(choices_.size())].operation;
      double sum = 0;
      for (const double weight : weights_) sum += weight;
      double left = draws.unit_f64() * sum;
      std::size_t chosen = choices_.size();
      for (std::size_t i = 0; i < choices_.size(); ++i) {
        if (weights_[i] == 0) continue;
        chosen = i;  // sums are rounded: the last one has what is left
        if (left < weights_[i]) break;
        left -= weights_[i];
      }
      weights_[chosen] = 0;
      return choices_[chosen].operation;
    }

   private:
    std::span<const TimmChoice> choices_;
    bool weighted_;
    std::array<double, 15> weights_{};
  };

  int num_ops_ = 2;
  double magnitude_ = 9;
  double magnitude_std_ = 0.5;
  double p_ = 0.5;  // of each operation
  double magnitude_max_ = usual_level_max;
  bool increasing_ = true;
  TimmChoices operations_ = TimmChoices::all;
};

class TimmAutoAugmentStage final : public TableStage<TimmAutoAugmentStage, TimmStage> {
 public:
  static constexpr std::string_view stage_name = "timm_auto_augment";
  static void rows(auto& self, auto& table) {
    table("policy", self.policy_, Choice{timm_policy_names});
    table("magnitude_std", self.magnitude_std_, deviations);
    warp_rows(self, table);
  }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    NormalDraws normal(draws);
    const auto chosen = static_cast<std::size_t>(draws.below(timm_policy_size(policy_)));
    context.note("auto_augment", static_cast<double>(chosen));
    for (std::size_t i = 0; i < timm_steps(policy_); ++i) {
      auto [drawn, p] = timm_step(policy_, chosen, i);
      if (!(draws.unit_f64() < p)) continue;
      drawn.level = draw_level(drawn.level, magnitude_std_, usual_level_max, draws, normal);
      if (drawn.operation == Operation::gaussian_blur) {
        const double most = 2 * std::clamp(drawn.level / usual_level_max, 0.0, 1.0);
        drawn.radius = 0.1 + (most - 0.1) * draws.unit_f64();
      }
      drawn.negates = is_signed(drawn) && draws.unit_f64() < 0.5;
      apply(image, drawn, context.scratch(), context);
    }
  }

 private:
  TimmPolicy policy_ = TimmPolicy::original;
  double magnitude_std_ = 0;
};

class TimmAugMixStage final : public TableStage<TimmAugMixStage, TimmStage> {
 public:
  static constexpr int width_max = 16;
  static constexpr std::string_view stage_name = "timm_aug_mix";
  static void rows(auto& self, auto& table) {
    table("magnitude", self.magnitude_, Number{0, usual_level_max});
    table("magnitude_std", self.magnitude_std_, deviations);
    table("mixture_width", self.mixture_width_, Whole{1, width_max});
    table("chain_depth", self.chain_depth_, Whole{-1, operation_counts.high});
    table("alpha", self.alpha_, Number{0.01, 1000});
    table("blended", self.blended_, Flag());
    warp_rows(self, table);
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    const std::size_t bytes = ImageView{nullptr, size, channels}.byte_count();
    return mix_bytes(bytes) + aligned(bytes) + (blended_ ? aligned(bytes) : 0) +
           timm_scratch_bytes(size, channels);
  }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    const auto width = static_cast<std::size_t>(mixture_width_);
    const auto shares = draw_shares<width_max>(width, alpha_, draws);
    const float blend = draw_shares<2>(2, alpha_, draws)[0];
    context.note("blend", static_cast<double>(blend));
    for (std::size_t i = 0; i < width; ++i) context.note("share", static_cast<double>(shares[i]));
    if (blended_) {
      blend_chains(image, blended_weights(shares, width, blend), context);
    } else {
      mix_chains(image, shares, blend, context);
    }
  }

 private:
  using Weights = std::array<float, width_max>;

  static std::size_t aligned(std::size_t byte_count) noexcept {
    return (byte_count + 63) / 64 * 64;
  }
  [[nodiscard]] std::size_t mix_bytes(std::size_t levels_count) const noexcept {
    return blended_ ? 0 : aligned(levels_count * sizeof(float));
  }

  /// The sum of the chains, and that with the image.
  void mix_chains(const ImageView& image, const Weights& shares, float blend,
                  StageContext& context) const {
    const std::size_t count = image.byte_count();
    const auto memory = context.scratch();
    auto* const mix = reinterpret_cast<float*>(memory.data());
    const auto rest = memory.subspan(mix_bytes(count));
    std::fill_n(mix, count, 0.0F);
    ImageView chain = image;
    chain.data = reinterpret_cast<std::uint8_t*>(rest.data());
    for (int c = 0; c < mixture_width_; ++c) {
      std::memcpy(chain.data, image.data, count);
      run_chain(chain, rest.subspan(aligned(count)), context);
      const float share = shares[static_cast<std::size_t>(c)];
      for (std::size_t i = 0; i < count; ++i) mix[i] += share * static_cast<float>(chain.data[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      chain.data[i] = static_cast<std::uint8_t>(std::min(mix[i], 255.0F));
    }
    blend_rows(image.data, chain.data, count, blend, image.data);
  }

  /// Chain after chain, each mixed with what there is already.
  void blend_chains(const ImageView& image, const Weights& weights, StageContext& context) const {
    const std::size_t count = image.byte_count();
    const auto memory = context.scratch();
    auto* const original = reinterpret_cast<std::uint8_t*>(memory.data());
    const auto rest = memory.subspan(aligned(count));
    std::memcpy(original, image.data, count);
    ImageView chain = image;
    chain.data = reinterpret_cast<std::uint8_t*>(rest.data());
    for (int c = 0; c < mixture_width_; ++c) {
      std::memcpy(chain.data, original, count);
      run_chain(chain, rest.subspan(aligned(count)), context);
      blend_rows(image.data, chain.data, count, weights[static_cast<std::size_t>(c)], image.data);
    }
  }

  static Weights blended_weights(const Weights& shares, std::size_t width, float blend) noexcept {
    Weights weights{};
    float left = 1;
    for (std::size_t i = width; i-- > 0;) {
      weights[i] = shares[i] * blend / left;
      left *= 1 - weights[i];
    }
    return weights;
  }

  void run_chain(const ImageView& chain, std::span<std::byte> scratch,
                 StageContext& context) const {
    constexpr std::array<Operation, 13> operations = {
        Operation::autocontrast, Operation::color,    Operation::contrast, Operation::brightness,
        Operation::sharpness,    Operation::equalize, Operation::rotate,   Operation::posterize,
        Operation::solarize,     Operation::shear_x,  Operation::shear_y,  Operation::translate_x,
        Operation::translate_y};
    Draws& draws = context.draws();
    NormalDraws normal(draws);
    const int depth = chain_depth_ > 0 ? chain_depth_ : 1 + static_cast<int>(draws.below(3));
    context.note("depth", depth);
    for (int i = 0; i < depth; ++i) {
      TimmOperation drawn{operations[draws.below(operations.size())]};
      drawn.translation = 0.3;
      drawn.level = draw_level(magnitude_, magnitude_std_, usual_level_max, draws, normal);
      drawn.negates = is_signed(drawn) && draws.unit_f64() < 0.5;
      apply(chain, drawn, scratch, context);
    }
  }

  double magnitude_ = 3;
  double magnitude_std_ = deviations.high;  // timm's infinity: uniform
  int mixture_width_ = 3;
  int chain_depth_ = -1;
  double alpha_ = 1;
  bool blended_ = false;
};

}  // namespace

void add_timm_policies(StandardStages& stages) {
  stages.add<TimmRandAugmentStage>();
  stages.add<TimmAutoAugmentStage>();
  stages.add<TimmAugMixStage>();
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/policy_stage.hpp"
#include "data/stage/share_draws.hpp"
#include "data/stage/standard_stages.hpp"

#include <algorithm>
#include <cstring>

// Stages that draw which operations change an image, and how strongly.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<Operation, 14> all_operations = {
    Operation::identity,     Operation::shear_x,   Operation::shear_y,    Operation::translate_x,
    Operation::translate_y,  Operation::rotate,    Operation::brightness, Operation::color,
    Operation::contrast,     Operation::sharpness, Operation::posterize,  Operation::solarize,
    Operation::autocontrast, Operation::equalize};

// The last ones are those that the corruptions of the paper's test sets lack.
constexpr std::array<Operation, 13> mix_operations = {
    Operation::shear_x,  Operation::shear_y,    Operation::translate_x, Operation::translate_y,
    Operation::rotate,   Operation::posterize,  Operation::solarize,    Operation::autocontrast,
    Operation::equalize, Operation::brightness, Operation::color,       Operation::contrast,
    Operation::sharpness};
constexpr std::size_t partial_mix_operations = 9;

constexpr Whole bin_counts{2, 1000};

class RandAugmentStage final : public TableStage<RandAugmentStage, PolicyStage> {
 public:
  static constexpr std::string_view stage_name = "rand_augment";
  static void rows(auto& self, auto& table) {
    table("num_ops", self.num_ops_, operation_counts);
    table("num_magnitude_bins", self.bins_, bin_counts);
    table("magnitude", self.magnitude_, Whole{0, bin_counts.high});
    warp_rows(self, table);
  }
  void settle(StageParameters& given) {
    if (magnitude_ < bins_) return;
    given.refuse("magnitude", text("must be below `num_magnitude_bins`, which is {}, not {}", bins_,
                                   magnitude_));
  }
  [[nodiscard]] bool is_random() const noexcept override { return num_ops_ > 0; }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    for (int i = 0; i < num_ops_; ++i) {
      const Operation operation = all_operations[draws.below(all_operations.size())];
      const auto magnitude =
          magnitude_of(rand_augment_space, operation, bins_, magnitude_, image.size);
      apply(image, operation, draw_sign(operation, magnitude, draws), context.scratch(), context);
    }
  }

 private:
  int num_ops_ = 2;
  int magnitude_ = 9;
  int bins_ = 31;
};

class TrivialAugmentStage final : public TableStage<TrivialAugmentStage, PolicyStage> {
 public:
  static constexpr std::string_view stage_name = "trivial_augment_wide";
  static void rows(auto& self, auto& table) {
    table("num_magnitude_bins", self.bins_, bin_counts);
    warp_rows(self, table);
  }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    const Operation operation = all_operations[draws.below(all_operations.size())];
    const auto bin = static_cast<int>(draws.below(static_cast<std::uint64_t>(bins_)));
    const auto magnitude = magnitude_of(trivial_augment_space, operation, bins_, bin, image.size);
    apply(image, operation, draw_sign(operation, magnitude, draws), context.scratch(), context);
  }

 private:
  int bins_ = 31;
};

class AutoAugmentStage final : public TableStage<AutoAugmentStage, PolicyStage> {
 public:
  static constexpr std::string_view stage_name = "auto_augment";
  static void rows(auto& self, auto& table) {
    table("policy", self.policy_, Choice{auto_augment_policy_names});
    warp_rows(self, table);
  }
  void run(const ImageView& image, StageContext& context) const override {
    constexpr int bins = 10;
    Draws& draws = context.draws();
    const auto pairs = auto_augment_pairs(policy_);
    const std::uint64_t chosen = draws.below(pairs.size());
    context.note("auto_augment", static_cast<double>(chosen));
    for (const AutoAugmentStep& step : pairs[chosen]) {
      if (!(draws.unit_f64() < step.tenths / 10.0)) continue;
      const auto magnitude =
          magnitude_of(auto_augment_space, step.operation, bins, step.bin, image.size);
      apply(image, step.operation, draw_sign(step.operation, magnitude, draws), context.scratch(),
            context);
    }
  }

 private:
  AutoAugmentPolicy policy_ = AutoAugmentPolicy::imagenet;
};

class AugMixStage final : public TableStage<AugMixStage, PolicyStage> {
 public:
  static constexpr int width_max = 16;
  AugMixStage() { interpolation_ = Interpolation::bilinear; }
  static constexpr std::string_view stage_name = "aug_mix";
  static void rows(auto& self, auto& table) {
    table("severity", self.severity_, Whole{1, 10});
    table("mixture_width", self.mixture_width_, Whole{1, width_max});
    table("chain_depth", self.chain_depth_, Whole{-1, operation_counts.high});
    table("alpha", self.alpha_, Number{0.01, 1000});
    table("all_ops", self.all_ops_, Flag());
    warp_rows(self, table);
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    const ImageView image{nullptr, size, channels};
    return aligned(image.byte_count() * sizeof(float)) + aligned(image.byte_count()) +
           operation_scratch_bytes(size, channels);
  }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    const std::size_t count = image.byte_count();
    const auto memory = context.scratch();
    auto* const mix = reinterpret_cast<float*>(memory.data());
    ImageView chain = image;
    chain.data =
        reinterpret_cast<std::uint8_t*>(memory.subspan(aligned(count * sizeof(float))).data());
    const auto scratch = memory.subspan(aligned(count * sizeof(float)) + aligned(count));

    const auto parts = draw_shares<2>(2, alpha_, draws);
    const auto width = static_cast<std::size_t>(mixture_width_);
    const auto shares = draw_shares<width_max>(width, alpha_, draws);
    context.note("original", static_cast<double>(parts[0]));
    for (std::size_t i = 0; i < count; ++i) mix[i] = parts[0] * static_cast<float>(image.data[i]);
    for (std::size_t c = 0; c < width; ++c) {
      std::memcpy(chain.data, image.data, count);
      run_chain(chain, scratch, context);
      const float share = shares[c] * parts[1];
      context.note("share", static_cast<double>(share));
      for (std::size_t i = 0; i < count; ++i) mix[i] += share * static_cast<float>(chain.data[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      image.data[i] = static_cast<std::uint8_t>(std::min(mix[i], 255.0F));
    }
  }

 private:
  static std::size_t aligned(std::size_t byte_count) noexcept {
    return (byte_count + 63) / 64 * 64;
  }

  void run_chain(const ImageView& chain, std::span<std::byte> scratch,
                 StageContext& context) const {
    constexpr int bins = 10;
    Draws& draws = context.draws();
    const int depth = chain_depth_ > 0 ? chain_depth_ : 1 + static_cast<int>(draws.below(3));
    const std::size_t operations = all_ops_ ? mix_operations.size() : partial_mix_operations;
    for (int i = 0; i < depth; ++i) {
      const Operation operation = mix_operations[draws.below(operations)];
      const auto bin = static_cast<int>(draws.below(static_cast<std::uint64_t>(severity_)));
      const auto magnitude = magnitude_of(aug_mix_space, operation, bins, bin, chain.size);
      apply(chain, operation, draw_sign(operation, magnitude, draws), scratch, context);
    }
  }

  int severity_ = 3;
  int mixture_width_ = 3;
  int chain_depth_ = -1;
  double alpha_ = 1;
  bool all_ops_ = true;
};

}  // namespace

void add_policies(StandardStages& stages) {
  stages.add<RandAugmentStage>();
  stages.add<TrivialAugmentStage>();
  stages.add<AutoAugmentStage>();
  stages.add<AugMixStage>();
}

}  // namespace batchcast::inline v0_1::detail

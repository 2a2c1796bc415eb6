// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/normal_draws.hpp"
#include "data/stage/policy_space.hpp"
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

// Stages that draw which operations change an image, and how strongly.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<Operation, 14> all_operations = {
    Operation::identity,     Operation::shear_x,   Operation::shear_y,    Operation::translate_x,
    Operation::translate_y,  Operation::rotate,    Operation::brightness, Operation::color,
    Operation::contrast,     Operation::sharpness, Operation::posterize,  Operation::solarize,
    Operation::autocontrast, Operation::equalize};

constexpr std::array<Operation, 15> timm_operations = {
    Operation::autocontrast, Operation::equalize,    Operation::invert,       Operation::rotate,
    Operation::posterize,    Operation::solarize,    Operation::solarize_add, Operation::color,
    Operation::contrast,     Operation::brightness,  Operation::sharpness,    Operation::shear_x,
    Operation::shear_y,      Operation::translate_x, Operation::translate_y};

// The last ones are those that the corruptions of the paper's test sets lack.
constexpr std::array<Operation, 13> mix_operations = {
    Operation::shear_x,  Operation::shear_y,    Operation::translate_x, Operation::translate_y,
    Operation::rotate,   Operation::posterize,  Operation::solarize,    Operation::autocontrast,
    Operation::equalize, Operation::brightness, Operation::color,       Operation::contrast,
    Operation::sharpness};
constexpr std::size_t partial_mix_operations = 9;

constexpr Whole operation_counts{0, 32};
constexpr Whole bin_counts{2, 1000};

class PolicyStage : public PixelStage {
 public:
  [[nodiscard]] bool moves_pixels() const noexcept final { return true; }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    check_fill(name(), fill_, channels);
    return channels;
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return operation_scratch_bytes(size, channels);
  }

 protected:
  static void warp_rows(auto& self, auto& table) {
    table("interpolation", self.interpolation_, Choice{warp_interpolation_names});
    table("fill", self.fill_, LevelsOf());
  }
  [[nodiscard]] WarpOptions warps() const noexcept { return warp_options(interpolation_, fill_); }
  /// Returns 0 for operations that have no strength.
  static double draw_sign(Operation operation, std::optional<double> magnitude, Draws& draws) {
    if (!magnitude) return 0;
    return is_signed(operation) && draws.unit_f64() < 0.5 ? -*magnitude : *magnitude;
  }
  void apply(const ImageView& image, Operation operation, double magnitude,
             std::span<std::byte> scratch, StageContext& context) const {
    context.note("operation", name_of(operation));
    context.note("magnitude", magnitude);
    apply_operation(image, operation, magnitude, warps(), scratch);
  }

  // For pixels between pixels, and beyond the edge, where an operation moves them.
  Interpolation interpolation_ = Interpolation::nearest;
  std::vector<std::uint8_t> fill_ = {0};
};

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

/// timm's RandAugment of increasing strength, such as rand-m9-mstd0.5-inc1.
class TimmRandAugmentStage final : public TableStage<TimmRandAugmentStage, PolicyStage> {
 public:
  TimmRandAugmentStage() { interpolation_ = Interpolation::bicubic; }
  static constexpr std::string_view stage_name = "timm_rand_augment";
  static void rows(auto& self, auto& table) {
    table("num_ops", self.num_ops_, operation_counts);
    table("magnitude", self.magnitude_, Number{0, 10});
    table("magnitude_std", self.magnitude_std_, Number{0, 10});
    table("p", self.p_, probability);
    warp_rows(self, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return num_ops_ > 0; }
  void run(const ImageView& image, StageContext& context) const override {
    constexpr double most = 10;
    Draws& draws = context.draws();
    NormalDraws normal(draws);
    for (int i = 0; i < num_ops_; ++i) {
      TimmOperation drawn{timm_operations[draws.below(timm_operations.size())]};
      if (!(draws.unit_f64() < p_)) continue;
      const double deviation = magnitude_std_ * static_cast<double>(normal.next());
      drawn.level = std::clamp(magnitude_ + deviation, 0.0, most);
      drawn.negates = is_signed(drawn.operation) && draws.unit_f64() < 0.5;
      context.note("operation", name_of(drawn.operation));
      context.note("magnitude", drawn.negates ? -drawn.level : drawn.level);
      apply_timm_operation(image, drawn, warps(), context.scratch());
    }
  }

 private:
  int num_ops_ = 2;
  double magnitude_ = 9;
  double magnitude_std_ = 0.5;
  double p_ = 0.5;  // of each operation
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

/// A number of the gamma distribution of that shape, after Marsaglia and Tsang (2000).
double draw_gamma(double shape, Draws& draws, NormalDraws& normal) noexcept {
  const auto positive = [&draws] { return 1 - draws.unit_f64(); };
  // Below 1 it is a power of a uniform number times a draw for one more.
  const double raised = shape < 1 ? shape + 1 : shape;
  const double d = raised - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = static_cast<double>(normal.next());
    const double root = 1 + c * x;
    const double logarithm = portable_log(positive());
    if (root <= 0) continue;
    const double v = root * root * root;
    if (!(logarithm < 0.5 * x * x + d - d * v + d * portable_log(v))) continue;
    if (shape >= 1) return d * v;
    return d * v * portable_exp(std::max(portable_log(positive()) / shape, -700.0));
  }
}

/// Shares that add up to 1.
template <std::size_t max>
std::array<float, max> draw_shares(std::size_t count, double alpha, Draws& draws) noexcept {
  NormalDraws normal(draws);
  std::array<double, max> gammas{};
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += gammas[i] = draw_gamma(alpha, draws, normal);
  std::array<float, max> shares{};
  for (std::size_t i = 0; i < count; ++i) shares[i] = static_cast<float>(gammas[i] / sum);
  return shares;
}

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
  stages.add<TimmRandAugmentStage>();
  stages.add<TrivialAugmentStage>();
  stages.add<AutoAugmentStage>();
  stages.add<AugMixStage>();
}

}  // namespace batchcast::inline v0_1::detail

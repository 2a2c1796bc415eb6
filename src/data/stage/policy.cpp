// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/normal_draws.hpp"
#include "data/stage/options.hpp"
#include "data/stage/policy_space.hpp"
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

// Stages that draw which operations are done to an image, and how strongly.
namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

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

// Those that the corruptions of the paper's test sets do not have come last.
constexpr std::array<Operation, 13> mix_operations = {
    Operation::shear_x,  Operation::shear_y,    Operation::translate_x, Operation::translate_y,
    Operation::rotate,   Operation::posterize,  Operation::solarize,    Operation::autocontrast,
    Operation::equalize, Operation::brightness, Operation::color,       Operation::contrast,
    Operation::sharpness};
constexpr std::size_t partial_mix_operations = 9;

/// What lies between pixels and beyond the edge where an operation moves them.
struct Filling {
  Interpolation interpolation = Interpolation::nearest;
  std::vector<std::uint8_t> fill = {0};

  [[nodiscard]] WarpOptions options() const noexcept { return warp_options(interpolation, fill); }
};

Filling filling_of(StageParameters& parameters, Interpolation otherwise) {
  const Interpolation interpolation = warp_interpolation(parameters).value_or(otherwise);
  return {interpolation, fill_levels(parameters)};
}

class PolicyStage : public PixelStage {
 public:
  explicit PolicyStage(Filling filling) : filling_(std::move(filling)) {}
  [[nodiscard]] bool moves_pixels() const noexcept final { return true; }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    check_fill(name(), filling_.fill, channels);
    return channels;
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return operation_scratch_bytes(size, channels);
  }
  [[nodiscard]] std::string parameters_json() const final {
    Json object = own_parameters();
    object["interpolation"] = interpolation_names[static_cast<std::size_t>(filling_.interpolation)];
    object["fill"] = filling_.fill;
    return object.dump();
  }

 protected:
  [[nodiscard]] virtual Json own_parameters() const = 0;

  [[nodiscard]] WarpOptions warps() const noexcept { return filling_.options(); }
  /// Of what has no strength: 0.
  static double draw_sign(Operation operation, std::optional<double> magnitude, Draws& draws) {
    if (!magnitude) return 0;
    return is_signed(operation) && draws.unit_f64() < 0.5 ? -*magnitude : *magnitude;
  }
  void apply(const ImageView& image, Operation operation, double magnitude,
             std::span<std::byte> scratch, StageContext& context) const {
    context.note("operation", name_of(operation));
    context.note("magnitude", magnitude);
    apply_operation(image, operation, magnitude, filling_.options(), scratch);
  }

 private:
  Filling filling_;
};

class RandAugmentStage final : public PolicyStage {
 public:
  struct Parameters {
    int num_ops = 2;
    int magnitude = 9;
    int bins = 31;
  };
  RandAugmentStage(const Parameters& parameters, Filling filling)
      : PolicyStage(std::move(filling)), parameters_(parameters) {}
  [[nodiscard]] bool is_random() const noexcept override { return parameters_.num_ops > 0; }
  [[nodiscard]] std::string_view name() const noexcept override { return "rand_augment"; }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    for (int i = 0; i < parameters_.num_ops; ++i) {
      const Operation operation = all_operations[draws.below(all_operations.size())];
      const auto magnitude = magnitude_of(rand_augment_space, operation, parameters_.bins,
                                          parameters_.magnitude, image.size);
      apply(image, operation, draw_sign(operation, magnitude, draws), context.scratch(), context);
    }
  }

 protected:
  [[nodiscard]] Json own_parameters() const override {
    return {{"num_ops", parameters_.num_ops},
            {"magnitude", parameters_.magnitude},
            {"num_magnitude_bins", parameters_.bins}};
  }

 private:
  Parameters parameters_;
};

/// timm's RandAugment of increasing strength: rand-m9-mstd0.5-inc1 and the like.
class TimmRandAugmentStage final : public PolicyStage {
 public:
  struct Parameters {
    int num_ops = 2;
    double magnitude = 9;
    double magnitude_std = 0.5;
    double p = 0.5;  ///< of each operation
  };
  TimmRandAugmentStage(const Parameters& parameters, Filling filling)
      : PolicyStage(std::move(filling)), parameters_(parameters) {}
  [[nodiscard]] bool is_random() const noexcept override { return parameters_.num_ops > 0; }
  [[nodiscard]] std::string_view name() const noexcept override { return "timm_rand_augment"; }
  void run(const ImageView& image, StageContext& context) const override {
    constexpr double most = 10;
    Draws& draws = context.draws();
    NormalDraws normal(draws);
    for (int i = 0; i < parameters_.num_ops; ++i) {
      TimmOperation drawn{timm_operations[draws.below(timm_operations.size())]};
      if (!(draws.unit_f64() < parameters_.p)) continue;
      const double deviation = parameters_.magnitude_std * static_cast<double>(normal.next());
      drawn.level = std::clamp(parameters_.magnitude + deviation, 0.0, most);
      drawn.negates = is_signed(drawn.operation) && draws.unit_f64() < 0.5;
      context.note("operation", name_of(drawn.operation));
      context.note("magnitude", drawn.negates ? -drawn.level : drawn.level);
      apply_timm_operation(image, drawn, warps(), context.scratch());
    }
  }

 protected:
  [[nodiscard]] Json own_parameters() const override {
    return {{"num_ops", parameters_.num_ops},
            {"magnitude", parameters_.magnitude},
            {"magnitude_std", parameters_.magnitude_std},
            {"p", parameters_.p}};
  }

 private:
  Parameters parameters_;
};

class TrivialAugmentStage final : public PolicyStage {
 public:
  TrivialAugmentStage(int bins, Filling filling) : PolicyStage(std::move(filling)), bins_(bins) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "trivial_augment_wide"; }
  void run(const ImageView& image, StageContext& context) const override {
    Draws& draws = context.draws();
    const Operation operation = all_operations[draws.below(all_operations.size())];
    const auto bin = static_cast<int>(draws.below(static_cast<std::uint64_t>(bins_)));
    const auto magnitude = magnitude_of(trivial_augment_space, operation, bins_, bin, image.size);
    apply(image, operation, draw_sign(operation, magnitude, draws), context.scratch(), context);
  }

 protected:
  [[nodiscard]] Json own_parameters() const override { return {{"num_magnitude_bins", bins_}}; }

 private:
  int bins_;
};

class AutoAugmentStage final : public PolicyStage {
 public:
  AutoAugmentStage(AutoAugmentPolicy policy, Filling filling)
      : PolicyStage(std::move(filling)), policy_(policy) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "auto_augment"; }
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

 protected:
  [[nodiscard]] Json own_parameters() const override {
    return {{"policy", auto_augment_policy_names[static_cast<std::size_t>(policy_)]}};
  }

 private:
  AutoAugmentPolicy policy_;
};

/// Of the gamma distribution of that shape, after Marsaglia and Tsang (2000).
double draw_gamma(double shape, Draws& draws, NormalDraws& normal) noexcept {
  const auto positive = [&draws] { return 1 - draws.unit_f64(); };
  // Below 1 as a power of a uniform number times what is drawn for one more.
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

class AugMixStage final : public PolicyStage {
 public:
  static constexpr int width_max = 16;
  struct Parameters {
    int severity = 3;
    int mixture_width = 3;
    int chain_depth = -1;
    double alpha = 1;
    bool all_ops = true;
  };
  AugMixStage(const Parameters& parameters, Filling filling)
      : PolicyStage(std::move(filling)), parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "aug_mix"; }
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

    const auto parts = draw_shares<2>(2, parameters_.alpha, draws);
    const auto width = static_cast<std::size_t>(parameters_.mixture_width);
    const auto shares = draw_shares<width_max>(width, parameters_.alpha, draws);
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

 protected:
  [[nodiscard]] Json own_parameters() const override {
    return {{"severity", parameters_.severity},
            {"mixture_width", parameters_.mixture_width},
            {"chain_depth", parameters_.chain_depth},
            {"alpha", parameters_.alpha},
            {"all_ops", parameters_.all_ops}};
  }

 private:
  static std::size_t aligned(std::size_t byte_count) noexcept {
    return (byte_count + 63) / 64 * 64;
  }

  void run_chain(const ImageView& chain, std::span<std::byte> scratch,
                 StageContext& context) const {
    constexpr int bins = 10;
    Draws& draws = context.draws();
    const int depth = parameters_.chain_depth > 0 ? parameters_.chain_depth
                                                  : 1 + static_cast<int>(draws.below(3));
    const std::size_t operations =
        parameters_.all_ops ? mix_operations.size() : partial_mix_operations;
    for (int i = 0; i < depth; ++i) {
      const Operation operation = mix_operations[draws.below(operations)];
      const auto bin =
          static_cast<int>(draws.below(static_cast<std::uint64_t>(parameters_.severity)));
      const auto magnitude = magnitude_of(aug_mix_space, operation, bins, bin, chain.size);
      apply(chain, operation, draw_sign(operation, magnitude, draws), scratch, context);
    }
  }

  Parameters parameters_;
};

int small_integer(StageParameters& parameters, std::string_view key, int otherwise, int low,
                  int high) {
  return static_cast<int>(integer_in(parameters, key, otherwise, low, high));
}

constexpr int bins_max = 1000;
constexpr int operations_max = 32;

}  // namespace

StagePointer make_rand_augment(StageParameters& parameters) {
  RandAugmentStage::Parameters result;
  result.num_ops = small_integer(parameters, "num_ops", result.num_ops, 0, operations_max);
  result.bins = small_integer(parameters, "num_magnitude_bins", result.bins, 2, bins_max);
  result.magnitude = small_integer(parameters, "magnitude", result.magnitude, 0, bins_max);
  if (result.magnitude >= result.bins) {
    parameters.refuse("magnitude", "must be below `num_magnitude_bins`, which is " +
                                       std::to_string(result.bins) + ", not " +
                                       std::to_string(result.magnitude));
  }
  return std::make_shared<RandAugmentStage>(result, filling_of(parameters, Interpolation::nearest));
}

StagePointer make_timm_rand_augment(StageParameters& parameters) {
  TimmRandAugmentStage::Parameters result;
  result.num_ops = small_integer(parameters, "num_ops", result.num_ops, 0, operations_max);
  const auto number = [&](std::string_view key, double otherwise) {
    const double value = parameters.number(key).value_or(otherwise);
    if (!(value >= 0 && value <= 10)) {
      parameters.refuse(key, "must be from 0 to 10, not " + text_of(value));
    }
    return value;
  };
  result.magnitude = number("magnitude", result.magnitude);
  result.magnitude_std = number("magnitude_std", result.magnitude_std);
  result.p = probability(parameters, result.p);
  return std::make_shared<TimmRandAugmentStage>(result,
                                                filling_of(parameters, Interpolation::bicubic));
}

StagePointer make_trivial_augment_wide(StageParameters& parameters) {
  const int bins = small_integer(parameters, "num_magnitude_bins", 31, 2, bins_max);
  return std::make_shared<TrivialAugmentStage>(bins,
                                               filling_of(parameters, Interpolation::nearest));
}

StagePointer make_auto_augment(StageParameters& parameters) {
  const auto policy =
      static_cast<AutoAugmentPolicy>(choice(parameters, "policy", auto_augment_policy_names, 0));
  return std::make_shared<AutoAugmentStage>(policy, filling_of(parameters, Interpolation::nearest));
}

StagePointer make_aug_mix(StageParameters& parameters) {
  AugMixStage::Parameters result;
  result.severity = small_integer(parameters, "severity", result.severity, 1, 10);
  result.mixture_width =
      small_integer(parameters, "mixture_width", result.mixture_width, 1, AugMixStage::width_max);
  result.chain_depth =
      small_integer(parameters, "chain_depth", result.chain_depth, -1, operations_max);
  result.alpha = parameters.number("alpha").value_or(result.alpha);
  if (!(result.alpha >= 0.01 && result.alpha <= 1000)) {
    parameters.refuse("alpha", "must be from 0.01 to 1000, not " + text_of(result.alpha));
  }
  result.all_ops = parameters.boolean("all_ops").value_or(result.all_ops);
  return std::make_shared<AugMixStage>(result, filling_of(parameters, Interpolation::bilinear));
}

}  // namespace batchcast::inline v0_1::detail

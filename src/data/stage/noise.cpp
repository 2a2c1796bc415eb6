// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "data/stage/normal_draws.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

struct NoiseParameters {
  double mean = 0;
  double sigma = 0.1;
  bool clip = true;
  double p = 1;
};

class GaussianNoiseStage final : public TensorStage {
 public:
  explicit GaussianNoiseStage(const NoiseParameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "gaussian_noise"; }
  [[nodiscard]] bool is_random() const noexcept override { return parameters_.p > 0; }
  [[nodiscard]] bool takes_masks() const noexcept override { return false; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] std::string parameters_json() const override {
    return Json({{"mean", parameters_.mean},
                 {"sigma", parameters_.sigma},
                 {"clip", parameters_.clip},
                 {"p", parameters_.p}})
        .dump();
  }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    if (in.dtype != DType::u8 && in.dtype != DType::f32 && in.dtype != DType::f16 &&
        in.dtype != DType::bf16) {
      throw InvalidArgument("gaussian_noise takes u8, f16, bf16 or f32, not " +
                            std::string(name_of(in.dtype)) +
                            ": put { stage = \"to\", dtype = \"f32\" } before it.");
    }
    return in;
  }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> out,
           StageContext& context) const override {
    const bool applies = happens(parameters_.p, context);
    context.note("noise", applies ? 1 : 0);
    if (!applies) return;
    NormalDraws normal(context.draws());
    switch (context.input().dtype) {
      case DType::u8:
        return add_to_levels(out, normal);
      case DType::f32:
        return add<float>(
            out, normal, [](float x) { return x; }, [](float x) { return x; });
      case DType::f16:
        return add<std::uint16_t>(out, normal, f32_from_f16, f16_from_f32);
      default:
        return add<std::uint16_t>(out, normal, f32_from_bf16, bf16_from_f32);
    }
  }

 private:
  template <class Element, class Read, class Write>
  void add(std::span<std::byte> out, NormalDraws& normal, Read read, Write write) const {
    const auto mean = static_cast<float>(parameters_.mean);
    const auto sigma = static_cast<float>(parameters_.sigma);
    for (std::size_t at = 0; at + sizeof(Element) <= out.size(); at += sizeof(Element)) {
      Element element;
      std::memcpy(&element, out.data() + at, sizeof element);
      const float noise = mean + normal.next() * sigma;
      float value = read(element) + noise;
      if (parameters_.clip) value = std::clamp(value, 0.0F, 1.0F);
      element = write(value);
      std::memcpy(out.data() + at, &element, sizeof element);
    }
  }

  // torchvision's: noise is cut off to whole levels, and what is not clipped comes round.
  void add_to_levels(std::span<std::byte> out, NormalDraws& normal) const {
    const auto mean = static_cast<float>(parameters_.mean * 255);
    const auto sigma = static_cast<float>(parameters_.sigma * 255);
    for (std::byte& level : out) {
      int value = std::to_integer<int>(level) + static_cast<int>(mean + normal.next() * sigma);
      if (parameters_.clip) value = std::clamp(value, 0, 255);
      level = static_cast<std::byte>(static_cast<std::uint8_t>(value));
    }
  }

  NoiseParameters parameters_;
};

}  // namespace

StagePointer make_gaussian_noise(StageParameters& parameters) {
  // Images are 0 to 1: more than ten times that drowns every pixel.
  NoiseParameters result;
  result.mean = number_in(parameters, "mean", result.mean, {-10, 10});
  result.sigma = number_in(parameters, "sigma", result.sigma, {0, 10});
  result.clip = parameters.boolean("clip").value_or(result.clip);
  result.p = probability(parameters, result.p);
  return std::make_shared<GaussianNoiseStage>(result);
}

}  // namespace batchcast::inline v0_1::detail

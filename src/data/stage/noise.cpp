// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "data/stage/normal_draws.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

class GaussianNoiseStage final : public TableStage<GaussianNoiseStage, TensorStage> {
 public:
  static constexpr std::string_view stage_name = "gaussian_noise";
  static void rows(auto& self, auto& table) {
    // Images are 0 to 1: more than ten times that drowns every pixel.
    table("mean", self.mean_, Number{-10, 10});
    table("sigma", self.sigma_, Number{0, 10});
    table("clip", self.clip_, Flag());
    table("p", self.p_, probability);
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] bool takes_masks() const noexcept override { return false; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    if (in.dtype != DType::u8 && in.dtype != DType::f32 && in.dtype != DType::f16 &&
        in.dtype != DType::bf16) {
      throw InvalidArgument(
          text("gaussian_noise takes u8, f16, bf16 or f32, not {}: put { stage = \"to\", dtype = "
               "\"f32\" } before it.",
               name_of(in.dtype)));
    }
    return in;
  }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> out,
           StageContext& context) const override {
    const bool applies = happens(p_, context);
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
    const auto mean = static_cast<float>(mean_);
    const auto sigma = static_cast<float>(sigma_);
    for (std::size_t at = 0; at + sizeof(Element) <= out.size(); at += sizeof(Element)) {
      Element element;
      std::memcpy(&element, out.data() + at, sizeof element);
      const float noise = mean + normal.next() * sigma;
      float value = read(element) + noise;
      if (clip_) value = std::clamp(value, 0.0F, 1.0F);
      element = write(value);
      std::memcpy(out.data() + at, &element, sizeof element);
    }
  }

  // As torchvision's: noise is cut off to whole levels; without clipping, sums wrap.
  void add_to_levels(std::span<std::byte> out, NormalDraws& normal) const {
    const auto mean = static_cast<float>(mean_ * 255);
    const auto sigma = static_cast<float>(sigma_ * 255);
    for (std::byte& level : out) {
      int value = std::to_integer<int>(level) + static_cast<int>(mean + normal.next() * sigma);
      if (clip_) value = std::clamp(value, 0, 255);
      level = static_cast<std::byte>(static_cast<std::uint8_t>(value));
    }
  }

  double mean_ = 0;
  double sigma_ = 0.1;
  bool clip_ = true;
  double p_ = 1;
};

}  // namespace

void add_noise(StandardStages& stages) { stages.add<GaussianNoiseStage>(); }

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "data/program/pixel_form.hpp"
#include "data/stage/level_noise.hpp"
#include "data/stage/normal_draws.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

namespace batchcast::inline v0_1::detail {
namespace {

/// A number, or [min, max] to draw from.
struct NumberOrRange {
  double low;
  double high;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Range& value) const {
    const auto numbers = given.numbers(key);
    if (!numbers) return false;
    if (numbers->size() != 1) return Between{low, high}.read(given, key, value);
    double number = 0;
    static_cast<void>(Number{low, high}.read(given, key, number));
    value = {number, number};
    return true;
  }
  [[nodiscard]] nlohmann::json write(const Range& value) const {
    return value.low == value.high ? nlohmann::json(value.low) : list_of(value);
  }
};

struct Noise {
  double mean = 0;
  Range sigma{0.1, 0.1};
  bool clip = true;
  double p = 1;

  static void rows(auto& self, auto& table) {
    // Images are 0 to 1: more than ten times that drowns every pixel.
    table("mean", self.mean, Number{-10, 10});
    table("sigma", self.sigma, NumberOrRange{0, 10});
    table("clip", self.clip, Flag());
    table("p", self.p, probability);
  }
  /// The deviation; nothing where the image stays as it is.
  [[nodiscard]] std::optional<double> draw(StageContext& context) const {
    const bool applies = happens(p, context);
    context.note("noise", applies ? 1 : 0);
    if (!applies) return std::nullopt;
    if (sigma.low == sigma.high) return sigma.low;
    const double drawn = draw_between(sigma, context.draws());
    context.note("noise_sigma", drawn);
    return drawn;
  }
  // As torchvision's: noise is cut off to whole levels; without clipping, sums wrap.
  void add_to_levels(std::span<std::byte> out, double deviation, NormalDraws& normal) const {
    const auto middle = static_cast<float>(mean * 255);
    const auto spread = static_cast<float>(deviation * 255);
    for (std::byte& level : out) {
      int value = std::to_integer<int>(level) + static_cast<int>(middle + normal.next() * spread);
      if (clip) value = std::clamp(value, 0, 255);
      level = static_cast<std::byte>(static_cast<std::uint8_t>(value));
    }
  }
};

class GaussianNoiseStage final : public TableStage<GaussianNoiseStage, TensorStage>,
                                 public HasPixelForm {
 public:
  static constexpr std::string_view stage_name = "gaussian_noise";
  static void rows(auto& self, auto& table) { Noise::rows(self.noise_, table); }
  [[nodiscard]] bool is_random() const noexcept override { return noise_.p > 0; }
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
  void settle(StageParameters& /*given*/) { pixels_ = std::make_shared<Pixels>(noise_); }
  [[nodiscard]] std::shared_ptr<const Stage> pixel_form() const override { return pixels_; }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> out,
           StageContext& context) const override {
    const auto sigma = noise_.draw(context);
    if (!sigma) return;
    NormalDraws normal(context.draws());
    switch (context.input().dtype) {
      case DType::u8:
        return noise_.add_to_levels(out, *sigma, normal);
      case DType::f32:
        return add<float>(
            out, *sigma, normal, [](float x) { return x; }, [](float x) { return x; });
      case DType::f16:
        return add<std::uint16_t>(out, *sigma, normal, f32_from_f16, f16_from_f32);
      default:
        return add<std::uint16_t>(out, *sigma, normal, f32_from_bf16, bf16_from_f32);
    }
  }

 private:
  /// Before `to`: the same distribution, of levels.
  class Pixels final : public TableStage<Pixels, PixelStage> {
   public:
    static constexpr std::string_view stage_name = GaussianNoiseStage::stage_name;
    explicit Pixels(const Noise& noise) : noise_(noise) {}
    static void rows(auto& self, auto& table) { Noise::rows(self.noise_, table); }
    [[nodiscard]] bool is_random() const noexcept override { return noise_.p > 0; }
    void run(const ImageView& image, StageContext& context) const override {
      const auto sigma = noise_.draw(context);
      if (!sigma) return;
      const std::span levels(image.data, image.byte_count());
      if (noise_.clip && *sigma > 0) {
        return LevelNoise(255 * noise_.mean, 255 * *sigma).add(levels, context.draws());
      }
      NormalDraws normal(context.draws());
      noise_.add_to_levels(std::as_writable_bytes(levels), *sigma, normal);
    }

   private:
    Noise noise_;
  };

  template <class Element, class Read, class Write>
  void add(std::span<std::byte> out, double deviation, NormalDraws& normal, Read read,
           Write write) const {
    const auto mean = static_cast<float>(noise_.mean);
    const auto sigma = static_cast<float>(deviation);
    for (std::size_t at = 0; at + sizeof(Element) <= out.size(); at += sizeof(Element)) {
      Element element;
      std::memcpy(&element, out.data() + at, sizeof element);
      const float noise = mean + normal.next() * sigma;
      float value = read(element) + noise;
      if (noise_.clip) value = std::clamp(value, 0.0F, 1.0F);
      element = write(value);
      std::memcpy(out.data() + at, &element, sizeof element);
    }
  }

  Noise noise_;
  std::shared_ptr<const Pixels> pixels_;
};

}  // namespace

void add_noise(StandardStages& stages) { stages.add<GaussianNoiseStage>(); }

}  // namespace batchcast::inline v0_1::detail

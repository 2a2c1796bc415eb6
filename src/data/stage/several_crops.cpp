// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

constexpr std::int32_t places = 5;

/// The corners and the centre, as torchvision's FiveCrop; perhaps those of the mirrored image too.
class SeveralCropsStage final : public GeometryStage {
 public:
  enum class Mirror : std::uint8_t { none, horizontal, vertical };
  SeveralCropsStage(ImageSize size, Mirror mirror) : size_(size), mirror_(mirror) {}
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::string_view name() const noexcept override {
    return mirror_ == Mirror::none ? "five_crop" : "ten_crop";
  }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.crops = true}; }
  [[nodiscard]] std::int32_t count() const noexcept override {
    return mirror_ == Mirror::none ? places : 2 * places;
  }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"size", {size_.height, size_.width}}};
    if (mirror_ != Mirror::none) object["vertical_flip"] = mirror_ == Mirror::vertical;
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> in) const override {
    if (in && !fits(*in)) throw InvalidArgument(why_too_small(*in));
    return size_;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    if (!fits(geometry.output())) throw BadSample(why_too_small(geometry.output()));
    if (context.part() >= places) {
      if (mirror_ == Mirror::vertical) {
        geometry.flip_vertically();
      } else {
        geometry.flip_horizontally();
      }
    }
    const std::int32_t place = context.part() % places;
    const std::int32_t right = geometry.output().width - size_.width;
    const std::int32_t below = geometry.output().height - size_.height;
    const bool is_centre = place == places - 1;
    const std::int32_t x = is_centre ? half(right) : place % 2 == 0 ? 0 : right;
    const std::int32_t y = is_centre ? half(below) : place < 2 ? 0 : below;
    geometry.crop({x, y, size_.width, size_.height});
  }

 private:
  static std::int32_t half(std::int32_t extra) noexcept {
    return static_cast<std::int32_t>(round_half_even(extra / 2.0));
  }
  [[nodiscard]] bool fits(ImageSize in) const noexcept {
    return in.width >= size_.width && in.height >= size_.height;
  }
  [[nodiscard]] std::string why_too_small(ImageSize in) const {
    return "an image of " + std::to_string(in.width) + "x" + std::to_string(in.height) +
           " pixels is smaller than its crops of " + std::to_string(size_.width) + "x" +
           std::to_string(size_.height) + ". Resize it first";
  }

  ImageSize size_;
  Mirror mirror_;
};

}  // namespace

StagePointer make_five_crop(StageParameters& parameters) {
  return std::make_shared<SeveralCropsStage>(image_size(parameters),
                                             SeveralCropsStage::Mirror::none);
}

StagePointer make_ten_crop(StageParameters& parameters) {
  const bool vertical = parameters.boolean("vertical_flip").value_or(false);
  return std::make_shared<SeveralCropsStage>(
      image_size(parameters),
      vertical ? SeveralCropsStage::Mirror::vertical : SeveralCropsStage::Mirror::horizontal);
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

/// torchvision's RandomResize: the shorter side becomes a length that is drawn.
class RandomResizeStage final : public GeometryStage {
 public:
  struct Parameters {
    std::int64_t min_size = 0;
    std::int64_t max_size = 0;
    std::optional<Interpolation> interpolation;
    bool as_pillow_13 = false;
  };
  explicit RandomResizeStage(const Parameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_resize"; }
  [[nodiscard]] bool is_random() const noexcept override {
    return parameters_.max_size > parameters_.min_size + 1;
  }
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept override {
    return parameters_.interpolation;
  }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.resizes = true}; }
  [[nodiscard]] std::string parameters_json() const override {
    Json object = {{"min_size", parameters_.min_size}, {"max_size", parameters_.max_size}};
    if (parameters_.interpolation) {
      object["interpolation"] =
          interpolation_names[static_cast<std::size_t>(*parameters_.interpolation)];
    }
    if (parameters_.as_pillow_13) object["pillow"] = 13;
    return object.dump();
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return std::nullopt;
  }
  void place(Geometry& geometry, StageContext& context) const override {
    const auto lengths = static_cast<std::uint64_t>(parameters_.max_size - parameters_.min_size);
    const std::int64_t shorter =
        parameters_.min_size + static_cast<std::int64_t>(context.draws().below(lengths));
    context.note("short_side", static_cast<double>(shorter));
    const ImageSize in = geometry.output();
    const auto [low, high] = std::minmax(in.width, in.height);
    const std::int64_t longer = shorter * high / low;
    if (longer > side_max) {
      throw BadSample("an image of " + std::to_string(in.width) + "x" + std::to_string(in.height) +
                      " pixels with its shorter side resized to " + std::to_string(shorter) +
                      " would be longer than " + std::to_string(side_max) + ". Crop it first.");
    }
    const auto narrow = static_cast<std::int32_t>(shorter);
    const auto wide = static_cast<std::int32_t>(longer);
    geometry.resize(in.width <= in.height ? ImageSize{narrow, wide} : ImageSize{wide, narrow});
    geometry.interpolation = parameters_.interpolation.value_or(geometry.interpolation);
    geometry.as_pillow_13 = parameters_.as_pillow_13;
  }

 private:
  Parameters parameters_;
};

}  // namespace

StagePointer make_random_resize(StageParameters& parameters) {
  for (const char* key : {"min_size", "max_size"}) {
    if (!parameters.integer(key)) parameters.refuse(key, "is missing: a number of pixels");
  }
  RandomResizeStage::Parameters result;
  result.min_size = integer_in(parameters, "min_size", 1, 1, side_max - 1);
  result.max_size =
      integer_in(parameters, "max_size", result.min_size + 1, result.min_size + 1, side_max);
  result.interpolation = interpolation_of(parameters);
  result.as_pillow_13 = as_pillow_13(parameters);
  return std::make_shared<RandomResizeStage>(result);
}

}  // namespace batchcast::inline v0_1::detail

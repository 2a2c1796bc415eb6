// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "data/portable_math.hpp"
#include "data/stage/crop_box.hpp"
#include "data/stage/normal_draws.hpp"
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

/// What boxes are filled with: a value; a drawn colour for each box; a drawn number for each
/// element. timm's names for them are in erasing_mode_names.
enum class ErasingMode : std::uint8_t { constant, color, pixel };

constexpr std::array<std::string_view, 3> erasing_mode_names = {"const", "rand", "pixel"};

constexpr std::int64_t erasing_count_max = 100;

struct ErasingParameters {
  double p = 0.5;
  BoxRange range{{0.02, 0.33}, {0.3, 3.3}};
  ErasingMode mode = ErasingMode::constant;
  std::vector<double> value = {0};  ///< for each channel or for all, where that is constant
  std::int64_t min_count = 1;
  std::int64_t max_count = 1;
};

struct TensorImage {
  ImageSize size;
  std::int32_t channels = 0;
  bool channels_last = false;
};

bool is_channel_count(std::int64_t extent) { return extent == 1 || extent == 3; }

std::optional<TensorImage> image_of(const TensorSpec& spec) {
  if (spec.shape.size() != 3) return std::nullopt;
  const auto extent = [&](std::size_t i) { return static_cast<std::int32_t>(spec.shape[i]); };
  const bool first = is_channel_count(spec.shape[0]);
  if (first == is_channel_count(spec.shape[2])) return std::nullopt;
  for (const std::int64_t side : spec.shape) {
    if (side < 1 || side > side_max) return std::nullopt;
  }
  return first ? TensorImage{{extent(2), extent(1)}, extent(0), false}
               : TensorImage{{extent(1), extent(0)}, extent(2), true};
}

void store(std::byte* at, DType dtype, float value) noexcept {
  if (dtype == DType::f32) {
    std::memcpy(at, &value, sizeof value);
  } else if (dtype == DType::u8) {
    *at = static_cast<std::byte>(static_cast<std::uint8_t>(value));
  } else {
    const std::uint16_t bits = dtype == DType::f16 ? f16_from_f32(value) : bf16_from_f32(value);
    std::memcpy(at, &bits, sizeof bits);
  }
}

class RandomErasingStage final : public TensorStage {
 public:
  explicit RandomErasingStage(ErasingParameters parameters) : parameters_(std::move(parameters)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_erasing"; }
  [[nodiscard]] bool is_random() const noexcept override { return parameters_.p > 0; }
  [[nodiscard]] std::string parameters_json() const override {
    const Range& scale = parameters_.range.scale();
    const Range& ratio = parameters_.range.ratio();
    Json object = {{"p", parameters_.p},
                   {"scale", {scale.low, scale.high}},
                   {"ratio", {ratio.low, ratio.high}},
                   {"value", parameters_.value}};
    if (parameters_.mode == ErasingMode::pixel) object["value"] = "random";
    if (parameters_.mode == ErasingMode::color) {
      object.erase("value");
      object["mode"] = "rand";
    }
    if (parameters_.max_count != 1) {
      object["min_count"] = parameters_.min_count;
      object["max_count"] = parameters_.max_count;
    }
    return object.dump();
  }
  [[nodiscard]] bool takes_masks() const noexcept override { return false; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    const auto image = image_of(in);
    if (!image) {
      throw InvalidArgument(
          "random_erasing takes an image of 1 or 3 channels, first or last, not " +
          Json(in.shape).dump() + ".");
    }
    const auto values = parameters_.value.size();
    if (is_constant() && values > 1 && values != static_cast<std::size_t>(image->channels)) {
      throw InvalidArgument("random_erasing has a `value` of " + std::to_string(values) +
                            " numbers, and the image " + std::to_string(image->channels) +
                            " channels.");
    }
    check_dtype(in.dtype);
    return in;
  }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> out,
           StageContext& context) const override {
    const bool erases = context.draws().unit_f64() < parameters_.p;
    const TensorImage image = *image_of(context.input());
    const std::int64_t count = erases ? draw_count(context.draws()) : 0;
    bool erased = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto box = draw_erase_box(image.size, parameters_.range, context.draws(),
                                      static_cast<double>(count));
      if (!box) continue;
      note(*box, context);
      erased = true;
      erase(image, *box, out, context);
    }
    if (!erased) context.note("erase", 0);
  }

 private:
  [[nodiscard]] bool is_constant() const noexcept {
    return parameters_.mode == ErasingMode::constant;
  }
  [[nodiscard]] std::int64_t draw_count(Draws& draws) const noexcept {
    const std::int64_t more = parameters_.max_count - parameters_.min_count;
    if (more == 0) return parameters_.min_count;
    return parameters_.min_count +
           static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(more) + 1));
  }
  static void note(const Box& box, StageContext& context) {
    context.note("erase", 1);
    context.note("erase_x", box.x);
    context.note("erase_y", box.y);
    context.note("erase_w", box.width);
    context.note("erase_h", box.height);
  }
  void check_dtype(DType dtype) const {
    if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return;
    if (dtype != DType::u8) {
      throw InvalidArgument("random_erasing takes u8, f16, bf16 or f32, not " +
                            std::string(name_of(dtype)) + ".");
    }
    if (!is_constant()) {
      throw InvalidArgument("random_erasing with random values needs floats: put `to` before it.");
    }
    for (const double value : parameters_.value) {
      if (value != round_half_even(value) || value < 0 || value > 255) {
        throw InvalidArgument("random_erasing of u8 takes whole values from 0 to 255, not " +
                              text_of(value) + ".");
      }
    }
  }

  // By channel, row and column whatever the layout is, so that both draw the same.
  void erase(const TensorImage& image, const Box& box, std::span<std::byte> out,
             StageContext& context) const {
    const DType dtype = context.input().dtype;
    const std::size_t size = size_of(dtype);
    const auto width = static_cast<std::size_t>(image.size.width);
    const auto height = static_cast<std::size_t>(image.size.height);
    const auto channels = static_cast<std::size_t>(image.channels);
    const std::size_t column = image.channels_last ? channels * size : size;
    const std::size_t plane = image.channels_last ? size : width * height * size;
    NormalDraws normal(context.draws());
    const std::vector<double>& value = parameters_.value;
    for (std::size_t c = 0; c < channels; ++c) {
      float fixed = 0;
      if (is_constant()) fixed = static_cast<float>(value[value.size() == 1 ? 0 : c]);
      if (parameters_.mode == ErasingMode::color) fixed = normal.next();
      for (std::int32_t y = box.y; y < box.y + box.height; ++y) {
        std::byte* at = out.data() + c * plane + static_cast<std::size_t>(y) * width * column +
                        static_cast<std::size_t>(box.x) * column;
        for (std::int32_t x = 0; x < box.width; ++x, at += column) {
          store(at, dtype, parameters_.mode == ErasingMode::pixel ? normal.next() : fixed);
        }
      }
    }
  }

  ErasingParameters parameters_;
};

std::vector<double> erasing_value(StageParameters& parameters) {
  const auto value = parameters.numbers("value").value_or(std::vector<double>{0});
  if (value.size() != 1 && value.size() != 3) {
    parameters.refuse("value", "takes 1 or 3 numbers, not " + std::to_string(value.size()));
  }
  for (const double number : value) {
    if (!(number >= -1e30 && number <= 1e30)) {
      parameters.refuse("value", "is too large for a float: " + text_of(number));
    }
  }
  return value;
}

/// `mode` and `value`, whose "random" is what the mode "pixel" says.
void take_filling(StageParameters& parameters, ErasingParameters& result) {
  const bool has_mode = parameters.text("mode").has_value();
  result.mode = static_cast<ErasingMode>(choice(parameters, "mode", erasing_mode_names, 0));
  if (parameters.is_text("value")) {
    if (parameters.text("value") != "random") {
      parameters.refuse("value", "must be a number, one for each channel, or \"random\"");
    }
    if (has_mode && result.mode != ErasingMode::pixel) {
      parameters.refuse("value", "is \"random\", which is the mode \"pixel\": leave one out");
    }
    result.mode = ErasingMode::pixel;
  } else if (parameters.numbers("value") && result.mode != ErasingMode::constant) {
    parameters.refuse("value", "is for the mode \"const\": leave one of them out");
  }
  if (result.mode == ErasingMode::constant) result.value = erasing_value(parameters);
}

}  // namespace

StagePointer make_random_erasing(StageParameters& parameters) {
  ErasingParameters result;
  result.p = probability(parameters, result.p);
  result.range = BoxRange(range_in(parameters, "scale", result.range.scale(), {0, 1}),
                          range_in(parameters, "ratio", result.range.ratio(), ratio_bounds));
  take_filling(parameters, result);
  result.min_count = integer_in(parameters, "min_count", 1, 1, erasing_count_max);
  result.max_count =
      integer_in(parameters, "max_count", result.min_count, result.min_count, erasing_count_max);
  return std::make_shared<RandomErasingStage>(std::move(result));
}

}  // namespace batchcast::inline v0_1::detail

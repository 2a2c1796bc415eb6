// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "data/portable_math.hpp"
#include "data/stage/crop_box.hpp"
#include "data/stage/normal_draws.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

/// What boxes are filled with: a value, a drawn colour for each box, or a drawn number for each
/// element. erasing_mode_names has timm's names.
enum class ErasingMode : std::uint8_t { constant, color, pixel };

constexpr std::array<std::string_view, 3> erasing_mode_names = {"const", "rand", "pixel"};

constexpr std::int64_t erasing_count_max = 100;

struct Filling {
  ErasingMode mode = ErasingMode::constant;
  std::vector<double> value = {0};  ///< for each channel or for all, where that is constant
};

/// `mode`. The other two modes are printed as they were before there was a mode.
struct ModeOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Filling& value) const {
    return Choice{erasing_mode_names}.read(given, key, value.mode);
  }
  [[nodiscard]] nlohmann::json write(const Filling& value) const {
    if (value.mode != ErasingMode::color) return {};
    return Choice{erasing_mode_names}.write(value.mode);
  }
};

/// `value`, in which "random" means the mode "pixel". `mode` was read before.
struct ValueOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Filling& value) const {
    if (given.is_text(key)) {
      if (given.text(key) != "random") {
        given.refuse(key, "must be a number, one for each channel, or \"random\"");
      }
      if (given.text("mode") && value.mode != ErasingMode::pixel) {
        given.refuse(key, "is \"random\", which is the mode \"pixel\": leave one out");
      }
      value.mode = ErasingMode::pixel;
      return true;
    }
    const auto numbers = given.numbers(key);
    if (!numbers) return false;
    if (value.mode != ErasingMode::constant) {
      given.refuse(key, "is for the mode \"const\": leave one of them out");
    }
    if (numbers->size() != 1 && numbers->size() != 3) {
      given.refuse(key, text("takes 1 or 3 numbers, not {}", numbers->size()));
    }
    for (const double number : *numbers) {
      if (!(number >= -1e30 && number <= 1e30)) {
        given.refuse(key, text("is too large for a float: {}", text_of(number)));
      }
    }
    value.value = *numbers;
    return true;
  }
  [[nodiscard]] nlohmann::json write(const Filling& value) const {
    if (value.mode == ErasingMode::color) return {};
    if (value.mode == ErasingMode::pixel) return "random";
    return value.value;
  }
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

class RandomErasingStage final : public TableStage<RandomErasingStage, TensorStage> {
 public:
  static constexpr std::string_view stage_name = "random_erasing";
  static void rows(auto& self, auto& table) {
    table("p", self.p_, probability);
    BoxRange::rows(self.range_, table);
    table("mode", self.filling_, ModeOf());
    table("value", self.filling_, ValueOf());
    // Recipes that are older than these keep their identity.
    const bool several = self.max_count_ != 1;
    table("min_count", self.min_count_, Whole{1, erasing_count_max}, {.printed = several});
    table("max_count", self.max_count_, Whole{self.min_count_, erasing_count_max},
          {.printed = several});
  }
  void settle(StageParameters& /*given*/) {
    range_.settle();
    max_count_ = std::max(min_count_, max_count_);
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] bool takes_masks() const noexcept override { return false; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    const auto image = image_of(in);
    if (!image) {
      throw InvalidArgument(
          text("random_erasing takes an image of 1 or 3 channels, first or last, not {}.",
               nlohmann::json(in.shape).dump()));
    }
    const auto values = filling_.value.size();
    if (is_constant() && values > 1 && values != static_cast<std::size_t>(image->channels)) {
      throw InvalidArgument(
          text("random_erasing has a `value` of {} numbers, and the image {} channels.", values,
               image->channels));
    }
    check_dtype(in.dtype);
    return in;
  }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> out,
           StageContext& context) const override {
    const bool erases = context.draws().unit_f64() < p_;
    const TensorImage image = *image_of(context.input());
    const std::int64_t count = erases ? draw_count(context.draws()) : 0;
    bool erased = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto box =
          draw_erase_box(image.size, range_, context.draws(), static_cast<double>(count));
      if (!box) continue;
      note(*box, context);
      erased = true;
      erase(image, *box, out, context);
    }
    if (!erased) context.note("erase", 0);
  }

 private:
  [[nodiscard]] bool is_constant() const noexcept { return filling_.mode == ErasingMode::constant; }
  [[nodiscard]] std::int64_t draw_count(Draws& draws) const noexcept {
    const std::int64_t more = max_count_ - min_count_;
    if (more == 0) return min_count_;
    return min_count_ +
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
      throw InvalidArgument(
          text("random_erasing takes u8, f16, bf16 or f32, not {}.", name_of(dtype)));
    }
    if (!is_constant()) {
      throw InvalidArgument("random_erasing with random values needs floats: put `to` before it.");
    }
    for (const double value : filling_.value) {
      if (value != round_half_even(value) || value < 0 || value > 255) {
        throw InvalidArgument(
            text("random_erasing of u8 takes whole values from 0 to 255, not {}.", text_of(value)));
      }
    }
  }

  // Goes by channel, row and column for any layout, so that all layouts draw the same.
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
    const std::vector<double>& value = filling_.value;
    for (std::size_t c = 0; c < channels; ++c) {
      float fixed = 0;
      if (is_constant()) fixed = static_cast<float>(value[value.size() == 1 ? 0 : c]);
      if (filling_.mode == ErasingMode::color) fixed = normal.next();
      for (std::int32_t y = box.y; y < box.y + box.height; ++y) {
        std::byte* at = out.data() + c * plane + static_cast<std::size_t>(y) * width * column +
                        static_cast<std::size_t>(box.x) * column;
        for (std::int32_t x = 0; x < box.width; ++x, at += column) {
          store(at, dtype, filling_.mode == ErasingMode::pixel ? normal.next() : fixed);
        }
      }
    }
  }

  double p_ = 0.5;
  BoxRange range_{{0.02, 0.33}, {0.3, 3.3}};
  Filling filling_;
  std::int64_t min_count_ = 1;
  std::int64_t max_count_ = 1;
};

}  // namespace

void add_erasing(StandardStages& stages) { stages.add<RandomErasingStage>(); }

}  // namespace batchcast::inline v0_1::detail

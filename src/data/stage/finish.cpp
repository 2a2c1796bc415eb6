// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/text.hpp>

#include <array>
#include <string_view>

namespace batchcast::inline v0_1 {
namespace detail {
namespace {

// Tables of stages whose parameters the library's users may give in code.

struct DecodeTable {
  DecodeTable() = default;
  explicit DecodeTable(const DecodeStage::Parameters& parameters) : values(parameters) {
    if (values.mode != PixelMode::keep) return;
    channels = values.channels;
    bits = values.bits;
  }
  static constexpr std::string_view stage_name = "decode";
  static void rows(auto& self, auto& table) {
    table("mode", self.values.mode, Choice{pixel_mode_names});
    table("orient", self.values.orient, Flag());
    table("fast", self.values.fast, Flag());
    // 2^40 is what a user may want on purpose; a side is at most 2^31 - 1 anyway.
    table("pixels_max", self.values.pixels_max, Whole{1, std::int64_t{1} << 40});
    table("channels", self.channels, Whole{1, 4});
    table("bits", self.bits, Either{8, 16, "8 or 16"});
  }
  void settle(StageParameters& given) {
    if (values.mode != PixelMode::keep) {
      if (channels) given.refuse("channels", "is for the mode `keep` only");
      if (bits) given.refuse("bits", "is for the mode `keep` only");
      return;
    }
    if (!channels) {
      given.refuse("channels",
                   "is missing: 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGB and alpha); "
                   "images that have another number are bad samples");
    }
    if (!bits) {
      given.refuse("bits", "is missing: 8 or 16; images that have others are bad samples");
    }
    if (values.fast) given.refuse("fast", "mixes pixels, which the mode `keep` does not");
    values.channels = *channels;
    values.bits = *bits;
  }
  [[nodiscard]] auto stage() const { return std::make_shared<DecodeStage>(values); }

  DecodeStage::Parameters values;
  std::optional<std::int32_t> channels;
  std::optional<std::int32_t> bits;
};

constexpr std::array<std::string_view, 2> channel_order_names = {"rgb", "bgr"};

struct ToTable {
  static constexpr std::string_view stage_name = "to";
  static void rows(auto& self, auto& table) {
    table("dtype", self.values.dtype, Choice{dtype_names});
    table("layout", self.values.layout, Choice{layout_names});
    // Recipes that are older than the parameter keep their identity.
    table("channel_order", self.values.bgr, Choice{channel_order_names},
          {.printed = self.values.bgr});
  }
  void settle(StageParameters& /*given*/) {}
  [[nodiscard]] auto stage() const { return std::make_shared<ToStage>(values); }

  ToStage::Parameters values;
};

/// One number, or one for each of three channels.
struct ForChannels {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::vector<double>& value) const {
    auto numbers = given.numbers(key);
    if (!numbers) return false;
    if (numbers->size() != 1 && numbers->size() != 3) {
      given.refuse(key,
                   text("takes 1 or 3 numbers, one for each channel, not {}", numbers->size()));
    }
    value = std::move(*numbers);
    return true;
  }
  [[nodiscard]] nlohmann::json write(const std::vector<double>& value) const { return value; }
};

struct NormalizeTable {
  static constexpr std::string_view stage_name = "normalize";
  static void rows(auto& self, auto& table) {
    constexpr const char* text = "one number for each channel";
    table("mean", self.values.mean, ForChannels(), {.missing = text});
    table("std", self.values.std, ForChannels(), {.missing = text});
  }
  void settle(StageParameters& given) {
    if (values.mean.size() != values.std.size()) {
      given.refuse("std",
                   text("has {} numbers and `mean` {}", values.std.size(), values.mean.size()));
    }
    for (const double deviation : values.std) {
      // The stage multiplies by the inverse, as a float.
      if (!(deviation >= 1e-30)) {
        given.refuse("std", text("must be above 0, not {}", text_of(deviation)));
      }
    }
  }
  [[nodiscard]] auto stage() const { return std::make_shared<NormalizeStage>(values); }

  NormalizeStage::Parameters values;
};

}  // namespace

void add_finish(StandardStages& stages) {
  stages.add<DecodeTable>();
  stages.add<ToTable>();
  stages.add<NormalizeTable>();
}

}  // namespace detail

std::string DecodeStage::parameters_json() const {
  return detail::json_of(detail::listed(detail::DecodeTable(parameters_)));
}

std::string ToStage::parameters_json() const {
  return detail::json_of(detail::listed(detail::ToTable{parameters_}));
}

std::string NormalizeStage::parameters_json() const {
  return detail::json_of(detail::listed(detail::NormalizeTable{parameters_}));
}

}  // namespace batchcast::inline v0_1

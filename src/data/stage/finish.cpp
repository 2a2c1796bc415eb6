// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1 {

using Json = nlohmann::json;

std::string DecodeStage::parameters_json() const {
  Json object = {{"mode", detail::pixel_mode_names[static_cast<std::size_t>(parameters_.mode)]},
                 {"orient", parameters_.orient},
                 {"fast", parameters_.fast},
                 {"pixels_max", parameters_.pixels_max}};
  if (parameters_.mode == PixelMode::keep) {
    object["channels"] = parameters_.channels;
    object["bits"] = parameters_.bits;
  }
  return object.dump();
}

std::string ToStage::parameters_json() const {
  return Json({{"dtype", name_of(parameters_.dtype)},
               {"layout", detail::layout_names[static_cast<std::size_t>(parameters_.layout)]}})
      .dump();
}

std::string NormalizeStage::parameters_json() const {
  return Json({{"mean", parameters_.mean}, {"std", parameters_.std}}).dump();
}

namespace detail {
namespace {

std::vector<double> for_channels(StageParameters& parameters, std::string_view key) {
  auto values = parameters.numbers(key);
  if (!values) parameters.refuse(key, "is missing: one number for each channel");
  if (values->size() != 1 && values->size() != 3) {
    parameters.refuse(
        key, "takes 1 or 3 numbers, one for each channel, not " + std::to_string(values->size()));
  }
  return *values;
}

}  // namespace

/// What images must have that are kept as they are; for other modes neither may be given.
void take_kept(StageParameters& parameters, DecodeStage::Parameters& result) {
  const auto channels = parameters.integer("channels");
  const auto bits = parameters.integer("bits");
  if (result.mode != PixelMode::keep) {
    if (channels) parameters.refuse("channels", "is for the mode `keep` only");
    if (bits) parameters.refuse("bits", "is for the mode `keep` only");
    return;
  }
  if (!channels) {
    parameters.refuse("channels",
                      "is missing: 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGB and alpha); "
                      "images that have another number are bad samples");
  }
  result.channels = static_cast<std::int32_t>(integer_in(parameters, "channels", 3, 1, 4));
  if (!bits) {
    parameters.refuse("bits", "is missing: 8 or 16; images that have others are bad samples");
  }
  if (*bits != 8 && *bits != 16) {
    parameters.refuse("bits", "must be 8 or 16, not " + std::to_string(*bits));
  }
  result.bits = static_cast<std::int32_t>(*bits);
  if (result.fast) parameters.refuse("fast", "mixes pixels, which the mode `keep` does not");
}

StagePointer make_decode(StageParameters& parameters) {
  DecodeStage::Parameters result;
  result.mode = static_cast<PixelMode>(
      choice(parameters, "mode", pixel_mode_names, static_cast<std::size_t>(result.mode)));
  result.orient = parameters.boolean("orient").value_or(result.orient);
  result.fast = parameters.boolean("fast").value_or(result.fast);
  // 2^40: what one may ask for on purpose; a side is at most 2^31 - 1 anyway.
  result.pixels_max =
      integer_in(parameters, "pixels_max", result.pixels_max, 1, std::int64_t{1} << 40);
  take_kept(parameters, result);
  return std::make_shared<DecodeStage>(result);
}

StagePointer make_to(StageParameters& parameters) {
  ToStage::Parameters result;
  result.dtype = static_cast<DType>(
      choice(parameters, "dtype", dtype_names, static_cast<std::size_t>(result.dtype)));
  result.layout = static_cast<ImageLayout>(
      choice(parameters, "layout", layout_names, static_cast<std::size_t>(result.layout)));
  return std::make_shared<ToStage>(result);
}

StagePointer make_normalize(StageParameters& parameters) {
  NormalizeStage::Parameters result{for_channels(parameters, "mean"),
                                    for_channels(parameters, "std")};
  if (result.mean.size() != result.std.size()) {
    parameters.refuse("std", "has " + std::to_string(result.std.size()) + " numbers and `mean` " +
                                 std::to_string(result.mean.size()));
  }
  for (const double deviation : result.std) {
    // Its inverse is multiplied with, as a float.
    if (!(deviation >= 1e-30)) {
      parameters.refuse("std", "must be above 0, not " + text_of(deviation));
    }
  }
  return std::make_shared<NormalizeStage>(std::move(result));
}

}  // namespace detail
}  // namespace batchcast::inline v0_1

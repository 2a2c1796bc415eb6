// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/parameter_table.hpp"

#include <batchcast/core/text.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

std::string from_to(double low, double high) {
  return text("from {} to {}", text_of(low), text_of(high));
}

Range range_of(StageParameters& given, std::string_view key, const std::vector<double>& numbers,
               double low, double high) {
  if (numbers.size() != 2) {
    given.refuse(key, text("must be [min, max], not a list of {}", numbers.size()));
  }
  const Range range{numbers[0], numbers[1]};
  if (!(range.low <= range.high)) {
    given.refuse(key, text("must be [min, max] in that order, not {}", text_of(range)));
  }
  if (!(low <= range.low && range.high <= high)) {
    given.refuse(key, text("must lie {}, not {}", from_to(low, high), text_of(range)));
  }
  return range;
}

}  // namespace

bool Flag::read(StageParameters& given, std::string_view key, bool& value) const {
  const auto found = given.boolean(key);
  value = found.value_or(value);
  return found.has_value();
}

std::string Number::text() const { return batchcast::text("a number {}", from_to(low, high)); }

bool Number::read(StageParameters& given, std::string_view key, double& value) const {
  const auto found = given.number(key);
  if (!found) return false;
  if (!(*found >= low && *found <= high)) {
    given.refuse(key, batchcast::text("must be {}, not {}", from_to(low, high), text_of(*found)));
  }
  value = *found;
  return true;
}

bool Either::read(StageParameters& given, std::string_view key, std::int32_t& value) const {
  const auto found = given.integer(key);
  if (!found) return false;
  if (*found != first && *found != second) {
    given.refuse(key, text("must be {}, not {}", words, *found));
  }
  value = static_cast<std::int32_t>(*found);
  return true;
}

bool Between::read(StageParameters& given, std::string_view key, Range& value) const {
  const auto numbers = given.numbers(key);
  if (numbers) value = range_of(given, key, *numbers, low, high);
  return numbers.has_value();
}

bool Spread::read(StageParameters& given, std::string_view key, Range& value) const {
  const auto numbers = given.numbers(key);
  if (!numbers) return false;
  if (numbers->size() == 1) {
    double far = 0;
    static_cast<void>(Number{0, most}.read(given, key, far));
    value = {-far, far};
  } else {
    value = range_of(given, key, *numbers, -most, most);
  }
  return true;
}

bool Pair::read(StageParameters& given, std::string_view key, std::array<double, 2>& value) const {
  const auto numbers = given.numbers(key);
  if (!numbers) return false;
  if (numbers->size() != 2) {
    given.refuse(key, text("must be [x, y], not a list of {}", numbers->size()));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    value[i] = (*numbers)[i];
    if (value[i] >= low && value[i] <= high) continue;
    given.refuse(key, text("must lie {}, not at {}", from_to(low, high), text_of(value[i])));
  }
  return true;
}

bool Sides::read(StageParameters& given, std::string_view key, ImageSize& value) const {
  std::vector<std::int64_t> sides;
  if (!Wholes{1, side_max}.read(given, key, sides)) return false;
  if (sides.empty() || sides.size() > 2) {
    given.refuse(key, batchcast::text("must be one number or [height, width], not a list of {}",
                                      sides.size()));
  }
  value = {static_cast<std::int32_t>(sides.back()), static_cast<std::int32_t>(sides.front())};
  return true;
}

bool Wholes::read(StageParameters& given, std::string_view key,
                  std::vector<std::int64_t>& value) const {
  const auto numbers = given.numbers(key);
  if (!numbers) return false;
  value.clear();
  for (const double number : *numbers) {
    const bool inside = number >= static_cast<double>(low) && number <= static_cast<double>(high);
    if (!inside || static_cast<double>(static_cast<std::int64_t>(number)) != number) {
      given.refuse(key,
                   text("takes whole numbers from {} to {}, not {}", low, high, text_of(number)));
    }
    value.push_back(static_cast<std::int64_t>(number));
  }
  return true;
}

bool InnerStages::read(StageParameters& given, std::string_view key,
                       std::vector<RecipeStage>& value) const {
  auto stages = given.stages(key);
  if (!stages || stages->empty()) return false;
  value = std::move(*stages);
  return true;
}

std::string json_of(std::vector<ListedParameter> parameters) {
  Json object = Json::object();
  for (ListedParameter& parameter : parameters) {
    if (parameter.otherwise.is_null()) continue;
    object[parameter.name] = std::move(parameter.otherwise);
  }
  return object.dump();
}

}  // namespace batchcast::inline v0_1::detail

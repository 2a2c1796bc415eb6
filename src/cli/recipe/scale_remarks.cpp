// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/recipe/scale_remarks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace batchcast::cli {
namespace {

using Json = nlohmann::json;

std::vector<double> numbers(const Json& stage, const char* key) {
  std::vector<double> found;
  const Json value = stage.value(key, Json());
  if (value.is_number()) return {value.get<double>()};
  if (!value.is_array()) return found;
  for (const Json& one : value) {
    if (one.is_number()) found.push_back(one.get<double>());
  }
  return found;
}

// A mean of pixels from 0 to 1 is no larger than 1, and their standard deviation is at most 0.5.
// Those of 0 to 255 are hardly below 2 in each channel.
bool is_of_bytes(const std::vector<double>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](double one) { return one > 1.5; });
}

std::string in_words(const std::vector<double>& numbers, double divisor) {
  std::vector<std::string> words;
  for (const double one : numbers) words.push_back(fmt::format("{:.6g}", one / divisor));
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  return words.size() == 1 ? list : "[" + list + "]";
}

std::string remark_on(const std::string& field, const Json& stage) {
  std::string given;
  std::string meant;
  for (const char* const key : {"mean", "std"}) {
    const std::vector<double> values = numbers(stage, key);
    if (!is_of_bytes(values)) continue;
    given += fmt::format("{}{} {}", given.empty() ? "" : " and ", key, in_words(values, 1));
    meant += fmt::format("{}{} = {}", meant.empty() ? "" : " and ", key, in_words(values, 255));
  }
  if (given.empty()) return {};
  return fmt::format(
      "`normalize` of the field `{}` has {}, as for pixels from 0 to 255, and after `to` they are "
      "0 "
      "to 1. Divide by 255: {}.",
      field, given, meant);
}

}  // namespace

std::vector<std::string> scale_remarks(const BoardRecipe& recipe) {
  std::vector<std::string> remarks;
  for (const std::string& field : recipe.field_names()) {
    for (const Json& stage : recipe.stages_of(field)) {
      if (!stage.is_object() || stage.value("stage", Json()) != "normalize") continue;
      if (std::string remark = remark_on(field, stage); !remark.empty()) {
        remarks.push_back(std::move(remark));
      }
    }
  }
  return remarks;
}

}  // namespace batchcast::cli

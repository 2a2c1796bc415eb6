// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/stage_choices.hpp"

#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

std::string words(ImageSize size) { return text("{}x{}", size.width, size.height); }

nlohmann::json list_of(const Range& range) {
  return nlohmann::json::array({range.low, range.high});
}

std::string text_of(double value) {
  std::string text = nlohmann::json(value).dump();
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string text_of(const Range& range) {
  return text("[{}, {}]", text_of(range.low), text_of(range.high));
}

bool happens(double p, StageContext& context) noexcept {
  return is_open(p) ? context.draws().unit_f64() < p : p > 0;
}

double draw_between(const Range& range, Draws& draws) noexcept {
  return range.low + (range.high - range.low) * draws.unit_f64();
}

std::int64_t integer_in(StageParameters& parameters, std::string_view key, std::int64_t otherwise,
                        std::int64_t low, std::int64_t high) {
  const std::int64_t value = parameters.integer(key).value_or(otherwise);
  if (value < low || value > high) {
    parameters.refuse(key, text("must be from {} to {}, not {}", low, high, value));
  }
  return value;
}

namespace {

/// torch.int64 and int64 are i64.
std::string short_dtype(std::string name) {
  if (name.starts_with("torch.")) name.erase(0, 6);
  for (const std::string_view word : {"uint", "int", "float"}) {
    if (name.starts_with(word)) return name.front() + name.substr(word.size());
  }
  return name == "bfloat16" ? "bf16" : name;
}

}  // namespace

std::size_t choice(StageParameters& parameters, std::string_view key,
                   std::span<const std::string_view> names, std::size_t otherwise) {
  const auto chosen = parameters.text(key);
  if (!chosen) return otherwise;
  const auto found = std::find(names.begin(), names.end(), *chosen);
  if (found == names.end()) {
    const std::vector<std::string> all(names.begin(), names.end());
    std::string list;
    for (const std::string& name : all) list += (list.empty() ? "" : ", ") + name;
    const std::string meant = key == "dtype" ? short_dtype(*chosen) : *chosen;
    parameters.refuse(
        key, text("must be one of {}, not `{}`.{}", list, *chosen, did_you_mean(meant, all)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace batchcast::inline v0_1::detail

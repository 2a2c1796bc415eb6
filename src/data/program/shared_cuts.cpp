// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/shared_cuts.hpp"

#include "data/program/placing.hpp"

#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// Containers do not cut: what they hold does.
bool is_cut(const NamedStage& stage) {
  return stage.stages.empty() && stage.stage->is_random() && places_by_size(stage);
}

const DecodeStage* decoding_of(const ResolvedField& field) {
  return field.stages.empty() ? nullptr : field.stages.front().stage->as_decode();
}

bool have_same_pixels(const ResolvedField& a, const ResolvedField& b) {
  if (a.from != b.from || a.scale != b.scale) return false;
  const DecodeStage* const in_a = decoding_of(a);
  const DecodeStage* const in_b = decoding_of(b);
  if (in_a == nullptr || in_b == nullptr) return in_a == in_b;
  return in_a->parameters().orient == in_b->parameters().orient;
}

void number(NamedStage& stage, const std::map<std::size_t, std::int32_t>& numbers,
            std::size_t& place) {
  const auto found = numbers.find(place++);
  if (found != numbers.end()) stage.cut = found->second;
  for (NamedStage& inner : stage.stages) number(inner, numbers, place);
}

}  // namespace

std::vector<SharedCut> SharedCuts::between(std::size_t first, std::size_t second,
                                           const ComparedField& a, const ComparedField& b) {
  std::vector<SharedCut> shared;
  if (have_same_pixels(a.field, b.field)) return shared;
  using Draws = std::pair<std::string_view, std::string_view>;
  std::map<Draws, std::size_t> in_b;
  for (std::size_t i = 0; i < b.stages.size(); ++i) {
    if (is_cut(*b.stages[i])) in_b.emplace(Draws(b.stages[i]->group, b.stages[i]->path), i);
  }
  for (std::size_t i = 0; i < a.stages.size(); ++i) {
    if (!is_cut(*a.stages[i])) continue;
    const auto other = in_b.find(Draws(a.stages[i]->group, a.stages[i]->path));
    if (other == in_b.end()) continue;
    shared.push_back({number_of(first, i), number_of(second, other->second)});
  }
  return shared;
}

void SharedCuts::write() {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    fields_[i].cuts = static_cast<std::int32_t>(numbers_[i].size());
    std::size_t place = 0;
    for (NamedStage& stage : fields_[i].stages) number(stage, numbers_[i], place);
  }
}

std::int32_t SharedCuts::number_of(std::size_t field, std::size_t stage) {
  const auto next = static_cast<std::int32_t>(numbers_[field].size());
  return numbers_[field].emplace(stage, next).first->second;
}

}  // namespace batchcast::inline v0_1::detail

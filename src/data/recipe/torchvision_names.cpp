// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/torchvision_names.hpp"

#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>

namespace batchcast::inline v0_1::detail {
namespace {

struct Other {
  std::string_view plain;  ///< as plain_of() writes it
  std::string_view ours;
};

/// Names that become ours only with `random` in front.
constexpr std::array<Other, 10> others = {{
    {"totensor", "to"},
    {"todtype", "to"},
    {"toimage", "to"},
    {"piltotensor", "to"},
    {"convertimagedtype", "to"},
    {"cutout", "random_erasing"},
    {"adjustsharpness", "sharpness"},
    {"shortestsize", "random_short_side"},
    {"elastictransform", "elastic"},
    {"rgb", "decode"},
}};

constexpr std::array<std::string_view, 2> of_batches = {"mixup", "cutmix"};

/// Letters in lower case only: RandomResizedCrop and random_resized_crop are one name.
std::string plain_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '_' || c == '-') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

}  // namespace

std::string meant_stage(std::string_view wanted, std::span<const std::string> names) {
  constexpr std::string_view random = "random";
  const auto question = [](std::string_view name) { return text(" Did you mean `{}`?", name); };
  std::string plain = plain_of(wanted);
  for (const bool shortened : {false, true}) {
    if (shortened) {
      if (!plain.starts_with(random)) break;
      plain.erase(0, random.size());
    }
    if (std::find(of_batches.begin(), of_batches.end(), plain) != of_batches.end()) {
      return " It mixes samples of a batch, which is a trainer's own work: docs/torch.md says how.";
    }
    for (const std::string& name : names) {
      if (plain_of(name) == plain) return question(name);
    }
    for (const Other& other : others) {
      if (other.plain != plain) continue;
      if (std::find(names.begin(), names.end(), other.ours) != names.end()) {
        return question(other.ours);
      }
    }
  }
  return did_you_mean(wanted, names);
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The names of the two recipes in messages.
struct ComparedNames {
  std::string stream = "the stream has";
  std::string asked = "asked for";
};

/// A recipe's stages, fields and joints by their names: `image (decode, resize)`. Values without a
/// name are JSON, cut where it is long.
[[nodiscard]] std::string in_words(const nlohmann::json& value);

/// What differs between a stream's recipe and the one asked for, in the order of keys. An entry is
/// `recipe.fields[0].stages[1].size: the stream has 224, asked for 192`. Empty where they are
/// equal. Both may be hostile; their parsers limit how deep they are.
[[nodiscard]] std::vector<std::string> recipe_differences(const nlohmann::json& stream,
                                                          const nlohmann::json& asked,
                                                          const ComparedNames& names = {});

}  // namespace batchcast::inline v0_1::detail

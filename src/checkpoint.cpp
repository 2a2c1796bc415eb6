// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/checkpoint.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/schema.hpp>

#include "start_difference.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace batchcast {
namespace {

using Json = nlohmann::json;

constexpr std::size_t lines_max = 12;

/// What a board says of a recipe for people to read, or of how long the stream goes on, is no part
/// of what its samples are.
Json what_makes_samples(const std::string& recipe_json) {
  Json recipe = Json::parse(recipe_json, nullptr, false);
  if (!recipe.is_object()) return recipe;
  for (const char* key : {"identity", "on_bad_sample", "epochs"}) recipe.erase(key);
  if (const auto source = recipe.find("source"); source != recipe.end() && source->is_object()) {
    for (const char* key : {"location", "directory"}) source->erase(key);
  }
  return recipe;
}

std::string in_words(const Checkpoint& checkpoint) {
  return "`" + checkpoint.stream + "` with " + std::to_string(checkpoint.samples_per_epoch) +
         " samples an epoch of " + checkpoint.schema_json;
}

[[noreturn]] void refuse(const Checkpoint& saved, const std::string& what) {
  throw RecipeMismatch("batchcast: the checkpoint is of stream `" + saved.stream + "`, position " +
                       std::to_string(saved.cursor) + ", and " + what +
                       "\nServe the stream as it was served then, or begin without the "
                       "checkpoint's position.");
}

}  // namespace

Checkpoint checkpoint_of(const Consumer& consumer, std::string stream) {
  return {.cursor = consumer.cursor(),
          .stream = std::move(stream),
          .recipe_json = consumer.pure() ? consumer.recipe_json() : std::string(),
          .schema_json = schema_to_json(consumer.schema()),
          .samples_per_epoch = consumer.samples_per_epoch()};
}

void check_same_samples(const Checkpoint& saved, const Checkpoint& served) {
  if (saved.recipe_json.empty() != served.recipe_json.empty()) {
    refuse(saved, saved.recipe_json.empty() ? "that was not pure; the one that is served now is."
                                            : "that was pure; the one that is served now is not.");
  }
  if (saved.recipe_json.empty()) {
    if (saved.stream == served.stream && saved.schema_json == served.schema_json &&
        saved.samples_per_epoch == served.samples_per_epoch) {
      return;
    }
    refuse(saved,
           "neither that nor the one that is served now is pure, to be known by a recipe; it was " +
               in_words(saved) + ", and is " + in_words(served) + ".");
  }
  const std::vector<std::string> lines = detail::recipe_differences(
      what_makes_samples(served.recipe_json), what_makes_samples(saved.recipe_json));
  if (lines.empty()) return;
  std::string text = "`" + served.stream + "` has another recipe now:";
  for (std::size_t i = 0; i < std::min(lines.size(), lines_max); ++i) text += "\n  " + lines[i];
  if (lines.size() > lines_max) {
    text += "\n  … and " + std::to_string(lines.size() - lines_max) + " more";
  }
  refuse(saved, text);
}

}  // namespace batchcast

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/checkpoint.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/json_member.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/schema.hpp>

#include <utility>

namespace batchcast::inline v0_1 {
namespace detail::saved_place {

/// How long a stream goes on is no part of what its samples are.
inline std::string without_epochs(std::string recipe_json) {
  const auto member = json_member(recipe_json, "epochs");
  if (!member) return recipe_json;
  auto [begin, value, end] = *member;
  if (end < recipe_json.size() && recipe_json[end] == ',') {
    ++end;
  } else if (recipe_json[begin - 1] == ',') {
    --begin;
  }
  return recipe_json.erase(begin, end - begin);
}

inline std::string in_words(const Checkpoint& checkpoint) {
  return "`" + checkpoint.stream + "` with " + std::to_string(checkpoint.samples_per_epoch) +
         " samples an epoch of " + checkpoint.schema_json;
}

[[noreturn]] inline void refuse(const Checkpoint& saved, const std::string& what) {
  throw RecipeMismatch("batchcast: the checkpoint is of stream `" + saved.stream + "`, position " +
                       std::to_string(saved.cursor) + ", and " + what +
                       "\nServe the stream as it was served then, or begin without the "
                       "checkpoint's position.");
}

/// A stream that is not pure may have other samples whenever it is served again.
inline void warn_of_another_ring(const Checkpoint& saved, const Checkpoint& served,
                                 const LogCallback& log) {
  if (saved.incarnation.empty() || saved.incarnation == served.incarnation) return;
  report(log, LogLevel::warning,
         "batchcast: the checkpoint is of stream `" + saved.stream + "`, position " +
             std::to_string(saved.cursor) +
             ", of another producer (or of its ring on another device). The stream is not pure: "
             "its samples from there on may be others than those that followed then.");
}

}  // namespace detail::saved_place

BATCHCAST_INLINE Checkpoint checkpoint_of(const Consumer& consumer, std::string stream) {
  return {.cursor = consumer.cursor(),
          .stream = std::move(stream),
          .recipe_json = consumer.pure() ? consumer.recipe_json() : std::string(),
          .schema_json = schema_to_json(consumer.schema()),
          .samples_per_epoch = consumer.samples_per_epoch(),
          .identity = consumer.pure() ? consumer.identity() : std::string(),
          .incarnation = consumer.incarnation()};
}

BATCHCAST_INLINE void check_same_samples(const Checkpoint& saved, const Checkpoint& served,
                                         const LogCallback& log) {
  if (saved.recipe_json.empty() != served.recipe_json.empty()) {
    detail::saved_place::refuse(saved, saved.recipe_json.empty()
                                           ? "that was not pure; the one that is served now is."
                                           : "that was pure; the one that is served now is not.");
  }
  if (saved.recipe_json.empty()) {
    if (saved.stream == served.stream && saved.schema_json == served.schema_json &&
        saved.samples_per_epoch == served.samples_per_epoch) {
      return detail::saved_place::warn_of_another_ring(saved, served, log);
    }
    detail::saved_place::refuse(
        saved,
        "neither that nor the one that is served now is pure, to be known by a recipe; it was " +
            detail::saved_place::in_words(saved) + ", and is " +
            detail::saved_place::in_words(served) + ".");
  }
  // A checkpoint of an earlier version has it in its recipe, or nowhere.
  const std::string identity =
      saved.identity.empty() ? detail::identity_in(saved.recipe_json) : saved.identity;
  const bool known = !identity.empty() && !served.identity.empty();
  if (known ? identity == served.identity
            : detail::saved_place::without_epochs(saved.recipe_json) ==
                  detail::saved_place::without_epochs(served.recipe_json)) {
    return;
  }
  detail::saved_place::refuse(
      saved,
      "`" + served.stream + "` has another recipe now" +
          (known ? ": its identity is " + served.identity + ", and the checkpoint's is " + identity
                 : std::string()) +
          ". `batchcast recipe --diff A B` shows in what two recipes differ.");
}

}  // namespace batchcast::inline v0_1

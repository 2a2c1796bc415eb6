// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/checkpoint.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/json_member.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/schema.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail::saved_place {

inline std::string without_member(std::string json, std::string_view key) {
  const auto member = json_member(json, key);
  if (!member) return json;
  auto [begin, value, end] = *member;
  if (end < json.size() && json[end] == ',') {
    ++end;
  } else if (json[begin - 1] == ',') {
    --begin;
  }
  return json.erase(begin, end - begin);
}

/// The number of epochs is no part of what a stream's samples are.
inline std::string without_epochs(std::string recipe_json) {
  return without_member(std::move(recipe_json), "epochs");
}

/// The keys of an object, in text as json_member takes it.
inline std::vector<std::string_view> keys_in(std::string_view json) {
  std::vector<std::string_view> keys;
  for (std::size_t at = 1; at < json.size() && json[at] == '"';) {
    const std::size_t key_end = json_string_end(json, at);
    if (key_end >= json.size() || json[key_end] != ':') break;
    keys.push_back(json.substr(at + 1, key_end - at - 2));
    at = json_value_end(json, key_end + 1) + 1;
  }
  return keys;
}

/// In which members two recipes differ, with the values of those that are short.
class Differences {
 public:
  /// Of the members of two objects, which stand at `path`.
  void add_members(const std::string& path, std::string_view saved, std::string_view served,
                   int depth) {
    std::vector<std::string_view> keys = keys_in(saved);
    for (const std::string_view key : keys_in(served)) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    for (const std::string_view key : keys) {
      const std::string whole = path.empty() ? std::string(key) : text("{}.{}", path, key);
      if (!is_told(whole)) add(whole, value_in(saved, key), value_in(served, key), depth);
    }
  }
  [[nodiscard]] std::string in_words() const {
    if (list_.empty()) return {};
    return text("{}{}", list_, shows_all_ ? "." : "; the checkpoint has its own as recipe_json.");
  }

 private:
  static constexpr std::size_t shown_max = 48;
  static constexpr int depth_max = 4;

  static std::string_view value_in(std::string_view json, std::string_view key) {
    const auto member = json_member(json, key);
    return member ? json.substr(member->value, member->end - member->value) : "none";
  }
  /// What a recipe says for people, or what follows from its other members.
  static bool is_told(std::string_view path) {
    static constexpr std::array<std::string_view, 4> told = {"identity", "epochs", "tokens",
                                                             "source.directory"};
    return std::find(told.begin(), told.end(), path) != told.end();
  }
  void add(const std::string& path, std::string_view saved, std::string_view served, int depth) {
    if (saved == served) return;
    const bool are_objects = saved.starts_with('{') && served.starts_with('{');
    if (are_objects && depth < depth_max) return add_members(path, saved, served, depth + 1);
    const bool is_shown = saved.size() <= shown_max && served.size() <= shown_max;
    list_ += text("{}{}`", list_.empty() ? " They differ in `" : ", `", printable(path));
    if (is_shown) list_ += text(" ({} then, {} now)", printable(saved), printable(served));
    shows_all_ = shows_all_ && is_shown;
  }

  std::string list_;
  bool shows_all_ = true;
};

inline std::string what_differs(std::string_view saved, std::string_view served) {
  Differences found;
  found.add_members("", saved, served, 0);
  return found.in_words();
}

inline std::string in_words(const Checkpoint& checkpoint) {
  return text("`{}` with {} samples an epoch of {}", checkpoint.stream,
              checkpoint.samples_per_epoch, checkpoint.schema_json);
}

[[noreturn]] inline void refuse(const Checkpoint& saved, const std::string& what) {
  throw RecipeMismatch(
      text("batchcast: the checkpoint is of stream `{}`, position {}, and {}\nServe the stream as "
           "it was served then, or begin without the checkpoint's position.",
           saved.stream, saved.cursor, what));
}

/// A stream that is not pure may have other samples whenever it is served again.
inline void warn_of_another_ring(const Checkpoint& saved, const Checkpoint& served,
                                 const LogCallback& log) {
  if (saved.incarnation.empty() || saved.incarnation == served.incarnation) return;
  report(log, LogLevel::warning,
         text("batchcast: the checkpoint is of stream `{}`, position {}, of another producer (or "
              "of its ring on another device). The stream is not pure: its samples from there on "
              "may be others than those that followed then.",
              saved.stream, saved.cursor));
}

}  // namespace detail::saved_place

BATCHCAST_INLINE Checkpoint checkpoint_of(const Consumer& consumer, std::string stream) {
  return {.cursor = consumer.cursor(),
          .stream = std::move(stream),
          .recipe_json = consumer.pure() ? consumer.recipe_json() : std::string(),
          .schema_json = schema_to_json(consumer.schema()),
          .samples_per_epoch = consumer.cursors_per_epoch(),
          .identity = consumer.pure() ? consumer.identity() : std::string(),
          .incarnation = consumer.incarnation(),
          .cursor_row = consumer.cursor_row()};
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
        saved, text("neither that nor the one that is served now is pure, to be known by a recipe; "
                    "it was {}, and is {}.",
                    detail::saved_place::in_words(saved), detail::saved_place::in_words(served)));
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
      saved, text("`{}` has another recipe now{}.{}", served.stream,
                  known ? text(": its identity is {}, and the checkpoint's is {}", served.identity,
                               identity)
                        : "",
                  detail::saved_place::what_differs(saved.recipe_json, served.recipe_json)));
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/parameters.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {

using Kind = RecipeValue::Kind;

TableParameters::TableParameters(const RecipeValue& table, std::string_view origin,
                                 std::string subject, StageReader read_stages)
    : table_(table),
      origin_(origin),
      subject_(std::move(subject)),
      read_stages_(std::move(read_stages)) {}

std::optional<bool> TableParameters::boolean(std::string_view key) {
  const RecipeValue* found = value(key, Kind::boolean, "true or false");
  return found != nullptr ? std::optional(found->boolean) : std::nullopt;
}

std::optional<std::int64_t> TableParameters::integer(std::string_view key) {
  const RecipeValue* found = value(key, Kind::integer, "a whole number");
  return found != nullptr ? std::optional(found->integer) : std::nullopt;
}

std::optional<double> TableParameters::number(std::string_view key) {
  const RecipeValue* found = ask(key);
  return found != nullptr ? std::optional(finite(key, *found)) : std::nullopt;
}

std::optional<std::string> TableParameters::text(std::string_view key) {
  const RecipeValue* found = value(key, Kind::text, "a text in quotes");
  return found != nullptr ? std::optional(found->text) : std::nullopt;
}

std::optional<std::vector<double>> TableParameters::numbers(std::string_view key) {
  const RecipeValue* found = ask(key);
  if (found == nullptr) return std::nullopt;
  std::vector<double> result;
  if (found->is(Kind::list)) {
    for (const RecipeValue& item : found->items) result.push_back(finite(key, item));
  } else if (found->is(Kind::integer) || found->is(Kind::number)) {
    result.push_back(finite(key, *found));
  } else {
    refuse_kind(key, "a number or a list of numbers", *found);
  }
  return result;
}

std::optional<std::vector<std::vector<double>>> TableParameters::number_lists(
    std::string_view key) {
  constexpr std::string_view expected = "a list of lists of numbers";
  const RecipeValue* found = value(key, Kind::list, expected);
  if (found == nullptr) return std::nullopt;
  std::vector<std::vector<double>> result;
  for (const RecipeValue& item : found->items) {
    if (!item.is(Kind::list)) refuse_kind(key, expected, item);
    std::vector<double>& numbers = result.emplace_back();
    for (const RecipeValue& number : item.items) numbers.push_back(finite(key, number));
  }
  return result;
}

std::optional<std::vector<std::string>> TableParameters::texts(std::string_view key) {
  const RecipeValue* found = value(key, Kind::list, "a list of texts in quotes");
  if (found == nullptr) return std::nullopt;
  std::vector<std::string> result;
  for (const RecipeValue& item : found->items) {
    if (!item.is(Kind::text)) refuse_kind(key, "a list of texts in quotes", item);
    result.push_back(item.text);
  }
  return result;
}

std::optional<std::vector<RecipeStage>> TableParameters::stages(std::string_view key) {
  const RecipeValue* found = value(key, Kind::list, "a list of tables");
  if (found == nullptr || !read_stages_) return std::nullopt;
  return read_stages_(*found);
}

bool TableParameters::is_text(std::string_view key) const {
  const RecipeValue* found = table_.find(key);
  return found != nullptr && found->is(Kind::text);
}

void TableParameters::refuse(std::string_view key, const std::string& why) {
  const RecipeValue* found = table_.find(key);
  const std::size_t line = found != nullptr && found->line != 0 ? found->line : table_.line;
  // An explanation may end with a question.
  const bool ended = !why.empty() && (why.back() == '.' || why.back() == '?');
  // A missing parameter may be there under another name.
  const std::string meant = found == nullptr ? nearest_name(key, table_.keys) : std::string();
  const bool mistyped =
      !meant.empty() && std::find(asked_.begin(), asked_.end(), meant) == asked_.end();
  throw InvalidArgument(batchcast::text(
      "{}{}: `{}` {}{}{}", recipe_place(origin_, line), subject_, key, why, ended ? "" : ".",
      mistyped ? batchcast::text(" Did you mean it by `{}`?", meant) : ""));
}

const RecipeValue* TableParameters::value(std::string_view key, Kind kind,
                                          std::string_view expected) {
  const RecipeValue* found = ask(key);
  if (found != nullptr && !found->is(kind)) refuse_kind(key, expected, *found);
  return found;
}

void TableParameters::finish() const {
  for (std::size_t i = 0; i < table_.keys.size(); ++i) {
    const std::string& key = table_.keys[i];
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    std::string why = batchcast::text("there is no `{}` here.", printable(key));
    if (std::string nearest = did_you_mean(key, asked_); !nearest.empty()) {
      why += nearest;
    } else if (!asked_.empty()) {
      why += " There is";
      for (std::size_t k = 0; k < asked_.size(); ++k) {
        why += batchcast::text("{}{}`", k == 0 ? " `" : ", `", asked_[k]);
      }
      why += ".";
    }
    const std::size_t line = table_.items[i].line != 0 ? table_.items[i].line : table_.line;
    throw InvalidArgument(batchcast::text("{}{}: {}", recipe_place(origin_, line), subject_, why));
  }
}

const RecipeValue* TableParameters::ask(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return table_.find(key);
}

double TableParameters::finite(std::string_view key, const RecipeValue& value) {
  if (!value.is(Kind::integer) && !value.is(Kind::number)) refuse_kind(key, "a number", value);
  if (value.number - value.number != 0) refuse_kind(key, "a finite number", value);
  return value.number;
}

void TableParameters::refuse_kind(std::string_view key, std::string_view expected,
                                  const RecipeValue& found) {
  refuse(key, batchcast::text("must be {}, not {}", expected, found.describe()));
}

}  // namespace batchcast::inline v0_1::detail

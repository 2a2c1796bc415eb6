// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include "data/recipe/value.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

using StageReader = std::function<std::vector<RecipeStage>(const RecipeValue& list)>;

/// A table of a recipe. It remembers which keys were asked for.
class TableParameters final : public StageParameters {
 public:
  /// `subject` names the table's owner in messages. Value and origin must outlive this object.
  /// Without a reader of stages the table can have none.
  TableParameters(const RecipeValue& table, std::string_view origin, std::string subject,
                  StageReader read_stages = {});

  [[nodiscard]] std::optional<bool> boolean(std::string_view key) override;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) override;
  [[nodiscard]] std::optional<double> number(std::string_view key) override;
  [[nodiscard]] std::optional<std::string> text(std::string_view key) override;
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view key) override;
  [[nodiscard]] std::optional<std::vector<std::vector<double>>> number_lists(
      std::string_view key) override;
  [[nodiscard]] bool is_text(std::string_view key) const override;
  /// A list of texts in quotes.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view key);
  [[nodiscard]] std::optional<std::vector<RecipeStage>> stages(std::string_view key) override;
  [[noreturn]] void refuse(std::string_view key, const std::string& why) override;

  /// Null if there is none. Throws unless it is of that kind, which `expected` names in messages.
  [[nodiscard]] const RecipeValue* value(std::string_view key, RecipeValue::Kind kind,
                                         std::string_view expected);
  /// Refuses the first key that was not asked for.
  void finish() const;

 private:
  [[nodiscard]] const RecipeValue* ask(std::string_view key);
  [[nodiscard]] double finite(std::string_view key, const RecipeValue& value);
  [[noreturn]] void refuse_kind(std::string_view key, std::string_view expected,
                                const RecipeValue& found);

  const RecipeValue& table_;
  std::string_view origin_;
  std::string subject_;
  StageReader read_stages_;
  std::vector<std::string> asked_;
};

}  // namespace batchcast::inline v0_1::detail

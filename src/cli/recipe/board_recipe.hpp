// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace batchcast::cli {

/// What the recipe of a board tells about samples. Any producer may have written it: what it does
/// not say, or says otherwise, is empty.
class BoardRecipe {
 public:
  explicit BoardRecipe(const std::string& recipe_json);

  /// `{"mode": …}`, or null.
  [[nodiscard]] nlohmann::json order() const;
  /// Of the fields, in the recipe's order.
  [[nodiscard]] std::vector<std::string> field_names() const;
  /// `from`, `draws`, `views`, `scale` and `kind` of that field, as far as the recipe says them. A
  /// joint's views are those of its fields.
  [[nodiscard]] nlohmann::json origin_of(const std::string& field) const;
  /// Each with its `fields`, `stages`, `draws`, and `views` where it has any.
  [[nodiscard]] nlohmann::json joints() const;
  /// Of that field, each with all its parameters.
  [[nodiscard]] nlohmann::json stages_of(const std::string& field) const;
  /// Whether that field has views, whose number is the first of its extents.
  [[nodiscard]] bool has_views(const std::string& field) const;
  /// Whether that field's pixels are ids.
  [[nodiscard]] bool is_mask(const std::string& field) const;
  /// Whether that field has the source's labels, of which class_names() speaks.
  [[nodiscard]] bool is_label(const std::string& field) const;
  /// Of the labels from 0.
  [[nodiscard]] std::vector<std::string> class_names() const;

 private:
  [[nodiscard]] nlohmann::json field_of(const std::string& name) const;

  nlohmann::json all_;
};

}  // namespace batchcast::cli

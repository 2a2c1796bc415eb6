// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/peek/contact_sheet.hpp"
#include "cli/recipe/board_recipe.hpp"

#include <batchcast/core/schema.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace batchcast::cli {

/// How the values of one field become a picture again: what its recipe's `normalize` did is undone.
class FieldPicture {
 public:
  /// The field of that name, or without one the first that is an image: of 1 or 3 channels, u8 or
  /// floats. Throws InvalidArgument where there is none such.
  FieldPicture(const Schema& schema, const BoardRecipe& recipe,
               const std::optional<std::string>& name);

  [[nodiscard]] std::size_t field() const noexcept { return field_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t height() const noexcept { return height_; }
  [[nodiscard]] Picture of(std::span<const std::byte> sample) const;

 private:
  struct Scale {
    double factor = 255;
    double offset = 0;
  };
  [[nodiscard]] bool adopt(const FieldSpec& field, bool has_views);
  void read_recipe(const nlohmann::json& stages);
  [[nodiscard]] double value(const std::byte* sample, std::size_t element) const;
  [[nodiscard]] std::size_t element(std::size_t channel, std::size_t y,
                                    std::size_t x) const noexcept;
  [[nodiscard]] Scale range_of(const std::byte* sample) const;

  DType dtype_ = DType::u8;
  std::size_t field_ = 0;
  std::size_t channels_ = 1;
  std::size_t width_ = 0;
  std::size_t height_ = 0;
  bool channels_last_ = false;
  bool known_range_ = false;  ///< else each picture is stretched to its own
  std::vector<double> mean_;
  std::vector<double> std_;
};

}  // namespace batchcast::cli

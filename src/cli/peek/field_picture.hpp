// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/peek/contact_sheet.hpp"
#include "cli/recipe/board_recipe.hpp"

#include <batchcast/core/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace batchcast::cli {

/// How the values of one field become pictures again: what its recipe's `normalize` did is undone,
/// and ids of a mask have a colour each.
class FieldPicture {
 public:
  /// The field of that name, or without one the first that is an image, or else the first mask.
  /// Throws InvalidArgument where there is none such.
  FieldPicture(const Schema& schema, const BoardRecipe& recipe,
               const std::optional<std::string>& name);

  [[nodiscard]] std::size_t field() const noexcept { return field_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::size_t height() const noexcept { return height_; }
  /// Pictures of one sample: its views, and what a stage made of each.
  [[nodiscard]] std::size_t views() const noexcept { return views_; }
  /// Whether the recipe's `normalize` is undone.
  [[nodiscard]] bool undoes_normalize() const noexcept { return !mean_.empty() || !std_.empty(); }
  [[nodiscard]] Picture of(std::span<const std::byte> sample, std::size_t view) const;
  /// Where images keep their sizes, the field that has them; else they are width() and height().
  [[nodiscard]] std::optional<std::size_t> size_field() const noexcept { return size_field_; }
  /// One of these; `size` is what that field has. Throws Error where they do not belong together.
  [[nodiscard]] Picture of_size(std::span<const std::byte> sample,
                                std::span<const std::byte> size) const;

 private:
  struct Scale {
    double factor = 255;
    double offset = 0;
  };
  [[nodiscard]] bool adopt(const FieldSpec& field, const Schema& schema, const BoardRecipe& recipe);
  [[nodiscard]] bool adopt_pixels(const FieldSpec& field, const Schema& schema);
  [[nodiscard]] bool adopt_named(const Schema& schema, const BoardRecipe& recipe,
                                 const std::string& name);
  /// An image, or with `others` what else can be shown: masks, and levels that no screen has.
  [[nodiscard]] bool adopt_first(const Schema& schema, const BoardRecipe& recipe, bool others);
  void read_recipe(const BoardRecipe& recipe, const std::string& name);
  [[nodiscard]] double value(const std::byte* picture, std::size_t element) const;
  [[nodiscard]] std::uint8_t id(const std::byte* picture, std::size_t element) const;
  [[nodiscard]] std::size_t element(std::size_t channel, std::size_t y,
                                    std::size_t x) const noexcept;
  [[nodiscard]] Scale range_of(const std::byte* picture) const;
  void add_pixel(const std::byte* picture, const Scale& scale, std::size_t y, std::size_t x,
                 std::vector<std::uint8_t>& rgb) const;

  DType dtype_ = DType::u8;
  std::size_t field_ = 0;
  std::size_t views_ = 1;
  std::size_t channels_ = 1;
  std::size_t width_ = 0;
  std::size_t height_ = 0;
  std::optional<std::size_t> size_field_;
  bool channels_last_ = false;
  bool is_mask_ = false;
  bool is_bgr_ = false;
  bool known_range_ = false;  ///< else each picture is stretched to its own
  std::vector<double> mean_;
  std::vector<double> std_;
};

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Resolves a recipe's fields together: joint stages go to the fields where they run, and every
// stage gets the name that it draws by.
namespace batchcast::inline v0_1::detail {

/// Whether it takes pixels and gives pixels.
[[nodiscard]] inline bool works_on_pixels(const Stage& stage) noexcept {
  return stage.as_geometry() != nullptr || stage.as_pixel() != nullptr ||
         stage.as_warp() != nullptr || stage.as_container() != nullptr;
}

/// A stage, and the name of its draws in view 0.
struct NamedStage {
  std::shared_ptr<const Stage> stage;
  DrawName draws;
  std::string group = {};
  /// The stage's id, or its name and its index among the field's stages of that name:
  /// `horizontal_flip#0`. Inside a container the container's path and a slash come first.
  std::string path = {};
  bool is_joint = false;
  std::vector<NamedStage> stages = {};  ///< of a container
  std::string where = {};               ///< in a file: `recipe.toml:9`
  /// The number of a stage that cuts another field alike, among those of its field; -1: it is none.
  std::int32_t cut = -1;
};

/// Calls `function` for the stage, and for all stages inside it at any depth.
template <class Function>
void for_each_stage(const NamedStage& stage, const Function& function) {
  function(stage);
  for (const NamedStage& inner : stage.stages) for_each_stage(inner, function);
}

/// Whether `says` holds for the stage or any stage inside it.
template <class Predicate>
[[nodiscard]] bool any_stage(const NamedStage& stage, const Predicate& says) {
  if (says(stage)) return true;
  for (const NamedStage& inner : stage.stages) {
    if (any_stage(inner, says)) return true;
  }
  return false;
}

/// A field with all its stages, in the order in which they run.
struct ResolvedField {
  std::string name;
  std::string from;  ///< never empty
  std::vector<NamedStage> stages = {};
  std::int32_t views = 0;  ///< 0: one, without a dimension for it
  FieldKind kind = FieldKind::image;
  std::string where = {};  ///< in a file
  std::int32_t scale = 1;  ///< how many times as large it is as what it draws alike with
  std::int32_t cuts = 0;   ///< how many of its stages have a `cut`
  std::string axis = {};   ///< whose rows are its pixels; empty: none
};

/// A stage that places pixels by the image's size and draws alike in two fields: its `cut` in each.
struct SharedCut {
  std::int32_t first = 0;
  std::int32_t second = 0;
};

/// Fields whose images must have one size in every sample, since a draw for one serves the other.
/// Sizes are in units of the fields' scales.
struct SameSize {
  std::size_t first = 0;
  std::size_t second = 0;
  bool has_mask = false;  ///< one of them is a mask
  /// Images of different sizes do, too, where they have one size before each of these. Empty: no.
  std::vector<SharedCut> cuts = {};
};

struct ResolvedRecipe {
  std::vector<ResolvedField> fields;  ///< as the recipe's
  std::vector<SameSize> same_sizes;
};

/// Throws InvalidArgument where the fields do not fit together: joints of fields that do not exist,
/// stages that would draw alike and do not match.
[[nodiscard]] ResolvedRecipe resolve(const Recipe& recipe);

}  // namespace batchcast::inline v0_1::detail

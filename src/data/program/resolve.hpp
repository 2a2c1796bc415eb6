// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include <memory>
#include <string>
#include <vector>

// What a recipe says of its fields together: joint stages go to where they are done, and every
// stage gets the name that it draws by.
namespace batchcast::inline v0_1::detail {

/// Whether it takes pixels and gives pixels.
[[nodiscard]] inline bool works_on_pixels(const Stage& stage) noexcept {
  return stage.as_geometry() != nullptr || stage.as_pixel() != nullptr ||
         stage.as_warp() != nullptr || stage.as_container() != nullptr;
}

/// A stage and what its draws are named by, in view 0.
struct NamedStage {
  std::shared_ptr<const Stage> stage;
  DrawName draws;
  std::string group = {};
  /// The stage's id; or else its name and how-manieth of that name it is in its field, from 0:
  /// `horizontal_flip#0`; in a container after that one's path and a slash.
  std::string path = {};
  bool is_joint = false;
  std::vector<NamedStage> stages = {};  ///< of a container
  std::string where = {};               ///< in a file: `recipe.toml:9`
};

/// The stage, and those that it holds, theirs and so on.
template <class Function>
void for_each_stage(const NamedStage& stage, const Function& function) {
  function(stage);
  for (const NamedStage& inner : stage.stages) for_each_stage(inner, function);
}

/// Whether `says` holds for the stage or any that it holds.
template <class Predicate>
[[nodiscard]] bool any_stage(const NamedStage& stage, const Predicate& says) {
  if (says(stage)) return true;
  for (const NamedStage& inner : stage.stages) {
    if (any_stage(inner, says)) return true;
  }
  return false;
}

/// A field with all its stages, in the order in which they are done.
struct ResolvedField {
  std::string name;
  std::string from;  ///< never empty
  std::vector<NamedStage> stages = {};
  std::int32_t views = 0;  ///< 0: one, without a dimension for it
  FieldKind kind = FieldKind::image;
  std::string where = {};  ///< in a file
};

/// Fields whose images must have one size in every sample, since what is drawn for one of them is
/// done to the other.
struct SameSize {
  std::size_t first = 0;
  std::size_t second = 0;
};

struct ResolvedRecipe {
  std::vector<ResolvedField> fields;  ///< as the recipe's
  std::vector<SameSize> same_sizes;
};

/// Throws InvalidArgument where the fields do not go together: joints of fields that do not exist,
/// stages that would draw alike and do not match.
[[nodiscard]] ResolvedRecipe resolve(const Recipe& recipe);

}  // namespace batchcast::inline v0_1::detail

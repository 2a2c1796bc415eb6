// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// Gives a field's stages their names, one after another in the order in which they run.
class Naming {
 public:
  /// The field must outlive it.
  explicit Naming(ResolvedField& field) : field_(field) {}

  /// Appends the stage to the field. Throws InvalidArgument where two stages would draw the same,
  /// or where a container holds a stage that it cannot run.
  void add(const RecipeStage& stage, const std::string& group, bool is_joint);

 private:
  struct Place {
    const RecipeStage& stage;
    const std::string& group;
    bool is_joint;
    std::string above;  ///< the path of the container, with a slash
    int depth;
  };
  using Counts = std::map<std::string, std::size_t, std::less<>>;

  [[nodiscard]] NamedStage name(const Place& place, Counts& before);
  void name_inner(const ContainerStage& container, const Place& place, NamedStage& named);
  void check_id(const RecipeStage& stage) const;

  ResolvedField& field_;
  Counts top_;
  std::set<std::pair<std::string, std::string>> taken_;
};

}  // namespace batchcast::inline v0_1::detail

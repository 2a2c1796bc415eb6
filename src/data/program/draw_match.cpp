// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/draw_match.hpp"

#include "data/program/placing.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

bool has_id(const NamedStage& stage) { return stage.path.find('#') == std::string::npos; }

struct Paths {
  std::set<std::string> paths;
  bool all_have_ids = true;
};

/// The paths of the random stages of that name and group.
Paths paths_of(const ComparedField& field, std::string_view name, const std::string& group) {
  Paths found;
  for (const NamedStage* stage : field.stages) {
    if (stage->group != group || stage->stage->name() != name || !stage->stage->is_random()) {
      continue;
    }
    found.paths.insert(stage->path);
    found.all_have_ids = found.all_have_ids && has_id(*stage);
  }
  return found;
}

/// Ids say which stages belong together. An id that is not in both fields is mistyped.
bool agree(const Paths& a, const Paths& b) {
  if (a.paths == b.paths) return true;
  const auto in_b = [&](const std::string& path) { return b.paths.count(path) != 0; };
  return a.all_have_ids && b.all_have_ids && std::any_of(a.paths.begin(), a.paths.end(), in_b);
}

[[noreturn]] void refuse_paths(const ComparedField& a, const ComparedField& b,
                               const NamedStage& stage, const Paths& in_a, const Paths& in_b) {
  const auto list = [](const Paths& paths) {
    return quoted({paths.paths.begin(), paths.paths.end()});
  };
  refuse_at(stage.where, text("the fields `{}` and `{}` draw alike (draws = \"{}\"), and their "
                              "stages `{}` do not match: {} of the one, {} of the other. Put the "
                              "stages that they share into a [[joint]], or give those that belong "
                              "together the same `id`, or give one of the fields draws = \"own\".",
                              a.field.name, b.field.name, stage.group, stage.stage->name(),
                              list(in_a), list(in_b)));
}

/// Stages of different names with one id would draw the same numbers for different things. `stage`
/// belongs to `a`.
void check_namesakes(const ComparedField& a, const ComparedField& b, const NamedStage& stage) {
  for (const NamedStage* other : b.stages) {
    if (other->group != stage.group || other->path != stage.path || !other->stage->is_random() ||
        other->stage->name() == stage.stage->name()) {
      continue;
    }
    refuse_at(other->where, text("the fields `{}` and `{}` draw alike (draws = \"{}\"), and the id "
                                 "`{}` is of a `{}` of the one and of a `{}` of the other, which "
                                 "would draw the same. Give one of them another id, or none.",
                                 a.field.name, b.field.name, stage.group, stage.path,
                                 stage.stage->name(), other->stage->name()));
  }
}

}  // namespace

bool match_draws(const ComparedField& a, const ComparedField& b) {
  bool places_both_by_size = false;
  // Each group and name takes one pass over all stages: a recipe may have thousands of them.
  std::set<std::pair<std::string_view, std::string_view>> compared;
  for (const NamedStage* stage : a.stages) {
    if (!stage->stage->is_random()) continue;
    if (has_id(*stage)) check_namesakes(a, b, *stage);
    const std::string_view name = stage->stage->name();
    if (!compared.emplace(stage->group, name).second) continue;
    const Paths in_a = paths_of(a, name, stage->group);
    const Paths in_b = paths_of(b, name, stage->group);
    if (in_b.paths.empty()) continue;
    if (!agree(in_a, in_b)) refuse_paths(a, b, *stage, in_a, in_b);
    places_both_by_size = places_both_by_size || places_by_size(*stage);
  }
  return places_both_by_size;
}

}  // namespace batchcast::inline v0_1::detail

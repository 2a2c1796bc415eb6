// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/naming.hpp"

#include "data/draw_word.hpp"
#include "data/program/pixel_form.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/text.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

void check_inner(const RecipeStage& inner, const ContainerStage& container) {
  if (works_on_pixels(*inner.stage) || pixel_form_of(*inner.stage)) return;
  refuse_at(inner.where,
            text("the stage `{}` cannot stand in `{}`, which holds stages that crop, resize, pad, "
                 "turn, warp or colour pixels: move it out, to the stages of the field.",
                 inner->name(), container.name()));
}

}  // namespace

void Naming::add(const RecipeStage& stage, const std::string& group, bool is_joint) {
  field_.stages.push_back(name({stage, group, is_joint, "", 0}, top_));
}

NamedStage Naming::name(const Place& place, Counts& before) {
  const RecipeStage& stage = place.stage;
  if (stage.stage == nullptr) {
    refuse_at(stage.where, text("the field `{}` has a stage that is null.", field_.name));
  }
  check_id(stage);
  NamedStage named{stage.stage, {}, place.group, stage.id, place.is_joint, {}, stage.where};
  const std::size_t number = before[std::string(stage->name())]++;
  if (named.path.empty()) {
    named.path = text("{}{}#{}", place.above, stage->name(), number);
  }
  named.draws = draw_name(named.group, named.path);
  if (!taken_.emplace(named.group, named.path).second) {
    refuse_at(stage.where, text("two stages of the field `{}` have the id `{}`, so they would draw "
                                "the same. Give each another id, or none.",
                                field_.name, named.path));
  }
  if (place.depth != 0 || place.is_joint) {
    if (auto form = pixel_form_of(*stage.stage)) named.stage = std::move(form);
  }
  if (const ContainerStage* container = stage->as_container()) {
    name_inner(*container, place, named);
  }
  return named;
}

void Naming::name_inner(const ContainerStage& container, const Place& place, NamedStage& named) {
  if (place.depth == nesting_max) {
    refuse_at(named.where,
              text("stages stand in more than {} others. Take one of those that hold them away.",
                   nesting_max));
  }
  Counts before;
  for (const RecipeStage& inner : container.stages()) {
    if (inner.stage != nullptr) check_inner(inner, container);
    named.stages.push_back(
        name({inner, place.group, place.is_joint, named.path + "/", place.depth + 1}, before));
  }
}

void Naming::check_id(const RecipeStage& stage) const {
  if (stage.id.empty() || is_draw_word(stage.id)) return;
  refuse_at(stage.where, text("a stage's id has {}, and `{}` of the field `{}` is none.",
                              draw_word_rule, stage.id, field_.name));
}

}  // namespace batchcast::inline v0_1::detail

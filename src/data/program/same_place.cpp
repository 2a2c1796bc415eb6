// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/same_place.hpp"

#include "data/program/placing.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

/// What stages draw by: group and path.
using DrawsBy = std::pair<std::string_view, std::string_view>;
template <class Value>
using ByDraws = std::map<DrawsBy, Value>;

struct HeldStage {
  const NamedStage* stage = nullptr;
  std::string in;  ///< the containers around it
};

bool draws_anything(const NamedStage& stage) {
  return any_stage(stage, [](const NamedStage& one) { return one.stage->is_random(); });
}

void add_held(const NamedStage& stage, const std::string& in, ByDraws<HeldStage>& held) {
  if (!moves_pixels(stage)) return;
  if (stage.stage->is_random()) {
    held.emplace(DrawsBy(stage.group, stage.path), HeldStage{&stage, in});
  }
  const std::string inner = text("{}{}/", in, stage.path);
  for (const NamedStage& one : stage.stages) add_held(one, inner, held);
}

ByDraws<HeldStage> held_in(const ResolvedField& field) {
  ByDraws<HeldStage> held;
  for (const NamedStage& stage : field.stages) add_held(stage, "", held);
  return held;
}

bool same_places(const MovingStage& a, const MovingStage& b) {
  if (a.placing != b.placing) return false;
  if (!draws_anything(*a.stage)) return true;
  return a.stage->group == b.stage->group && a.stage->path == b.stage->path;
}

/// A label has none of these stages.
bool is_surely_image(const ComparedField& field) {
  if (field.recipe.kind) return true;
  return std::any_of(field.stages.begin(), field.stages.end(), [](const NamedStage* stage) {
    const StageKind kind = stage->stage->kind();
    return kind != StageKind::finish && kind != StageKind::tensor;
  });
}

}  // namespace

void SamePlace::check(const FieldBond& bond) const {
  if (bond.share_joint || draw_alike()) check_policies();
  check_containers();
  check_holders();
  if (bond.cut_alike) check_cuts();
  if (bond.share_joint) return check_joint();
  if (!draw_alike()) return;
  check_lacking(a_, b_);
  check_lacking(b_, a_);
}

bool SamePlace::draw_alike() const {
  return a_.recipe.draws != own_draws && a_.recipe.draws == b_.recipe.draws;
}

/// Masks cannot have policies, so the image of a mask cannot either.
void SamePlace::check_policies() const {
  for (const ComparedField* compared : {&a_, &b_}) {
    for (const NamedStage* stage : compared->stages) {
      if (!is_policy(*stage)) continue;
      refuse_at(stage->where,
                text("`{}` of the field `{}` turns and shears pixels, and no {} takes it, so {} "
                     "would show different places. A policy cannot be used on an image with {}: "
                     "take color_jitter, sharpness, posterize, equalize, which change colours "
                     "alone{}. If the fields do not belong together, give one of them draws = "
                     "\"own\" and no joint.",
                     stage->stage->name(), compared->field.name,
                     has_mask_ ? "mask" : "image of another `scale`", both(),
                     has_mask_ ? "a mask" : "one of another scale",
                     has_mask_ ? ", and random_affine in the [[joint]]" : ""));
    }
  }
}

/// Containers that choose alike must hold the same where they move pixels.
void SamePlace::check_containers() const {
  for (const NamedStage& in_a : a_.field.stages) {
    if (in_a.stages.empty()) continue;
    for (const NamedStage& in_b : b_.field.stages) {
      if (in_b.group != in_a.group || in_b.path != in_a.path) continue;
      if (!moves_pixels(in_a) && !moves_pixels(in_b)) continue;
      if (placing_of(in_a, OutputSize::counts) == placing_of(in_b, OutputSize::counts)) continue;
      refuse_at(in_b.where,
                text("{} choose alike in `{}`, and what it holds is not the same in "
                     "both, so {} would show different places. Put it into a [[joint]], "
                     "or give one of the fields draws = \"own\".",
                     both(), in_a.path, the_two()));
    }
  }
}

/// Stages that draw alike by their id must run alike too.
void SamePlace::check_holders() const {
  const ByDraws<HeldStage> in_a = held_in(a_.field);
  for (const auto& [draws, held] : held_in(b_.field)) {
    const auto other = in_a.find(draws);
    if (other == in_a.end() || other->second.in == held.in) continue;
    refuse_at(held.stage->where,
              text("{} draw alike for `{}`, and it does not stand in the same containers in both, "
                   "so {} would show different places. Put it into a [[joint]], or give one of the "
                   "fields draws = \"own\".",
                   both(), held.stage->path, the_two()));
  }
}

/// A crop that both draw takes the same pixels only where both have come to it the same way.
void SamePlace::check_cuts() const {
  const std::vector<MovingStage> in_a = moving_stages(a_.field);
  const std::vector<MovingStage> in_b = moving_stages(b_.field);
  std::size_t alike = 0;
  while (alike < std::min(in_a.size(), in_b.size()) && in_a[alike].placing == in_b[alike].placing) {
    ++alike;
  }
  ByDraws<std::size_t> places;
  for (std::size_t i = 0; i < in_b.size(); ++i) {
    places.emplace(DrawsBy(in_b[i].stage->group, in_b[i].stage->path), i);
  }
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    const NamedStage& cut = *in_a[i].stage;
    const auto found = places.find(DrawsBy(cut.group, cut.path));
    if (found == places.end() || !draws_anything(cut) || !places_by_size(cut)) continue;
    const NamedStage& other = *in_b[found->second].stage;
    const bool same_before = found->second == i && i <= alike;
    if (same_before &&
        placing_of(cut, OutputSize::ignored) == placing_of(other, OutputSize::ignored)) {
      continue;
    }
    refuse_cut(cut, other);
  }
}

/// In one joint, stages that move the pixels of one field must move those of the other.
void SamePlace::check_joint() const {
  const std::vector<MovingStage> in_a = placing_stages(a_.field);
  const std::vector<MovingStage> in_b = placing_stages(b_.field);
  for (std::size_t i = 0; i < std::max(in_a.size(), in_b.size()); ++i) {
    if (i < in_a.size() && i < in_b.size() && same_places(in_a[i], in_b[i])) continue;
    const bool is_of_b = i < in_b.size() && (i >= in_a.size() || !in_b[i].stage->is_joint);
    const NamedStage& stage = is_of_b ? *in_b[i].stage : *in_a[i].stage;
    refuse_at(
        stage.where,
        text("{} share a joint, and `{}` of `{}` moves pixels which the other field does not move "
             "alike, so {} would show different places. Put it into the [[joint]].",
             both(), stage.path, (is_of_b ? b_ : a_).field.name, the_two()));
  }
}

/// For fields that draw alike without a joint: stages that move pixels by chance must be in both.
void SamePlace::check_lacking(const ComparedField& has, const ComparedField& lacks) const {
  if (!is_surely_image(lacks)) return;
  const std::string& group = has.recipe.draws;
  std::set<std::string_view> paths;
  for (const NamedStage* stage : lacks.stages) {
    if (stage->group == group && stage->stage->is_random()) paths.insert(stage->path);
  }
  for (const NamedStage* stage : has.stages) {
    if (stage->group != group || !stage->stage->is_random() || !moves_pixels(*stage)) continue;
    if (paths.count(stage->path) != 0) continue;
    refuse_at(
        stage->where,
        text(
            "`{}` of the field `{}` moves pixels, and the field `{}`, which draws alike, lacks "
            "it, so {} would show different places. Put it into a [[joint]] of both; if the fields "
            "do not belong together, give one of them draws = \"own\".",
            stage->path, has.field.name, lacks.field.name, the_two()));
  }
}

void SamePlace::refuse_cut(const NamedStage& cut, const NamedStage& other) const {
  refuse_at(
      other.where,
      text("{} are cut alike by `{}`, but it or a stage before it that crops, resizes, pads, turns "
           "or warps pixels is not the same in both, so {} would show different places. Put these "
           "stages into a [[joint]], or give one of the fields draws = \"own\".{}",
           both(), cut.stage->name(), the_two(),
           a_.field.scale == b_.field.scale
               ? ""
               : " With `scale` the stages of both count in the pixels of the smaller image."));
}

std::string_view SamePlace::the_two() const noexcept {
  return has_mask_ ? "image and mask" : "the two";
}

std::string SamePlace::both() const {
  return text("the fields `{}` and `{}`", a_.field.name, b_.field.name);
}

}  // namespace batchcast::inline v0_1::detail

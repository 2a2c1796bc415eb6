// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/resolve.hpp"

#include "data/draw_word.hpp"
#include "data/mask_field.hpp"
#include "data/program/draw_match.hpp"
#include "data/program/naming.hpp"
#include "data/program/pixel_form.hpp"
#include "data/program/same_place.hpp"
#include "data/program/shared_cuts.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// A field's private group has a name that no field can give: fields' names have no blanks.
std::string group_of(const std::string& draws, const std::string& owner) {
  return draws == own_draws ? text("own {}", owner) : draws;
}

std::size_t place_of(const Recipe& recipe, const JointRecipe& joint, const std::string& name) {
  std::vector<std::string> names;
  for (const FieldRecipe& field : recipe.fields) {
    if (field.name == name) return names.size();
    names.push_back(field.name);
  }
  refuse_at(joint.where,
            text("a joint is of the field `{}`, which this recipe does not have; it has {}.{}",
                 name, quoted(names), did_you_mean(name, names)));
}

class Resolver {
 public:
  explicit Resolver(const Recipe& recipe) : recipe_(recipe) {}

  ResolvedRecipe resolve() {
    check_groups();
    made_.fields.reserve(recipe_.fields.size());
    for (const FieldRecipe& field : recipe_.fields) begin(field);
    for (std::size_t i = 0; i < recipe_.joints.size(); ++i) add(recipe_.joints[i], i);
    for (const JointRecipe& joint : recipe_.joints) check_views(joint);
    for (std::size_t i = 0; i < recipe_.fields.size(); ++i) end(i);
    compare_all();
    return std::move(made_);
  }

 private:
  /// A group that only one field or joint names is mistyped: for one alone there is `own`.
  void check_groups() const {
    struct Named {
      const std::string& group;
      const std::string& where;
    };
    std::vector<Named> named;
    std::vector<std::string> groups;
    for (const FieldRecipe& field : recipe_.fields) named.push_back({field.draws, field.where});
    for (const JointRecipe& joint : recipe_.joints) named.push_back({joint.draws, joint.where});
    for (const Named& one : named) groups.push_back(one.group);
    for (const auto& [group, where] : named) {
      if (!is_draw_word(group)) {
        refuse_at(where,
                  text("`draws` names a group with {}, and `{}` is none.", draw_word_rule, group));
      }
      if (group == sample_draws || group == own_draws) continue;
      if (std::count(groups.begin(), groups.end(), group) > 1) continue;
      std::vector<std::string> others(groups);
      others.erase(std::find(others.begin(), others.end(), group));
      others.insert(others.end(), {std::string(sample_draws), std::string(own_draws)});
      refuse_at(where, text("nothing else draws with draws = \"{}\". For a field that draws alone "
                            "say \"own\"; \"sample\", the default, is for all that draw alike.{}",
                            group, did_you_mean(group, others)));
    }
  }

  void begin(const FieldRecipe& field) {
    ResolvedField resolved{field.name, field.from.empty() ? field.name : field.from};
    resolved.views = field.views;
    resolved.kind = is_mask(field) ? FieldKind::mask : FieldKind::image;
    resolved.where = field.where;
    resolved.scale = field.scale;
    resolved.axis = field.axis;
    for (const RecipeStage& stage : field.stages) {
      if (stage.stage == nullptr) {
        refuse_at(stage.where, text("field `{}` has a stage that is null.", field.name));
      }
    }
    made_.fields.push_back(std::move(resolved));
    naming_.emplace_back(made_.fields.back());
    if (decodes(field)) naming_.back().add(field.stages.front(), field.draws, false);
  }

  static bool decodes(const FieldRecipe& field) {
    return !field.stages.empty() && field.stages.front()->kind() == StageKind::decode;
  }

  void add(const JointRecipe& joint, std::size_t number) {
    std::set<std::size_t> fields;
    for (const std::string& name : joint.fields) {
      if (!fields.insert(place_of(recipe_, joint, name)).second) {
        refuse_at(joint.where, text("a joint names the field `{}` twice.", name));
      }
    }
    if (fields.empty()) {
      refuse_at(joint.where, "a joint has no fields: say which ones share its stages.");
    }
    // A joint's private draws differ from any field's.
    const std::string group = group_of(joint.draws, text("joint {}", number));
    for (const std::size_t place : fields) {
      ResolvedField& field = made_.fields[place];
      for (const RecipeStage& stage : joint.stages) {
        if (stage.stage == nullptr) refuse_at(joint.where, "a joint has a stage that is null.");
        check_joint_stage(stage, field);
        naming_[place].add(stage, group, true);
        check_same_path(joint, made_.fields[*fields.begin()], field);
      }
      take_views(joint, field);
    }
    if (joint.stages.empty()) return;  // it shares only views
    for (const std::size_t place : fields) {
      for (const std::size_t other : fields) joined_.emplace(place, other);
      const std::size_t first = *fields.begin();
      if (place != first && must_be_alike(first, place)) add_same_size(first, place, {});
    }
  }

  static void check_joint_stage(const RecipeStage& stage, const ResolvedField& field) {
    if (works_on_pixels(*stage.stage) || pixel_form_of(*stage.stage)) return;
    refuse_at(stage.where,
              text("the stage `{}` cannot stand in a joint, which has stages that crop, resize, "
                   "pad, turn, warp or colour pixels: give it to the field `{}` itself.",
                   stage->name(), field.name));
  }

  /// The last stage of `field` was taken from the joint, and so was one of the joint's first field.
  /// Their names may differ, since earlier joints may have given one field more stages of that
  /// name.
  static void check_same_path(const JointRecipe& joint, const ResolvedField& first,
                              const ResolvedField& field) {
    const NamedStage& stage = field.stages.back();
    if (!any_stage(stage, [](const NamedStage& one) { return one.stage->is_random(); })) return;
    const auto same = [&](const NamedStage& other) {
      return other.stage == stage.stage && other.group == stage.group && other.path == stage.path;
    };
    if (std::any_of(first.stages.begin(), first.stages.end(), same)) return;
    refuse_at(stage.where.empty() ? joint.where : stage.where,
              text("the fields `{}` and `{}` share `{}` in a joint, and would draw apart: other "
                   "joints give one of them more stages of this name. Give the joint's `{}` an "
                   "`id`, or let one joint be of all fields.",
                   first.name, field.name, stage.stage->name(), stage.stage->name()));
  }

  static void take_views(const JointRecipe& joint, ResolvedField& field) {
    if (joint.views == 0) return;
    if (field.views != 0 && field.views != joint.views) {
      refuse_at(joint.where, text("the field `{}` has {} views, and a joint of it {}. Say how many "
                                  "there are in one place.",
                                  field.name, field.views, joint.views));
    }
    field.views = joint.views;
  }

  /// View v of one of its fields belongs with view v of the others.
  void check_views(const JointRecipe& joint) const {
    if (joint.stages.empty()) return;
    const auto views = [&](const std::string& name) {
      return std::max(made_.fields[place_of(recipe_, joint, name)].views, 1);
    };
    for (const std::string& name : joint.fields) {
      if (views(name) == views(joint.fields.front())) continue;
      refuse_at(joint.where,
                text("a joint's fields share what is drawn for each view, and `{}` has {}, `{}` "
                     "{}. Give the joint `views`.",
                     joint.fields.front(), views(joint.fields.front()), name, views(name)));
    }
  }

  void end(std::size_t place) {
    const FieldRecipe& field = recipe_.fields[place];
    for (std::size_t i = decodes(field) ? 1 : 0; i < field.stages.size(); ++i) {
      naming_[place].add(field.stages[i], group_of(field.draws, field.name), false);
    }
  }

  void add_same_size(std::size_t first, std::size_t second, std::vector<SharedCut> cuts) {
    made_.same_sizes.push_back({first, second, has_mask(first, second), std::move(cuts)});
    if (made_.fields[first].scale == made_.fields[second].scale) return;
    has_partner_.insert({first, second});
  }

  /// Whether what one shows must be what the other shows, as of a mask and of another scale.
  [[nodiscard]] bool must_be_alike(std::size_t first, std::size_t second) const {
    return has_mask(first, second) || made_.fields[first].scale != made_.fields[second].scale;
  }

  [[nodiscard]] bool has_mask(std::size_t first, std::size_t second) const {
    return made_.fields[first].kind == FieldKind::mask ||
           made_.fields[second].kind == FieldKind::mask;
  }

  void compare_all() {
    std::vector<ComparedField> all;
    for (std::size_t i = 0; i < made_.fields.size(); ++i) {
      all.emplace_back(made_.fields[i], recipe_.fields[i]);
    }
    SharedCuts shared(made_.fields);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) compare(k, i, all, shared);
    }
    check_scales();
    shared.write();
  }

  void compare(std::size_t first, std::size_t second, const std::vector<ComparedField>& all,
               SharedCuts& shared) {
    const ComparedField& a = all[first];
    const ComparedField& b = all[second];
    const bool cut_alike = match_draws(a, b);
    const bool are_joined = joined_.count({first, second}) != 0;
    if (has_mask(first, second) || (must_be_alike(first, second) && (cut_alike || are_joined))) {
      SamePlace(a, b).check({are_joined, cut_alike});
      if (cut_alike) add_same_size(first, second, {});
      return;
    }
    if (!cut_alike) return;
    std::vector<SharedCut> cuts = shared.between(first, second, a, b);
    if (!cuts.empty()) add_same_size(first, second, std::move(cuts));
  }

  void check_scales() const {
    for (std::size_t i = 0; i < made_.fields.size(); ++i) {
      const ResolvedField& field = made_.fields[i];
      if (field.scale == 1 || has_partner_.count(i) != 0) continue;
      refuse_at(
          field.where,
          text("the field `{}` has scale = {}, and is cut like no field of another scale. It "
               "is for an image that is {} times as large as one which is cut alike: put both "
               "into a [[joint]], or leave `scale` out.",
               field.name, field.scale, field.scale));
    }
  }

  const Recipe& recipe_;
  ResolvedRecipe made_;
  std::vector<Naming> naming_;                            ///< of each field
  std::set<std::pair<std::size_t, std::size_t>> joined_;  ///< fields that share a joint's stages
  std::set<std::size_t> has_partner_;  ///< fields that are cut like one of another scale
};

}  // namespace

ResolvedRecipe resolve(const Recipe& recipe) { return Resolver(recipe).resolve(); }

}  // namespace batchcast::inline v0_1::detail

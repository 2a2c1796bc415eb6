// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/resolve.hpp"

#include "data/draw_word.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw InvalidArgument("batchcast: " + why); }

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return list;
}

/// A group of a field's own has a name that no field can give: fields' names have no blanks.
std::string group_of(const std::string& draws, const std::string& owner) {
  return draws == own_draws ? "own " + owner : draws;
}

std::size_t place_of(const Recipe& recipe, const std::string& name) {
  std::vector<std::string> names;
  for (const FieldRecipe& field : recipe.fields) {
    if (field.name == name) return names.size();
    names.push_back(field.name);
  }
  refuse("a joint is of the field `" + name + "`, which this recipe does not have; it has " +
         list_of(names) + "." + did_you_mean(name, names));
}

bool is_mask(const FieldRecipe& field) {
  if (field.kind) return *field.kind == FieldKind::mask;
  if (field.stages.empty()) return false;
  const auto* decode = dynamic_cast<const DecodeStage*>(field.stages.front().get());
  return decode != nullptr && decode->parameters().mode == PixelMode::index;
}

class Resolver {
 public:
  explicit Resolver(const Recipe& recipe) : recipe_(recipe) {}

  ResolvedRecipe resolve() {
    check_groups();
    for (const FieldRecipe& field : recipe_.fields) begin(field);
    for (std::size_t i = 0; i < recipe_.joints.size(); ++i) add(recipe_.joints[i], i);
    for (std::size_t i = 0; i < recipe_.fields.size(); ++i) end(recipe_.fields[i], made_.fields[i]);
    for (std::size_t i = 0; i < made_.fields.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) compare(k, i);
    }
    return std::move(made_);
  }

 private:
  /// A group that only one field or joint names is a name mistyped: for one alone there is `own`.
  void check_groups() const {
    std::vector<std::string> named;
    for (const FieldRecipe& field : recipe_.fields) named.push_back(field.draws);
    for (const JointRecipe& joint : recipe_.joints) named.push_back(joint.draws);
    for (const std::string& group : named) {
      if (!is_draw_word(group)) {
        refuse("`draws` names a group with " + std::string(draw_word_rule) + ", and `" + group +
               "` is none.");
      }
      if (group == sample_draws || group == own_draws) continue;
      if (std::count(named.begin(), named.end(), group) > 1) continue;
      std::vector<std::string> others(named);
      others.erase(std::find(others.begin(), others.end(), group));
      others.insert(others.end(), {std::string(sample_draws), std::string(own_draws)});
      refuse("nothing else draws with draws = \"" + group +
             "\". For a field that draws alone say \"own\"; \"sample\", the default, is for all "
             "that draw alike." +
             did_you_mean(group, others));
    }
  }

  void begin(const FieldRecipe& field) {
    ResolvedField resolved{field.name, field.from.empty() ? field.name : field.from};
    resolved.views = field.views;
    resolved.kind = is_mask(field) ? FieldKind::mask : FieldKind::image;
    for (const RecipeStage& stage : field.stages) {
      if (stage.stage == nullptr) {
        refuse("field `" + field.name + "` has a stage that is null.");
      }
    }
    if (decodes(field)) add_stage(resolved, field.stages.front(), field.draws, false);
    made_.fields.push_back(std::move(resolved));
  }

  static bool decodes(const FieldRecipe& field) {
    return !field.stages.empty() && field.stages.front()->kind() == StageKind::decode;
  }

  void add(const JointRecipe& joint, std::size_t number) {
    std::set<std::size_t> fields;
    for (const std::string& name : joint.fields) {
      if (!fields.insert(place_of(recipe_, name)).second) {
        refuse("a joint names the field `" + name + "` twice.");
      }
    }
    if (fields.empty()) refuse("a joint has no fields: say which ones share its stages.");
    // A joint's own draws are no field's own.
    const std::string owner = "joint " + std::to_string(number);
    for (const std::size_t place : fields) {
      ResolvedField& field = made_.fields[place];
      for (const RecipeStage& stage : joint.stages) {
        if (stage.stage == nullptr) refuse("a joint has a stage that is null.");
        check_joint_stage(*stage.stage, field);
        add_stage(field, stage, group_of(joint.draws, owner), true);
      }
      take_views(field, joint.views);
    }
    if (joint.stages.empty()) return;  // it shares views alone
    for (const std::size_t place : fields) {
      if (place != *fields.begin()) made_.same_sizes.push_back({*fields.begin(), place});
    }
  }

  static void check_joint_stage(const Stage& stage, const ResolvedField& field) {
    if (stage.kind() == StageKind::geometry || stage.kind() == StageKind::pixel ||
        stage.kind() == StageKind::warp) {
      return;
    }
    refuse("the stage `" + std::string(stage.name()) +
           "` cannot stand in a joint, which has stages that crop, resize, pad, turn, warp or "
           "colour pixels: give it to the field `" +
           field.name + "` itself.");
  }

  static void take_views(ResolvedField& field, std::int32_t views) {
    if (views == 0) return;
    if (field.views != 0 && field.views != views) {
      refuse("the field `" + field.name + "` has " + std::to_string(field.views) +
             " views, and a joint of it " + std::to_string(views) +
             ". Say how many there are in one place.");
    }
    field.views = views;
  }

  static void end(const FieldRecipe& field, ResolvedField& resolved) {
    for (std::size_t i = decodes(field) ? 1 : 0; i < field.stages.size(); ++i) {
      add_stage(resolved, field.stages[i], group_of(field.draws, field.name), false);
    }
  }

  static void add_stage(ResolvedField& field, const RecipeStage& stage, const std::string& group,
                        bool is_joint) {
    if (!stage.id.empty() && !is_draw_word(stage.id)) {
      refuse("a stage's id has " + std::string(draw_word_rule) + ", and `" + stage.id +
             "` of the field `" + field.name + "` is none.");
    }
    NamedStage named{stage.stage, {}, group, stage.id, is_joint};
    if (named.path.empty()) {
      const auto same = std::count_if(
          field.stages.begin(), field.stages.end(),
          [&](const NamedStage& other) { return other.stage->name() == stage->name(); });
      named.path = std::string(stage->name()) + "#" + std::to_string(same);
    }
    named.draws = draw_name(named.group, named.path);
    const bool taken =
        std::any_of(field.stages.begin(), field.stages.end(), [&](const NamedStage& other) {
          return other.path == named.path && other.group == named.group;
        });
    if (taken) {
      refuse("two stages of the field `" + field.name + "` have the id `" + named.path +
             "`, so they would draw the same. Give each an id of its own, or none.");
    }
    field.stages.push_back(std::move(named));
  }

  static bool has_id(const NamedStage& stage) { return stage.path.find('#') == std::string::npos; }

  struct Paths {
    std::set<std::string> paths;
    bool all_have_ids = true;
  };

  static Paths paths_of(const ResolvedField& field, std::string_view name,
                        const std::string& group) {
    Paths found;
    for (const NamedStage& stage : field.stages) {
      if (stage.group != group || stage.stage->name() != name || !stage.stage->is_random()) {
        continue;
      }
      found.paths.insert(stage.path);
      found.all_have_ids = found.all_have_ids && has_id(stage);
    }
    return found;
  }

  void compare(std::size_t first, std::size_t second) {
    const ResolvedField& a = made_.fields[first];
    const ResolvedField& b = made_.fields[second];
    bool cuts_both = false;
    // Of each group and name one look at all stages: a recipe of a mebibyte has thousands of them.
    std::set<std::pair<std::string_view, std::string_view>> compared;
    for (const NamedStage& stage : a.stages) {
      if (!stage.stage->is_random()) continue;
      if (has_id(stage)) check_namesakes(a, b, stage);
      const std::string_view name = stage.stage->name();
      if (!compared.emplace(stage.group, name).second) continue;
      const Paths in_a = paths_of(a, name, stage.group);
      const Paths in_b = paths_of(b, name, stage.group);
      if (in_b.paths.empty()) continue;
      if (!agree(in_a, in_b)) refuse_paths(a, b, stage);
      cuts_both = cuts_both || places_by_size(*stage.stage);
    }
    const bool has_mask = a.kind == FieldKind::mask || b.kind == FieldKind::mask;
    if (!cuts_both || !has_mask) return;
    check_cuts(a, b);
    made_.same_sizes.push_back({first, second});
  }

  /// A flip is the same for an image of any size; a crop is drawn for one.
  static bool places_by_size(const Stage& stage) {
    if (stage.kind() == StageKind::warp) return true;
    const auto* geometry = dynamic_cast<const GeometryStage*>(&stage);
    if (geometry == nullptr) return false;
    const GeometryTraits traits = geometry->traits();
    return traits.crops || traits.resizes || traits.pads;
  }

  static bool places(const Stage& stage) {
    return stage.kind() == StageKind::geometry || stage.kind() == StageKind::warp;
  }

  /// What says which pixels are taken, but not how they are mixed or what lies beyond the edge:
  /// masks are often padded with an id of their own. The size of what a random_resized_crop makes
  /// changes nothing before the next stage.
  static std::string placing_of(const NamedStage& named, bool with_size) {
    nlohmann::json parameters =
        nlohmann::json::parse(named.stage->parameters_json(), nullptr, false);
    if (parameters.is_object()) {
      for (const char* key : {"interpolation", "pillow", "fill", "mask_fill", "padding_mode"}) {
        parameters.erase(key);
      }
      if (!with_size && named.stage->name() == "random_resized_crop") parameters.erase("size");
    }
    return std::string(named.stage->name()) + " " +
           parameters.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  static void check_cuts(const ResolvedField& a, const ResolvedField& b) {
    std::vector<std::string> before_in_a;
    for (const NamedStage& stage : a.stages) {
      if (!places(*stage.stage)) continue;
      check_cut(a, b, stage, before_in_a);
      before_in_a.push_back(placing_of(stage, true));
    }
  }

  /// A crop that both draw is of the same pixels only where both have come to it the same way.
  static void check_cut(const ResolvedField& a, const ResolvedField& b, const NamedStage& cut,
                        const std::vector<std::string>& before_in_a) {
    if (!cut.stage->is_random() || !places_by_size(*cut.stage)) return;
    std::vector<std::string> before_in_b;
    for (const NamedStage& stage : b.stages) {
      if (!places(*stage.stage)) continue;
      if (stage.group == cut.group && stage.path == cut.path) {
        if (before_in_a == before_in_b && placing_of(cut, false) == placing_of(stage, false))
          return;
        refuse("the fields `" + a.name + "` and `" + b.name + "` are cut alike by `" +
               std::string(cut.stage->name()) +
               "`, but it or a stage before it that crops, resizes, pads, turns or warps pixels is "
               "not "
               "the same in both, so image and mask would show different places. Put these stages "
               "into a [[joint]], or give one of the fields draws = \"own\".");
      }
      before_in_b.push_back(placing_of(stage, true));
    }
  }

  /// Stages of different names with one id would draw the same numbers for different things.
  static void check_namesakes(const ResolvedField& a, const ResolvedField& b,
                              const NamedStage& stage) {
    for (const NamedStage& other : b.stages) {
      if (other.group != stage.group || other.path != stage.path || !other.stage->is_random() ||
          other.stage->name() == stage.stage->name()) {
        continue;
      }
      refuse("the fields `" + a.name + "` and `" + b.name + "` draw alike (draws = \"" +
             stage.group + "\"), and the id `" + stage.path + "` is of a `" +
             std::string(stage.stage->name()) + "` of the one and of a `" +
             std::string(other.stage->name()) +
             "` of the other, which would draw the same. Give one of them another id, or none.");
    }
  }

  static bool agree(const Paths& a, const Paths& b) {
    if (a.paths == b.paths) return true;
    const bool a_is_larger = a.paths.size() > b.paths.size();
    const std::set<std::string>& more = a_is_larger ? a.paths : b.paths;
    const std::set<std::string>& fewer = a_is_larger ? b.paths : a.paths;
    return a.all_have_ids && b.all_have_ids &&
           std::includes(more.begin(), more.end(), fewer.begin(), fewer.end());
  }

  [[noreturn]] static void refuse_paths(const ResolvedField& a, const ResolvedField& b,
                                        const NamedStage& stage) {
    const std::string name(stage.stage->name());
    const auto list = [&](const ResolvedField& field) {
      const std::set<std::string> paths = paths_of(field, name, stage.group).paths;
      return list_of({paths.begin(), paths.end()});
    };
    refuse("the fields `" + a.name + "` and `" + b.name + "` draw alike (draws = \"" + stage.group +
           "\"), and their stages `" + name + "` do not match: " + list(a) + " of the one, " +
           list(b) +
           " of the other. Put the stages that they share into a [[joint]], or give those that "
           "belong together the same `id`, or give one of the fields draws = \"own\".");
  }

  const Recipe& recipe_;
  ResolvedRecipe made_;
};

}  // namespace

ResolvedRecipe resolve(const Recipe& recipe) { return Resolver(recipe).resolve(); }

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/resolve.hpp"

#include "data/draw_word.hpp"
#include "data/mask_field.hpp"
#include "data/moves_pixels.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// `where` is a place in a file, or empty.
[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw InvalidArgument("batchcast: " + (where.empty() ? "" : where + ": ") + why);
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return list;
}

/// A group of a field's own has a name that no field can give: fields' names have no blanks.
std::string group_of(const std::string& draws, const std::string& owner) {
  return draws == own_draws ? "own " + owner : draws;
}

std::size_t place_of(const Recipe& recipe, const JointRecipe& joint, const std::string& name) {
  std::vector<std::string> names;
  for (const FieldRecipe& field : recipe.fields) {
    if (field.name == name) return names.size();
    names.push_back(field.name);
  }
  refuse(joint.where, "a joint is of the field `" + name +
                          "`, which this recipe does not have; it has " + list_of(names) + "." +
                          did_you_mean(name, names));
}

using StageList = std::vector<const NamedStage*>;

/// All stages of a field, those in containers too.
StageList all_stages(const ResolvedField& field) {
  StageList all;
  for (const NamedStage& stage : field.stages) {
    for_each_stage(stage, [&all](const NamedStage& one) { all.push_back(&one); });
  }
  return all;
}

/// Gives a field's stages their names.
class Naming {
 public:
  explicit Naming(ResolvedField& field) : field_(field) {}

  void add(const RecipeStage& stage, const std::string& group, bool is_joint) {
    field_.stages.push_back(name({stage, group, is_joint, "", 0}, top_));
  }

 private:
  struct Place {
    const RecipeStage& stage;
    const std::string& group;
    bool is_joint;
    std::string above;  ///< the path of what holds it, with a slash
    int depth;
  };
  using Counts = std::map<std::string, std::size_t, std::less<>>;

  NamedStage name(const Place& place, Counts& before) {
    const RecipeStage& stage = place.stage;
    if (stage.stage == nullptr) {
      refuse(stage.where, "the field `" + field_.name + "` has a stage that is null.");
    }
    check_id(stage);
    NamedStage named{stage.stage, {}, place.group, stage.id, place.is_joint, {}, stage.where};
    const std::size_t number = before[std::string(stage->name())]++;
    if (named.path.empty()) {
      named.path = place.above + std::string(stage->name()) + "#" + std::to_string(number);
    }
    named.draws = draw_name(named.group, named.path);
    if (!taken_.emplace(named.group, named.path).second) {
      refuse(stage.where, "two stages of the field `" + field_.name + "` have the id `" +
                              named.path +
                              "`, so they would draw the same. Give each an id of its own, or "
                              "none.");
    }
    if (const auto* container = dynamic_cast<const ContainerStage*>(stage.get())) {
      name_inner(*container, place, named);
    }
    return named;
  }

  void name_inner(const ContainerStage& container, const Place& place, NamedStage& named) {
    if (place.depth == nesting_max) {
      refuse(named.where, "stages stand in more than " + std::to_string(nesting_max) +
                              " others. Take one of those that hold them away.");
    }
    Counts before;
    for (const RecipeStage& inner : container.stages()) {
      if (inner.stage != nullptr) check_inner(inner, container);
      named.stages.push_back(
          name({inner, place.group, place.is_joint, named.path + "/", place.depth + 1}, before));
    }
  }

  static void check_inner(const RecipeStage& inner, const ContainerStage& container) {
    const StageKind kind = inner->kind();
    if (kind != StageKind::decode && kind != StageKind::finish && kind != StageKind::tensor) return;
    refuse(inner.where,
           "the stage `" + std::string(inner->name()) + "` cannot stand in `" +
               std::string(container.name()) +
               "`, which holds stages that crop, resize, pad, turn, warp or colour pixels: "
               "move it out, to the stages of the field.");
  }

  void check_id(const RecipeStage& stage) const {
    if (stage.id.empty() || is_draw_word(stage.id)) return;
    refuse(stage.where, "a stage's id has " + std::string(draw_word_rule) + ", and `" + stage.id +
                            "` of the field `" + field_.name + "` is none.");
  }

  ResolvedField& field_;
  Counts top_;
  std::set<std::pair<std::string, std::string>> taken_;
};

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
    for (const ResolvedField& field : made_.fields) all_.push_back(all_stages(field));
    for (std::size_t i = 0; i < made_.fields.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) compare(k, i);
    }
    return std::move(made_);
  }

 private:
  /// A group that only one field or joint names is a name mistyped: for one alone there is `own`.
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
        refuse(where, "`draws` names a group with " + std::string(draw_word_rule) + ", and `" +
                          group + "` is none.");
      }
      if (group == sample_draws || group == own_draws) continue;
      if (std::count(groups.begin(), groups.end(), group) > 1) continue;
      std::vector<std::string> others(groups);
      others.erase(std::find(others.begin(), others.end(), group));
      others.insert(others.end(), {std::string(sample_draws), std::string(own_draws)});
      refuse(where,
             "nothing else draws with draws = \"" + group +
                 "\". For a field that draws alone say \"own\"; \"sample\", the default, is for "
                 "all that draw alike." +
                 did_you_mean(group, others));
    }
  }

  void begin(const FieldRecipe& field) {
    ResolvedField resolved{field.name, field.from.empty() ? field.name : field.from};
    resolved.views = field.views;
    resolved.kind = is_mask(field) ? FieldKind::mask : FieldKind::image;
    resolved.where = field.where;
    for (const RecipeStage& stage : field.stages) {
      if (stage.stage == nullptr) {
        refuse(stage.where, "field `" + field.name + "` has a stage that is null.");
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
        refuse(joint.where, "a joint names the field `" + name + "` twice.");
      }
    }
    if (fields.empty()) {
      refuse(joint.where, "a joint has no fields: say which ones share its stages.");
    }
    // A joint's own draws are no field's own.
    const std::string group = group_of(joint.draws, "joint " + std::to_string(number));
    for (const std::size_t place : fields) {
      ResolvedField& field = made_.fields[place];
      for (const RecipeStage& stage : joint.stages) {
        if (stage.stage == nullptr) refuse(joint.where, "a joint has a stage that is null.");
        check_joint_stage(stage, field);
        naming_[place].add(stage, group, true);
        check_same_path(joint, made_.fields[*fields.begin()], field);
      }
      take_views(joint, field);
    }
    if (joint.stages.empty()) return;  // it shares views alone
    for (const std::size_t place : fields) {
      for (const std::size_t other : fields) joined_.emplace(place, other);
      if (place != *fields.begin()) made_.same_sizes.push_back({*fields.begin(), place});
    }
  }

  static void check_joint_stage(const RecipeStage& stage, const ResolvedField& field) {
    const StageKind kind = stage->kind();
    if (kind != StageKind::decode && kind != StageKind::finish && kind != StageKind::tensor) return;
    refuse(stage.where, "the stage `" + std::string(stage->name()) +
                            "` cannot stand in a joint, which has stages that crop, resize, pad, "
                            "turn, warp or colour "
                            "pixels: give it to the field `" +
                            field.name + "` itself.");
  }

  /// The last stage of `field` was taken from the joint, and so was one of the joint's first field:
  /// joints before it may have given one of them more stages of its name.
  static void check_same_path(const JointRecipe& joint, const ResolvedField& first,
                              const ResolvedField& field) {
    const NamedStage& stage = field.stages.back();
    if (!any_stage(stage, [](const NamedStage& one) { return one.stage->is_random(); })) return;
    const auto same = [&](const NamedStage& other) {
      return other.stage == stage.stage && other.group == stage.group && other.path == stage.path;
    };
    if (std::any_of(first.stages.begin(), first.stages.end(), same)) return;
    refuse(stage.where.empty() ? joint.where : stage.where,
           "the fields `" + first.name + "` and `" + field.name + "` share `" +
               std::string(stage.stage->name()) +
               "` in a joint, and would draw apart: other joints give one of them more stages of "
               "this name. Give the joint's `" +
               std::string(stage.stage->name()) + "` an `id`, or let one joint be of all fields.");
  }

  static void take_views(const JointRecipe& joint, ResolvedField& field) {
    if (joint.views == 0) return;
    if (field.views != 0 && field.views != joint.views) {
      refuse(joint.where, "the field `" + field.name + "` has " + std::to_string(field.views) +
                              " views, and a joint of it " + std::to_string(joint.views) +
                              ". Say how many there are in one place.");
    }
    field.views = joint.views;
  }

  /// View v of one of its fields goes with view v of the others.
  void check_views(const JointRecipe& joint) const {
    if (joint.stages.empty()) return;
    const auto views = [&](const std::string& name) {
      return std::max(made_.fields[place_of(recipe_, joint, name)].views, 1);
    };
    for (const std::string& name : joint.fields) {
      if (views(name) == views(joint.fields.front())) continue;
      refuse(joint.where, "a joint's fields share what is drawn for each view, and `" +
                              joint.fields.front() + "` has " +
                              std::to_string(views(joint.fields.front())) + ", `" + name + "` " +
                              std::to_string(views(name)) + ". Give the joint `views`.");
    }
  }

  void end(std::size_t place) {
    const FieldRecipe& field = recipe_.fields[place];
    for (std::size_t i = decodes(field) ? 1 : 0; i < field.stages.size(); ++i) {
      naming_[place].add(field.stages[i], group_of(field.draws, field.name), false);
    }
  }

  static bool has_id(const NamedStage& stage) { return stage.path.find('#') == std::string::npos; }

  struct Paths {
    std::set<std::string> paths;
    bool all_have_ids = true;
  };

  static Paths paths_of(const StageList& stages, std::string_view name, const std::string& group) {
    Paths found;
    for (const NamedStage* stage : stages) {
      if (stage->group != group || stage->stage->name() != name || !stage->stage->is_random()) {
        continue;
      }
      found.paths.insert(stage->path);
      found.all_have_ids = found.all_have_ids && has_id(*stage);
    }
    return found;
  }

  void compare(std::size_t first, std::size_t second) {
    const ResolvedField& a = made_.fields[first];
    const ResolvedField& b = made_.fields[second];
    bool cuts_both = false;
    // Of each group and name one look at all stages: a recipe of a mebibyte has thousands of them.
    std::set<std::pair<std::string_view, std::string_view>> compared;
    for (const NamedStage* stage : all_[first]) {
      if (!stage->stage->is_random()) continue;
      if (has_id(*stage)) check_namesakes(first, second, *stage);
      const std::string_view name = stage->stage->name();
      if (!compared.emplace(stage->group, name).second) continue;
      const Paths in_a = paths_of(all_[first], name, stage->group);
      const Paths in_b = paths_of(all_[second], name, stage->group);
      if (in_b.paths.empty()) continue;
      if (!agree(in_a, in_b)) refuse_paths(a, b, *stage, in_a, in_b);
      cuts_both = cuts_both || places_by_size(*stage);
    }
    if (a.kind != FieldKind::mask && b.kind != FieldKind::mask) return;
    const bool joined = joined_.count({first, second}) != 0;
    const std::string& draws = recipe_.fields[first].draws;
    const bool alike = draws != own_draws && draws == recipe_.fields[second].draws;
    if (joined || alike) check_policies(a, b);
    check_containers(a, b);
    check_holders(a, b);
    if (cuts_both) {
      check_cuts(a, b);
      made_.same_sizes.push_back({first, second});
    }
    if (joined) return check_joined(a, b);
    if (!alike) return;
    check_lacking(first, second, draws);
    check_lacking(second, first, draws);
  }

  /// A flip is the same for an image of any size; a crop is drawn for one.
  static bool places_by_size(const NamedStage& stage) {
    return any_stage(stage, [](const NamedStage& one) {
      if (one.stage->kind() == StageKind::warp) return true;
      const auto* geometry = dynamic_cast<const GeometryStage*>(one.stage.get());
      if (geometry == nullptr) return false;
      const GeometryTraits traits = geometry->traits();
      return traits.crops || traits.resizes || traits.pads;
    });
  }

  static bool is_policy(const NamedStage& stage) {
    return stage.stage->is_random() &&
           dynamic_cast<const MovesPixels*>(stage.stage.get()) != nullptr;
  }

  static bool moves_pixels(const NamedStage& stage) {
    return any_stage(stage, [](const NamedStage& one) {
      return one.stage->kind() == StageKind::geometry || one.stage->kind() == StageKind::warp ||
             is_policy(one);
    });
  }

  /// Masks cannot have policies, so the image of a mask cannot either.
  void check_policies(const ResolvedField& a, const ResolvedField& b) const {
    for (const ResolvedField* field : {&a, &b}) {
      for (const NamedStage* stage : all_[place_in(*field)]) {
        if (!is_policy(*stage)) continue;
        refuse(stage->where,
               "`" + std::string(stage->stage->name()) + "` of the field `" + field->name +
                   "` turns and shears pixels, and no mask takes it, so the fields `" + a.name +
                   "` and `" + b.name +
                   "` would show different places. A policy cannot be used on an image with a "
                   "mask: take color_jitter, sharpness, posterize, equalize, which change colours "
                   "alone, and random_affine in the [[joint]]. If the fields do not belong "
                   "together, give one of them draws = \"own\" and no joint.");
      }
    }
  }

  [[nodiscard]] std::size_t place_in(const ResolvedField& field) const {
    return static_cast<std::size_t>(&field - made_.fields.data());
  }

  static void erase_mixing(nlohmann::json& parameters) {
    for (const char* key : {"interpolation", "pillow", "fill", "padding_mode", "mask_fill"}) {
      parameters.erase(key);
    }
    const auto inner = parameters.find("stages");
    if (inner == parameters.end() || !inner->is_array()) return;
    for (nlohmann::json& stage : *inner) {
      if (stage.is_object()) erase_mixing(stage);
    }
  }

  /// What says which pixels are taken, but not how they are mixed or what lies beyond the edge:
  /// masks are often padded with an id of their own. The size of what a random_resized_crop makes
  /// changes nothing before the next stage.
  static std::string placing_of(const NamedStage& named, bool with_size) {
    nlohmann::json parameters =
        nlohmann::json::parse(named.stage->parameters_json(), nullptr, false);
    if (parameters.is_object()) {
      erase_mixing(parameters);
      if (!with_size && named.stage->name() == "random_resized_crop") parameters.erase("size");
    }
    return std::string(named.stage->name()) + " " +
           parameters.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  /// Containers that choose alike must hold the same where they move pixels.
  static void check_containers(const ResolvedField& a, const ResolvedField& b) {
    for (const NamedStage& in_a : a.stages) {
      if (in_a.stages.empty()) continue;
      for (const NamedStage& in_b : b.stages) {
        if (in_b.group != in_a.group || in_b.path != in_a.path) continue;
        if (!moves_pixels(in_a) && !moves_pixels(in_b)) continue;
        if (placing_of(in_a, true) == placing_of(in_b, true)) continue;
        refuse(in_b.where,
               "the fields `" + a.name + "` and `" + b.name + "` choose alike in `" + in_a.path +
                   "`, and what it holds is not the same in both, so image and mask would show "
                   "different places. Put it into a [[joint]], or give one of the fields draws = "
                   "\"own\".");
      }
    }
  }

  /// By what stages draw: group and path.
  using DrawsBy = std::pair<std::string_view, std::string_view>;
  template <class Value>
  using ByName = std::map<DrawsBy, Value>;

  struct Held {
    const NamedStage* stage = nullptr;
    std::string in;  ///< the containers around it
  };

  static void add_held(const NamedStage& stage, const std::string& in, ByName<Held>& held) {
    if (!moves_pixels(stage)) return;
    if (stage.stage->is_random()) {
      held.emplace(DrawsBy(stage.group, stage.path), Held{&stage, in});
    }
    const std::string inner = in + stage.path + "/";
    for (const NamedStage& one : stage.stages) add_held(one, inner, held);
  }

  /// What draws alike by its id must run alike too.
  static void check_holders(const ResolvedField& a, const ResolvedField& b) {
    ByName<Held> in_a;
    ByName<Held> in_b;
    for (const NamedStage& stage : a.stages) add_held(stage, "", in_a);
    for (const NamedStage& stage : b.stages) add_held(stage, "", in_b);
    for (const auto& [name, held] : in_b) {
      const auto other = in_a.find(name);
      if (other == in_a.end() || other->second.in == held.in) continue;
      refuse(held.stage->where,
             "the fields `" + a.name + "` and `" + b.name + "` draw alike for `" +
                 held.stage->path +
                 "`, and it does not stand in the same containers in both, so image and mask would "
                 "show different places. Put it into a [[joint]], or give one of the fields draws "
                 "= \"own\".");
    }
  }

  struct Moving {
    const NamedStage* stage = nullptr;
    std::string placing;
  };

  static std::vector<Moving> moving_of(const ResolvedField& field) {
    std::vector<Moving> moving;
    for (const NamedStage& stage : field.stages) {
      if (moves_pixels(stage)) moving.push_back({&stage, placing_of(stage, true)});
    }
    return moving;
  }

  /// A crop that both draw is of the same pixels only where both have come to it the same way.
  static void check_cuts(const ResolvedField& a, const ResolvedField& b) {
    const std::vector<Moving> in_a = moving_of(a);
    const std::vector<Moving> in_b = moving_of(b);
    std::size_t alike = 0;
    while (alike < std::min(in_a.size(), in_b.size()) &&
           in_a[alike].placing == in_b[alike].placing) {
      ++alike;
    }
    ByName<std::size_t> places;
    for (std::size_t i = 0; i < in_b.size(); ++i) {
      places.emplace(DrawsBy(in_b[i].stage->group, in_b[i].stage->path), i);
    }
    for (std::size_t i = 0; i < in_a.size(); ++i) {
      const NamedStage& cut = *in_a[i].stage;
      const auto found = places.find(DrawsBy(cut.group, cut.path));
      if (found == places.end() || !draws_by_size(cut)) continue;
      const NamedStage& other = *in_b[found->second].stage;
      const bool same_before = found->second == i && i <= alike;
      if (same_before && placing_of(cut, false) == placing_of(other, false)) continue;
      refuse_cut(a, b, cut, other);
    }
  }

  /// The whole of an image at another size shows the same place.
  static bool only_scales(const NamedStage& stage) {
    const auto* geometry = dynamic_cast<const GeometryStage*>(stage.stage.get());
    if (geometry == nullptr || geometry->is_random()) return false;
    const GeometryTraits traits = geometry->traits();
    return traits.resizes && !traits.crops && !traits.pads;
  }

  static std::vector<Moving> placing_stages_of(const ResolvedField& field) {
    std::vector<Moving> moving = moving_of(field);
    while (!moving.empty() && only_scales(*moving.back().stage)) moving.pop_back();
    if (!moving.empty()) moving.back().placing = placing_of(*moving.back().stage, false);
    return moving;
  }

  static bool same_places(const Moving& a, const Moving& b) {
    if (a.placing != b.placing) return false;
    if (!any_stage(*a.stage, [](const NamedStage& one) { return one.stage->is_random(); })) {
      return true;
    }
    return a.stage->group == b.stage->group && a.stage->path == b.stage->path;
  }

  /// Fields of one joint belong together: what moves the pixels of one of them, in whichever
  /// stages, moves those of the other.
  static void check_joined(const ResolvedField& a, const ResolvedField& b) {
    const std::vector<Moving> in_a = placing_stages_of(a);
    const std::vector<Moving> in_b = placing_stages_of(b);
    for (std::size_t i = 0; i < std::max(in_a.size(), in_b.size()); ++i) {
      if (i < in_a.size() && i < in_b.size() && same_places(in_a[i], in_b[i])) continue;
      const bool is_of_b = i < in_b.size() && (i >= in_a.size() || !in_b[i].stage->is_joint);
      const NamedStage& stage = is_of_b ? *in_b[i].stage : *in_a[i].stage;
      refuse(stage.where,
             "the fields `" + a.name + "` and `" + b.name + "` share a joint, and `" + stage.path +
                 "` of `" + (is_of_b ? b : a).name +
                 "` moves pixels which the other field does not move alike, so image and mask "
                 "would show different places. Put it into the [[joint]].");
    }
  }

  /// A label has none of these stages.
  [[nodiscard]] bool is_surely_image(std::size_t place) const {
    if (recipe_.fields[place].kind) return true;
    return std::any_of(all_[place].begin(), all_[place].end(), [](const NamedStage* stage) {
      const StageKind kind = stage->stage->kind();
      return kind != StageKind::finish && kind != StageKind::tensor;
    });
  }

  /// Fields that draw alike without a joint: what moves pixels by chance must be in both.
  void check_lacking(std::size_t has, std::size_t lacks, const std::string& group) const {
    if (!is_surely_image(lacks)) return;
    std::set<std::string_view> paths;
    for (const NamedStage* stage : all_[lacks]) {
      if (stage->group == group && stage->stage->is_random()) paths.insert(stage->path);
    }
    for (const NamedStage* stage : all_[has]) {
      if (stage->group != group || !stage->stage->is_random() || !moves_pixels(*stage)) continue;
      if (paths.count(stage->path) != 0) continue;
      refuse(stage->where,
             "`" + stage->path + "` of the field `" + made_.fields[has].name +
                 "` moves pixels, and the field `" + made_.fields[lacks].name +
                 "`, which draws alike, lacks it, so image and mask would show different places. "
                 "Put it into a [[joint]] of both; if the fields do not belong together, give one "
                 "of them draws = \"own\".");
    }
  }

  static bool draws_by_size(const NamedStage& cut) {
    const auto is_random = [](const NamedStage& one) { return one.stage->is_random(); };
    return any_stage(cut, is_random) && places_by_size(cut);
  }

  [[noreturn]] static void refuse_cut(const ResolvedField& a, const ResolvedField& b,
                                      const NamedStage& cut, const NamedStage& other) {
    refuse(other.where,
           "the fields `" + a.name + "` and `" + b.name + "` are cut alike by `" +
               std::string(cut.stage->name()) +
               "`, but it or a stage before it that crops, resizes, pads, turns or warps pixels is "
               "not the same in both, so image and mask would show different places. Put these "
               "stages into a [[joint]], or give one of the fields draws = \"own\".");
  }

  /// Stages of different names with one id would draw the same numbers for different things.
  void check_namesakes(std::size_t first, std::size_t second, const NamedStage& stage) const {
    for (const NamedStage* other : all_[second]) {
      if (other->group != stage.group || other->path != stage.path || !other->stage->is_random() ||
          other->stage->name() == stage.stage->name()) {
        continue;
      }
      refuse(other->where,
             "the fields `" + made_.fields[first].name + "` and `" + made_.fields[second].name +
                 "` draw alike (draws = \"" + stage.group + "\"), and the id `" + stage.path +
                 "` is of a `" + std::string(stage.stage->name()) + "` of the one and of a `" +
                 std::string(other->stage->name()) +
                 "` of the other, which would draw the same. Give one of them another id, or "
                 "none.");
    }
  }

  /// Ids say which stages belong together; where none is in both fields, one is mistyped.
  static bool agree(const Paths& a, const Paths& b) {
    if (a.paths == b.paths) return true;
    const auto in_b = [&](const std::string& path) { return b.paths.count(path) != 0; };
    return a.all_have_ids && b.all_have_ids && std::any_of(a.paths.begin(), a.paths.end(), in_b);
  }

  [[noreturn]] static void refuse_paths(const ResolvedField& a, const ResolvedField& b,
                                        const NamedStage& stage, const Paths& in_a,
                                        const Paths& in_b) {
    const auto list = [](const Paths& paths) {
      return list_of({paths.paths.begin(), paths.paths.end()});
    };
    refuse(stage.where,
           "the fields `" + a.name + "` and `" + b.name + "` draw alike (draws = \"" + stage.group +
               "\"), and their stages `" + std::string(stage.stage->name()) +
               "` do not match: " + list(in_a) + " of the one, " + list(in_b) +
               " of the other. Put the stages that they share into a [[joint]], or give those that "
               "belong together the same `id`, or give one of the fields draws = \"own\".");
  }

  const Recipe& recipe_;
  ResolvedRecipe made_;
  std::vector<Naming> naming_;                            ///< of each field
  std::vector<StageList> all_;                            ///< of each field
  std::set<std::pair<std::size_t, std::size_t>> joined_;  ///< fields that share a joint's stages
};

}  // namespace

ResolvedRecipe resolve(const Recipe& recipe) { return Resolver(recipe).resolve(); }

}  // namespace batchcast::inline v0_1::detail

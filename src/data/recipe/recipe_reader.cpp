// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe/recipe_reader.hpp"

#include "data/draw_word.hpp"
#include "data/recipe/parameters.hpp"
#include "data/recipe/torchvision_names.hpp"
#include "data/refuse_at.hpp"
#include "data/stage/stage_choices.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/schema.hpp>

#include <algorithm>
#include <initializer_list>

namespace batchcast::inline v0_1::detail {
namespace {

using Kind = RecipeValue::Kind;

constexpr std::int64_t block_number_max = std::int64_t{1} << 32;

class RecipeReader {
 public:
  RecipeReader(std::string_view origin, const StageCatalog& catalog)
      : origin_(origin), catalog_(catalog) {}

  [[nodiscard]] Recipe read(const RecipeValue& root, const RecipeFormat& format) const {
    if (!root.is(Kind::table)) refuse(root, text("a recipe is a table, not {}.", root.describe()));
    Recipe recipe;
    TableParameters top(root, origin_, "the recipe");
    if (const RecipeValue* order = top.value("order", Kind::table, "a table")) {
      read_order(*order, recipe);
    }
    read_max_tokens(top, recipe);
    if (const RecipeValue* fields = top.value(format.fields_key, Kind::list, "a list of tables")) {
      for (const RecipeValue& field : fields->items) {
        add_field(field, recipe.fields);
      }
    }
    if (const RecipeValue* joints = top.value(format.joints_key, Kind::list, "a list of tables")) {
      for (const RecipeValue& joint : joints->items) add_joint(joint, recipe);
    }
    top.finish();
    return recipe;
  }

 private:
  void read_order(const RecipeValue& table, Recipe& recipe) const {
    TableParameters order(table, origin_, "order");
    recipe.order = static_cast<OrderMode>(choice(order, "mode", order_mode_names, 0));
    const auto count = [&](std::string_view key, std::uint64_t otherwise) {
      return static_cast<std::uint64_t>(
          integer_in(order, key, static_cast<std::int64_t>(otherwise), 1, block_number_max));
    };
    const auto only_for = [&](OrderMode mode, std::initializer_list<std::string_view> keys) {
      if (recipe.order == mode) return;
      for (const std::string_view key : keys) {
        if (table.find(key) == nullptr) continue;
        order.refuse(key, text("is for the mode `{}` only", name_of(mode)));
      }
    };
    only_for(OrderMode::blocks, {"block_samples", "window_blocks"});
    only_for(OrderMode::packed, {"axis", "budget", "among"});
    if (recipe.order == OrderMode::blocks) {
      recipe.blocks.block_samples = count("block_samples", recipe.blocks.block_samples);
      recipe.blocks.window_blocks = count("window_blocks", recipe.blocks.window_blocks);
    }
    if (recipe.order == OrderMode::packed) read_packed(order, recipe.packed);
    order.finish();
  }

  static void read_max_tokens(TableParameters& top, Recipe& recipe) {
    if (top.integer("max_tokens")) {
      recipe.max_tokens = static_cast<std::uint64_t>(integer_in(
          top, "max_tokens", 0, 1, static_cast<std::int64_t>(batchcast::max_tokens_max)));
    }
    if (!top.text("overlong")) return;
    if (recipe.max_tokens == 0) {
      top.refuse("overlong", "needs `max_tokens`, which is not given");
    }
    recipe.overlong = static_cast<Overlong>(choice(top, "overlong", overlong_names, 0));
  }

  static void read_packed(TableParameters& order, PackedOptions& packed) {
    packed.axis = order.text("axis").value_or("");
    if (packed.axis.empty()) {
      order.refuse("axis", "is missing: whose rows the budget counts, such as \"tokens\"");
    }
    if (!order.integer("budget")) {
      order.refuse("budget", "is missing: the rows that a batch of the stream's trainers may have");
    }
    const auto count = [&](std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                           std::uint64_t high) {
      return static_cast<std::uint64_t>(integer_in(order, key, static_cast<std::int64_t>(otherwise),
                                                   static_cast<std::int64_t>(low),
                                                   static_cast<std::int64_t>(high)));
    };
    packed.budget = count("budget", packed.budget, 1, PackedOptions::budget_max);
    packed.among = count("among", packed.among, 2, PackedOptions::among_max);
  }

  void add_field(const RecipeValue& value, std::vector<FieldRecipe>& fields) const {
    if (!value.is(Kind::table)) {
      refuse(value, text("a field is a table, not {}.", value.describe()));
    }
    TableParameters table(value, origin_, "field", reader(0));
    FieldRecipe field;
    field.where = where(value);
    const auto name = table.text("name");
    if (!name) table.refuse("name", "is missing");
    check_name(table, *name, fields);
    field.name = *name;
    field.from = table.text("from").value_or("");
    field.stages = table.stages("stages").value_or(std::vector<RecipeStage>());
    field.draws = read_draws(table);
    field.views = read_views(table);
    if (table.integer("scale")) {
      field.scale = static_cast<std::int32_t>(integer_in(table, "scale", 1, 1, scale_max));
    }
    if (const auto axis = table.text("axis")) {
      if (axis->empty()) table.refuse("axis", "is empty: give the axis a name, such as \"pixels\"");
      field.axis = *axis;
    }
    if (table.text("kind")) {
      field.kind = static_cast<FieldKind>(choice(table, "kind", field_kind_names, 0));
    }
    table.finish();
    // A field whose part has the same name gives the same recipe with and without `from`.
    if (field.from == field.name) field.from.clear();
    fields.push_back(std::move(field));
    if (fields.size() + 1 > limits::fields_max) {
      refuse(value, text("a recipe has at most {} fields.", limits::fields_max - 1));
    }
  }

  void add_joint(const RecipeValue& value, Recipe& recipe) const {
    if (!value.is(Kind::table)) {
      refuse(value, text("a joint is a table, not {}.", value.describe()));
    }
    TableParameters table(value, origin_, "joint", reader(0));
    JointRecipe joint;
    joint.where = where(value);
    const auto fields = table.texts("fields");
    if (!fields || fields->empty()) {
      table.refuse("fields", "is missing: the names of the fields that share these stages");
    }
    for (const std::string& name : *fields) check_joint_field(table, name, recipe.fields);
    joint.fields = *fields;
    joint.stages = table.stages("stages").value_or(std::vector<RecipeStage>());
    joint.draws = read_draws(table);
    joint.views = read_views(table);
    table.finish();
    recipe.joints.push_back(std::move(joint));
  }

  static void check_joint_field(TableParameters& table, const std::string& name,
                                const std::vector<FieldRecipe>& fields) {
    std::vector<std::string> names;
    for (const FieldRecipe& field : fields) names.push_back(field.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    table.refuse("fields", text("names `{}`, and the recipe's fields are {}.{}", printable(name),
                                quoted(names), did_you_mean(name, names)));
  }

  /// Reads stages at that depth of containers.
  [[nodiscard]] StageReader reader(int depth) const {
    return [this, depth](const RecipeValue& list) {
      if (depth > nesting_max) {
        refuse(list,
               text("stages stand in more than {} others. Take one of those that hold them away.",
                    nesting_max));
      }
      std::vector<RecipeStage> stages;
      for (const RecipeValue& stage : list.items) stages.push_back(read_stage(stage, depth));
      return stages;
    };
  }

  [[nodiscard]] static std::string read_draws(TableParameters& table) {
    std::string draws = table.text("draws").value_or(std::string(sample_draws));
    if (!is_draw_word(draws)) {
      table.refuse("draws", text("must be \"sample\", \"own\" or the name of a group, with {}",
                                 draw_word_rule));
    }
    return draws;
  }

  [[nodiscard]] static std::int32_t read_views(TableParameters& table) {
    if (!table.integer("views")) return 0;
    return static_cast<std::int32_t>(integer_in(table, "views", 1, 1, views_max));
  }

  static void check_name(TableParameters& table, const std::string& name,
                         const std::vector<FieldRecipe>& fields) {
    if (name.empty()) table.refuse("name", "is empty");
    if (name == sample_id_name) table.refuse("name", "`sample_id` is taken: it is always there");
    const auto same = [&](const FieldRecipe& field) { return field.name == name; };
    if (std::any_of(fields.begin(), fields.end(), same)) {
      table.refuse("name", text("`{}` is taken by an earlier field", name));
    }
    if (name.size() > limits::field_name_bytes_max) {
      table.refuse("name", text("is longer than {} bytes", limits::field_name_bytes_max));
    }
    const auto unprintable = [](char c) {
      return static_cast<unsigned char>(c) < 0x21 || c == 0x7f;
    };
    if (std::any_of(name.begin(), name.end(), unprintable)) {
      table.refuse("name", "has a blank or unprintable character");
    }
  }

  [[nodiscard]] RecipeStage read_stage(const RecipeValue& value, int depth) const {
    if (!value.is(Kind::table)) {
      refuse(value,
             text("a stage is a table, such as { stage = \"decode\" }, not {}.", value.describe()));
    }
    const RecipeValue* named = value.find("stage");
    const std::string name = named != nullptr && named->is(Kind::text) ? named->text : "a stage";
    TableParameters parameters(value, origin_, name, reader(depth + 1));
    const auto wanted = parameters.text("stage");
    if (!wanted) parameters.refuse("stage", "is missing: which stage it is");
    const StageFactory* factory = catalog_.find(*wanted);
    if (factory == nullptr) {
      const std::vector<std::string> names = catalog_.names();
      std::string nearest = meant_stage(*wanted, names);
      if (nearest.empty()) {
        nearest = " There is";
        for (const std::string& one : names) nearest += (&one == &names[0] ? " " : ", ") + one;
        nearest += ".";
      }
      refuse(*named, text("there is no stage {}.{}", named->describe(), nearest));
    }
    std::shared_ptr<const Stage> stage = (*factory)(parameters);
    if (!stage) refuse(value, text("the factory of stage `{}` made nothing.", *wanted));
    std::string id = parameters.text("id").value_or("");
    if (value.find("id") != nullptr && !is_draw_word(id)) {
      parameters.refuse("id", text("must be a name with {}", draw_word_rule));
    }
    parameters.finish();
    RecipeStage made(std::move(stage), std::move(id));
    made.where = where(value);
    return made;
  }

  [[nodiscard]] std::string where(const RecipeValue& value) const {
    if (value.line == 0) return {};
    return text("{}:{}", origin_, value.line);
  }

  [[noreturn]] void refuse(const RecipeValue& value, const std::string& why) const {
    throw InvalidArgument(recipe_place(origin_, value.line) + why);
  }

  std::string_view origin_;
  const StageCatalog& catalog_;
};

}  // namespace

Recipe read_recipe(const RecipeValue& root, std::string_view origin, const RecipeFormat& format,
                   const StageCatalog& catalog) {
  return RecipeReader(origin, catalog).read(root, format);
}

}  // namespace batchcast::inline v0_1::detail

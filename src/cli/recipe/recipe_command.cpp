// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/recipe/recipe_diff.hpp"
#include "data/image/compile_field.hpp"
#include "serving/dataset.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/data/recipe.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace batchcast::cli {
namespace {

struct Options {
  std::vector<std::string> recipes;
  bool list = false;
  bool diff = false;
  bool json = false;
};

int compare(const Options& options) {
  if (options.recipes.size() != 2) {
    throw InvalidArgument(
        text("batchcast: recipe --diff compares two of: a preset, a TOML file, stream:NAME. It was "
             "given {}.",
             counted(options.recipes.size(), "name")));
  }
  return print_recipe_diff(options.recipes[0], options.recipes[1], options.json);
}

/// Refuses what no source makes good.
void check(const Recipe& recipe) {
  for (const detail::ResolvedField& field : detail::resolve(recipe).fields) {
    static_cast<void>(detail::compile_without_source(field));
  }
}

int print(const std::string& name, bool json) {
  const Recipe recipe = Recipe::load(name);
  check(recipe);
  if (json) {
    fmt::print("{}\n", recipe.to_json());
  } else if (serving::is_preset(name)) {
    fmt::print("{}", Recipe::preset_toml(name));
  } else {
    fmt::print("{} is a recipe; --json shows it with every parameter\n", printable(name));
  }
  return exit_ok;
}

int list(bool json) {
  const auto names = Recipe::preset_names();
  if (json) {
    print_json(std::vector<std::string>(names.begin(), names.end()));
    return exit_ok;
  }
  for (const std::string_view name : names) fmt::print("{}\n", name);
  return exit_ok;
}

int run(const Options& options) {
  if (options.list && !options.recipes.empty()) {
    throw InvalidArgument(text("batchcast: recipe: --list takes no recipe, and was given `{}`.",
                               printable(options.recipes.front())));
  }
  if (options.diff) return compare(options);
  if (options.recipes.size() > 1) {
    throw InvalidArgument(text(
        "batchcast: recipe: `{}` is one argument too many. Two recipes are compared with --diff.",
        printable(options.recipes[1])));
  }
  if (!options.recipes.empty()) return print(options.recipes.front(), options.json);
  return list(options.json);
}

}  // namespace

void add_recipe(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* recipe =
      program.add_subcommand("recipe", "Print a preset, check a recipe file, compare two");
  recipe
      ->add_option("recipe", options->recipes,
                   "A preset's name or a TOML file; two of them, or stream:NAME, with --diff; "
                   "without one the presets are listed")
      ->expected(0, 2);
  CLI::Option* const lists = recipe->add_flag("--list", options->list, "List the presets");
  recipe
      ->add_flag("--diff", options->diff,
                 "Say what differs between the two. Exit code 0: nothing does; 1: something does")
      ->excludes(lists);
  recipe->add_flag("--json", options->json,
                   "Print the JSON of the board, defaults too; of --diff, one object; of the "
                   "list, an array");
  recipe->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/recipe_diff.hpp"

#include <batchcast/core/printable.hpp>
#include <batchcast/data/recipe.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace batchcast::cli {
namespace {

struct Options {
  std::string recipe;
  std::vector<std::string> diff;
  bool json = false;
};

bool is_preset(const std::string& name) {
  for (const std::string_view preset : Recipe::preset_names()) {
    if (preset == name) return true;
  }
  return false;
}

int run(const Options& options) {
  if (!options.diff.empty()) {
    return print_recipe_diff(options.diff.at(0), options.diff.at(1), options.json);
  }
  if (options.recipe.empty()) {
    for (const std::string_view name : Recipe::preset_names()) fmt::print("{}\n", name);
    return exit_ok;
  }
  const Recipe recipe = Recipe::load(options.recipe);
  if (options.json) {
    fmt::print("{}\n", recipe.to_json());
  } else if (is_preset(options.recipe)) {
    fmt::print("{}", Recipe::preset_toml(options.recipe));
  } else {
    fmt::print("{} is a recipe; --json shows it with every parameter\n", printable(options.recipe));
  }
  return exit_ok;
}

}  // namespace

void add_recipe(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* recipe =
      program.add_subcommand("recipe", "Print a preset, check a recipe file, compare two");
  CLI::Option* one =
      recipe->add_option("recipe", options->recipe,
                         "A preset's name or a TOML file; without it the presets are listed");
  recipe
      ->add_option("--diff", options->diff,
                   "Say what differs between two of: a preset, a TOML file, stream:NAME. Exit code "
                   "0: nothing does; 1: something does")
      ->expected(2)
      ->excludes(one);
  recipe->add_flag("--json", options->json,
                   "Print it as it stands on the board, defaults too; of --diff, one object");
  recipe->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli

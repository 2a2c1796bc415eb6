// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/arguments.hpp"

#include "cli/command.hpp"
#include "cli/output.hpp"

#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace batchcast::cli {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// `batchcast bench ring`
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : text("{} {}", full_name(*parent), app.get_name());
}

/// `batchcast: bench ring: `
std::string message_of(const CLI::App& app) {
  std::string text = full_name(app);
  const std::size_t blank = text.find(' ');
  if (blank != std::string::npos) text.replace(blank, 1, ": ");
  return text + ": ";
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(is_shown)) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// That which a word such as `--name` or `--name=value` names; null for another word.
const CLI::Option* option_in(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("--")) return nullptr;
  const std::string name = word.substr(2, word.find('=') - 2);
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (std::find(names.begin(), names.end(), name) != names.end()) return option;
  }
  return nullptr;
}

/// Of an option of trainers and loaders that no command of a producer has, where to say it; empty
/// for others.
std::string what_has(const std::string& name) {
  if (name == "--batch-size") {
    return " Each trainer chooses its batch size, as in bc.Loader(stream, batch_size=64).";
  }
  if (name == "--shuffle") return " `[order]` of the recipe says it; shuffled is the default.";
  return {};
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// As the page of help calls it: `STREAM`, `--batch-size`.
std::string shown_name(const CLI::Option& option) {
  std::string name = option.get_name();
  if (!option.get_positional()) return name.substr(0, name.find(','));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

std::string valueless(const CLI::Option& option) {
  const std::string shown = shown_name(option);
  return text("{} is there without its value. Write {} {}.", shown, shown, option.get_type_name());
}

/// Which needed options did not come: `STREAM is missing.` Empty where all did.
std::string missing_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_required() && option->count() == 0) names.push_back(shown_name(*option));
  }
  if (names.empty()) return {};
  return text("{} {} missing.", list_of(names), names.size() == 1 ? "is" : "are");
}

/// `--overlong needs --max-tokens, which is not given.`
std::string needed_of(const CLI::ParseError& error) {
  constexpr std::string_view between = " requires ";
  std::string what = error.what();
  const std::size_t at = what.find(between);
  if (at == std::string::npos) return {};
  return what.replace(at, between.size(), " needs ") + ", which is not given.";
}

/// Counts and types of values: what the parser says of them in other words than ours. Empty for
/// another error.
std::string own_words(const CLI::App& app, const CLI::ParseError& error) {
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (is_missing) return missing_of(app);
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) return needed_of(error);
  const bool is_count = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  const bool is_type = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  if (!is_count && !is_type) return {};
  const std::string what = error.what();
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool is_meant = is_type ? what.find(text(": {} = ", name)) != std::string::npos
                                  : what.starts_with(name + ": ");
    if (!is_meant) continue;
    const std::string shown = shown_name(*option);
    if (is_type) {
      const char* const why = option->get_items_expected_max() == 0
                                  ? "It takes no value, or true or false."
                                  : "Its value is of another kind.";
      return text("{}: `{}` cannot be read. {}", shown,
                  printable(CLI::detail::join(option->results())), why);
    }
    if (what.find("missing") != std::string::npos) return valueless(*option);
    return text("{} is there {} times, and takes one value.", shown, option->count());
  }
  return {};
}

/// The command that the words chose, as far as they were understood.
const CLI::App& chosen_in(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

}  // namespace

std::vector<std::string> command_words(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  // Of what is only asked about, no argument matters.
  words.erase(std::find_if(words.begin(), words.end(), is_option), words.end());
  words.emplace_back("--help");
  return words;
}

std::string unknown_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &program;
  for (const std::string& word : words) {
    if (is_option(word) || app->get_require_subcommand_min() == 0) return {};
    const auto has_name = [&word](const CLI::App* command) { return command->check_name(word); };
    const std::vector<const CLI::App*> found = app->get_subcommands(has_name);
    if (found.empty()) {
      const std::vector<std::string> names = commands_of(*app);
      return text("{}there is no command `{}`.{} There are {}.", message_of(*app), printable(word),
                  detail::did_you_mean(word, names), list_of(names));
    }
    app = found.front();
  }
  return {};
}

std::string empty_value(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &program;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    const auto has_name = [&word](const CLI::App* command) { return command->check_name(word); };
    const std::vector<const CLI::App*> found = app->get_subcommands(has_name);
    if (!found.empty()) app = found.front();
    const CLI::Option* const option = option_in(*app, word);
    if (option == nullptr) continue;
    if (word.ends_with('=')) {
      return text("{}`{}` has no value after its `=`. `{} --help` says what it takes.",
                  message_of(*app), printable(word), full_name(*app));
    }
    // The parser would take the name of the next option for the value.
    const bool wants_next =
        word.find('=') == std::string::npos && option->get_items_expected_min() > 0;
    if (wants_next && i + 1 < words.size() && option_in(*app, words[i + 1]) != nullptr) {
      return text("batchcast: {}\nRun `{} --help` for its options.", valueless(*option),
                  full_name(*app));
    }
  }
  return {};
}

std::string help_without_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* app = &program;
  for (const std::string& word : words) {
    const auto has_name = [&word](const CLI::App* command) { return command->check_name(word); };
    const std::vector<const CLI::App*> found = app->get_subcommands(has_name);
    if (found.empty()) return {};
    app = found.front();
  }
  if (app->get_require_subcommand_min() == 0) return {};
  std::string help = app->help();
  while (help.ends_with('\n')) help.pop_back();
  return help;
}

int exit_of(const CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return program.exit(error) == 0 ? exit_ok : exit_usage;
  const CLI::App& app = chosen_in(program);
  std::string said = own_words(app, error);
  if (said.empty()) said = printable(error.what());
  say(text("batchcast: {}\nRun `{} --help` for its options.\n", said, full_name(app)));
  return exit_usage;
}

std::string unknown_argument(const CLI::App& program) {
  const CLI::App& app = chosen_in(program);
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return {};
  std::string unknown;
  for (const std::string& word : left) {
    if (!is_option(word)) continue;  // perhaps the value of one that is none
    const std::string name = word.substr(0, word.find('='));
    const std::string elsewhere = what_has(name);
    unknown += text("{}{}`.{}", unknown.empty() ? "there is no option `" : " There is no option `",
                    printable(name),
                    elsewhere.empty() ? detail::did_you_mean(name, options_of(app)) : elsewhere);
  }
  if (unknown.empty()) {
    return text("{}`{}` is one argument too many.", message_of(app), printable(left.front()));
  }
  return text("{}{} `{} --help` lists them.", message_of(app), unknown, full_name(app));
}

CLI::Validator seconds_between(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& word) {
        double seconds = 0;
        // False for what is no number as well.
        const bool fits =
            CLI::detail::lexical_cast(word, seconds) && seconds >= least && seconds <= most;
        return fits ? std::string()
                    : fmt::format("`{}` must be a number of seconds from {:g} to {:g}",
                                  printable(word), least, most);
      },
      CLI::Range(least, most).get_description());
}

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/help.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace batchcast::cli {
namespace {

constexpr std::size_t columns_max = 80;
constexpr std::size_t option_column = 26;  // where it says what an option does
constexpr std::size_t command_column = 12;

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a continuation byte of UTF-8
  }));
}

/// Appends `text` to the last line of `page`, broken into lines that begin at
/// `column`.
void append_filled(std::string& page, const std::string& text, std::size_t column) {
  std::size_t at = columns_of(page.substr(page.rfind('\n') + 1));
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    const std::size_t width = columns_of(word);
    if (!first && at + 1 + width > columns_max) {
      page += "\n" + std::string(column, ' ');
      at = column;
    } else if (!first) {
      page += ' ';
      ++at;
    }
    page += word;
    at += width;
  }
  page += '\n';
}

/// One entry: `name`, and from `column` on what it does.
void append_entry(std::string& page, const std::string& name, const std::string& text,
                  std::size_t column) {
  page += "  " + name;
  const std::size_t at = 2 + columns_of(name);
  const bool fits = at + 2 <= column;
  page += fits ? std::string(column - at, ' ') : "\n" + std::string(column, ' ');
  append_filled(page, text, column);
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// `TYPE:CHECK`, as the parser names what an option takes.
struct Value {
  std::string type;
  std::string check;
};

Value value_of(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return {name, ""};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

/// The placeholder for the option's value; empty for a flag.
std::string value_text(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const Value value = value_of(option);
  std::string text = value.type;
  if (value.check.starts_with('{')) text = value.check;
  if (text == "UINT" || text == "INT") text = "N";
  if (text == "FLOAT") text = "NUMBER";
  const std::string one = text;
  for (int i = 1; i < option.get_expected_min(); ++i) text += " " + one;
  return " " + text;
}

std::string names_text(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) {
    text += (text.empty() ? "--" : ", --") + name;
  }
  return text + value_text(option);
}

/// What an option does, and in brackets what the parser knows besides: its default, and so on.
std::string description_text(const CLI::Option& option) {
  std::vector<std::string> notes;
  if (option.get_required() && option.nonpositional()) notes.emplace_back("required");
  if (!option.get_default_str().empty()) notes.push_back("default " + option.get_default_str());
  const std::string check = value_of(option).check;
  if (const std::size_t range = check.find(" in ["); range != std::string::npos) {
    notes.push_back("from " + check.substr(range + 5, check.find(" - ") - range - 5) + " to " +
                    check.substr(check.find(" - ") + 3, check.find(']') - check.find(" - ") - 3));
  }
  for (const CLI::Option* other : option.get_needs()) notes.push_back("with " + other->get_name());
  for (const CLI::Option* other : option.get_excludes()) {
    notes.push_back("not with " +
                    (other->get_positional() ? upper(other->get_name(true)) : other->get_name()));
  }
  std::string list;
  for (const std::string& note : notes) list += (list.empty() ? "" : "; ") + note;
  return option.get_description() + (list.empty() ? "" : " (" + list + ")");
}

bool is_shown(const CLI::App* command) { return !command->get_group().empty(); }

std::string usage_text(const CLI::App& app, const std::string& name) {
  std::string text = "Usage: " + name;
  if (!app.get_subcommands(is_shown).empty()) return text + " COMMAND [OPTIONS]\n";
  text += " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    std::string argument = upper(option->get_name(true));
    if (option->get_items_expected_max() > 1) argument += "...";
    text += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  return text + "\n";
}

/// The commands below the names of their groups, in the order in which they were added.
void append_commands(std::string& page, const CLI::App& app) {
  std::string group;
  for (const CLI::App* command : app.get_subcommands(is_shown)) {
    if (command->get_group() != group) {
      group = command->get_group();
      page += (group == "Subcommands" ? "Commands" : group) + ":\n";  // the parser's own name
    }
    append_entry(page, command->get_name(), command->get_description(), command_column);
  }
}

void append_options(std::string& page, const CLI::App& app) {
  page += "\n";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    append_entry(page, upper(option->get_name(true)), description_text(*option), option_column);
  }
  page += page.ends_with("\n\n") ? "Options:\n" : "\nOptions:\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional() && !option->get_group().empty()) {
      append_entry(page, names_text(*option), description_text(*option), option_column);
    }
  }
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  const bool chooses = !app->get_subcommands(is_shown).empty();
  std::string page;
  append_filled(page, app->get_description(), 0);
  page += (chooses ? "" : "\n") + usage_text(*app, name);
  if (chooses) {
    append_commands(page, *app);
  } else {
    append_options(page, *app);
  }
  if (!app->get_footer().empty()) page += (chooses ? "" : "\n") + app->get_footer() + "\n";
  return page;
}

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/help.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::cli {
namespace {

constexpr std::size_t columns_max = 80;
constexpr std::size_t columns_min = 30;
constexpr std::size_t option_column = 26;  // where it says what an option does
constexpr std::size_t command_column = 12;

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a continuation byte of UTF-8
  }));
}

/// Those of a terminal that is narrower than a page.
std::size_t columns_of_page() noexcept {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::clamp<std::size_t>(size.ws_col, columns_min, columns_max) : columns_max;
}

/// What follows a blank, and what follows a comma in a word that is too long for a line.
struct Piece {
  std::string text;
  bool is_apart = true;
};

std::vector<Piece> pieces_of(const std::string& text, std::size_t columns) {
  std::vector<Piece> pieces;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    bool is_apart = true;
    for (std::size_t comma; columns_of(word) > columns;) {
      comma = word.find(',');
      if (comma == std::string::npos || comma + 1 == word.size()) break;
      pieces.push_back({word.substr(0, comma + 1), std::exchange(is_apart, false)});
      word.erase(0, comma + 1);
    }
    pieces.push_back({word, is_apart});
  }
  return pieces;
}

/// A page of help, in lines that are no longer than its columns.
class Page {
 public:
  explicit Page(std::size_t columns) : columns_(columns) {}

  void add(const std::string& text) { text_ += text; }
  /// Appends `text` to the last line, broken into lines that begin at `column`.
  void fill(const std::string& text, std::size_t column) {
    std::size_t at = columns_of(text_.substr(text_.rfind('\n') + 1));
    bool first = true;
    for (const Piece& piece : pieces_of(text, columns_ - column)) {
      const std::size_t width = columns_of(piece.text);
      const std::size_t blank = piece.is_apart && !first ? 1 : 0;
      if (!first && at + blank + width > columns_) {
        text_ += "\n" + std::string(column, ' ');
        at = column;
      } else {
        text_ += std::string(blank, ' ');
        at += blank;
      }
      text_ += piece.text;
      at += width;
      first = false;
    }
    text_ += '\n';
  }
  /// One entry: `name`, and from `column` on what it does.
  void add_entry(const std::string& name, const std::string& text, std::size_t column) {
    column = columns_ < columns_max ? std::min(column, columns_ / 5) : column;
    const std::size_t at = 2 + columns_of(name);
    text_ += "  ";
    if (at + 2 <= column) {
      text_ += name + std::string(column - at, ' ');
    } else {
      fill(name, name_indent);
      text_ += std::string(column, ' ');
    }
    fill(text, column);
  }
  /// Paragraphs, and examples, which are indented. Both are written for a page of full width.
  void add_footer(const std::string& footer) {
    if (columns_ == columns_max) return add(footer + "\n");
    std::string paragraph;
    const auto end_paragraph = [&] {
      if (!paragraph.empty()) fill(std::exchange(paragraph, {}), 0);
    };
    std::istringstream lines(footer);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line.front() != ' ') {
        paragraph += line + " ";
        continue;
      }
      end_paragraph();
      add_example(line);
    }
    end_paragraph();
  }
  [[nodiscard]] bool ends_with(std::string_view text) const { return text_.ends_with(text); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t name_indent = 6;

  /// A line of a shell, which goes on behind a backslash.
  void add_example(const std::string& line) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::istringstream words(line);
    std::string text(indent, ' ');
    bool first = true;
    for (std::string word; words >> word; first = false) {
      constexpr std::size_t continued = 2;
      if (!first && columns_of(text) + 1 + columns_of(word) + continued > columns_) {
        text_ += text + " \\\n";
        if (word == "\\") return;
        text = std::string(indent + 2, ' ') + word;
      } else {
        text += (first ? "" : " ") + word;
      }
    }
    text_ += text + "\n";
  }

  const std::size_t columns_;
  std::string text_;
};

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
  if (!app.get_subcommands(is_shown).empty()) {
    const bool is_program = app.get_parent() == nullptr;
    return text + " COMMAND [OPTIONS]" +
           (is_program ? "; `" + name + " COMMAND --help` says more" : "");
  }
  text += " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    std::string argument = upper(option->get_name(true));
    if (option->get_items_expected_max() > 1) argument += "...";
    text += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  return text;
}

/// The commands below the names of their groups, in the order in which they were added.
void append_commands(Page& page, const CLI::App& app) {
  std::string group;
  for (const CLI::App* command : app.get_subcommands(is_shown)) {
    if (command->get_group() != group) {
      group = command->get_group();
      page.add((group == "Subcommands" ? "Commands" : group) + ":\n");  // the parser's own name
    }
    page.add_entry(command->get_name(), command->get_description(), command_column);
  }
}

void append_options(Page& page, const CLI::App& app) {
  page.add("\n");
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    page.add_entry(upper(option->get_name(true)), description_text(*option), option_column);
  }
  std::vector<std::string> headings;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& heading = option->get_group();
    if (heading.empty() || !option->nonpositional()) continue;
    if (std::find(headings.begin(), headings.end(), heading) == headings.end()) {
      headings.push_back(heading);
    }
  }
  for (const std::string& heading : headings) {
    page.add((page.ends_with("\n\n") ? "" : "\n") + heading + ":\n");
    for (const CLI::Option* option : app.get_options()) {
      if (!option->nonpositional() || option->get_group() != heading) continue;
      page.add_entry(names_text(*option), description_text(*option), option_column);
    }
  }
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  const bool chooses = !app->get_subcommands(is_shown).empty();
  Page page(columns_of_page());
  page.fill(app->get_description(), 0);
  if (!chooses) page.add("\n");
  page.fill(usage_text(*app, name), 2);
  if (chooses) {
    append_commands(page, *app);
  } else {
    append_options(page, *app);
  }
  if (app->get_footer().empty()) return page.take();
  if (!chooses) page.add("\n");
  page.add_footer(app->get_footer());
  return page.take();
}

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <utility>

// The size of a class: the lines of its declaration and of every definition of a member, in
// whichever file. Read from the text: braces, and what stands before them at namespace scope.
namespace tidy {
namespace {

enum class Scope { name_space, type, other };

/// What has been read of an entity at namespace scope: up to its `{` or `;`.
struct Head {
  std::string text;
  std::size_t line = 0;  ///< of its first character, from 0
};

struct Level {
  Scope scope;
  std::size_t names = 0;  ///< of a namespace: how many components it added
};

/// A definition at namespace scope that belongs to a class, or is one.
struct Piece {
  std::vector<std::string> owner;  ///< namespaces and names before the last `::`, or of the class
  std::size_t scopes = 0;          ///< how many of `owner` are the namespaces around it
  bool declares = false;           ///< the class itself
  std::size_t begin = 0;
  std::size_t end = 0;  ///< its last line
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// The place behind the bracket that closes the one at `at`.
std::size_t closed(const std::string& text, std::size_t at, char open, char close) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
  }
  return text.size();
}

/// Without what `template` and its brackets say.
std::string without_template(std::string text) {
  static const std::regex begins(R"(^\s*template\s*<)");
  std::smatch match;
  while (std::regex_search(text, match, begins)) {
    text = text.substr(closed(text, text.find('<'), '<', '>'));
  }
  return trimmed(text);
}

/// `detail::Ring<T>::` as detail, Ring.
std::vector<std::string> components(std::string text) {
  std::string plain;
  for (int depth = 0; const char c : text) {
    if (c == '<') ++depth;
    if (depth == 0) plain += c;
    if (c == '>') --depth;
  }
  static const std::regex word(R"(\w+)");
  std::vector<std::string> names;
  for (std::sregex_iterator it(plain.begin(), plain.end(), word), end; it != end; ++it) {
    if (it->str() != "inline") names.push_back(it->str());
  }
  return names;
}

/// The name that this head declares as a class; empty if it declares none.
std::vector<std::string> class_in(const std::string& head) {
  static const std::regex type(
      R"(^(?:class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*|alignas\s*\([^)]*\)\s*)*)"
      R"(((?:\w+\s*::\s*)*\w+(?:\s*<.*>)?)\s*(?:final\s*)?(?::[^:].*)?$)");
  std::smatch match;
  const std::string text = without_template(head);
  if (!std::regex_match(text, match, type)) return {};
  return components(match[1]);
}

/// What is before the parameters of the function that this head declares, or before the value of a
/// variable.
std::string declarator_in(const std::string& head) {
  static const std::regex no_declarator(
      R"((?:^|\W)(?:decltype|requires|alignas|__attribute__|noexcept|explicit)\s*$)");
  const std::string text = without_template(head);
  int angles = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<') ++angles;
    if (c == '>' && angles > 0) --angles;
    if (c == '=' && angles == 0) return text.substr(0, i);
    if (c != '(' || angles > 0) continue;
    const std::string before = text.substr(0, i);
    if (!std::regex_search(before, no_declarator)) return before;
    i = closed(text, i, '(', ')') - 1;
  }
  return text;
}

/// The names before the last `::` of what this head defines; empty where there are none.
std::vector<std::string> owner_in(const std::string& head) {
  static const std::string qualifier = R"(((?:\w+(?:<[^;{}()]*>)?\s*::\s*)+))";
  static const std::regex operator_of(qualifier + R"(operator\b)");
  static const std::regex name_of(qualifier + R"(~?\w+\s*(?:<.*>)?\s*$)");
  std::smatch match;
  if (std::regex_search(head, match, operator_of)) return components(match[1]);
  const std::string declarator = trimmed(declarator_in(head));
  if (std::regex_search(declarator, match, name_of)) return components(match[1]);
  return {};
}

/// Reads one file.
class Reader {
 public:
  explicit Reader(const File& file) : file_(file) {}

  std::vector<Piece> read() {
    bool goes_on = false;
    for (line_ = 0; line_ < file_.bare.size(); ++line_) {
      const std::string& text = file_.bare[line_];
      const std::string directive = trimmed(text);
      if (goes_on || directive.starts_with('#')) {
        if (!goes_on) take_directive(directive);
        goes_on = directive.ends_with('\\');
        continue;
      }
      for (std::size_t i = 0; i < text.size(); ++i) take(text, i);
      if (!state_.head.text.empty()) state_.head.text += ' ';
    }
    return std::move(pieces_);
  }

 private:
  struct State {
    std::vector<Level> levels;
    std::vector<std::string> names;  ///< of the namespaces around
    Head head;
    bool continued = false;  ///< the last piece is not over: `: a_{1}, b_{2} {`
  };

  /// Either branch of a condition may open a brace that is closed once.
  void take_directive(const std::string& text) {
    static const std::regex word(R"(^#\s*(\w+))");
    std::smatch match;
    if (!std::regex_search(text, match, word)) return;
    const std::string what = match[1];
    if (what.starts_with("if")) conditions_.push_back(state_);
    if (what.starts_with("el") && !conditions_.empty()) state_ = conditions_.back();
    if (what == "endif" && !conditions_.empty()) conditions_.pop_back();
  }

  [[nodiscard]] bool at_namespace() const {
    return state_.levels.empty() || state_.levels.back().scope == Scope::name_space;
  }

  void take(const std::string& text, std::size_t i) {
    const char c = text[i];
    if (c == '{') return open();
    if (c == '}') return close(text, i);
    if (!at_namespace()) return;
    if (c == ';') return end_declaration();
    if (state_.head.text.empty()) {
      if (std::isspace(static_cast<unsigned char>(c)) != 0) return;
      state_.head.line = line_;
    }
    state_.head.text += c;
  }

  void open() {
    if (!at_namespace()) return state_.levels.push_back({Scope::other});
    static const std::regex name_space(R"(^(?:inline\s+)?namespace\b(.*)$)");
    static const std::regex language(R"(^extern\s*"[^"]*"\s*$)");
    const std::string head = trimmed(state_.head.text);
    std::smatch match;
    if (std::regex_match(head, match, name_space)) {
      std::vector<std::string> names = components(match[1]);
      if (names.empty()) names.push_back("{" + file_.path + "}");  // of this file alone
      state_.levels.push_back({Scope::name_space, names.size()});
      state_.names.insert(state_.names.end(), names.begin(), names.end());
      state_.head = {};
    } else if (std::regex_match(head, language)) {
      state_.levels.push_back({Scope::name_space});
      state_.head = {};
    } else {
      begin_piece(head);
    }
  }

  void begin_piece(const std::string& head) {
    std::vector<std::string> type = class_in(head);
    state_.levels.push_back({type.empty() ? Scope::other : Scope::type});
    if (!state_.continued) add_piece(type.empty() ? owner_in(head) : type, !type.empty());
  }

  void add_piece(const std::vector<std::string>& owner, bool declares) {
    Piece piece{state_.names, state_.names.size(), declares, state_.head.line, line_};
    if (owner.empty()) piece.owner.clear();
    piece.owner.insert(piece.owner.end(), owner.begin(), owner.end());
    pieces_.push_back(std::move(piece));
  }

  void close(const std::string& text, std::size_t i) {
    if (state_.levels.empty()) return;
    const Level level = state_.levels.back();
    state_.levels.pop_back();
    if (level.scope == Scope::name_space) {
      state_.names.resize(state_.names.size() - level.names);
      state_.head = {};
      return;
    }
    if (!at_namespace() || pieces_.empty()) return;
    pieces_.back().end = line_;
    // A constructor's list of members may have braces before its body has.
    const char next = next_character(text, i + 1);
    state_.continued = level.scope == Scope::other && (next == ',' || next == '{');
    if (!state_.continued) state_.head = {};
  }

  [[nodiscard]] char next_character(const std::string& text, std::size_t from) const {
    for (std::size_t line = line_; line < file_.bare.size(); ++line) {
      const std::string& in = line == line_ ? text : file_.bare[line];
      const std::size_t at = in.find_first_not_of(" \t", line == line_ ? from : 0);
      if (at != std::string::npos) return in[at];
    }
    return '\0';
  }

  void end_declaration() {
    const std::string head = trimmed(state_.head.text);
    const bool defines = head.find("::") != std::string::npos && !head.starts_with("using ") &&
                         !head.starts_with("typedef ") && !head.starts_with("friend ");
    if (defines && !state_.continued) add_piece(owner_in(head), false);
    state_.continued = false;
    state_.head = {};
  }

  const File& file_;
  std::size_t line_ = 0;
  State state_;
  std::vector<State> conditions_;
  std::vector<Piece> pieces_;
};

std::string joined(const std::vector<std::string>& names, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : "::") + names[i];
  return text;
}

using Classes = std::map<std::string, ClassSize>;

/// The class that a member's definition belongs to: the longest part of its qualifier that is one,
/// looked for in its own namespace first and then in those around it. Of nested classes only those
/// that are defined outside of their class are classes of their own.
ClassSize* class_of(Classes& classes, const Piece& piece) {
  for (std::size_t scopes = piece.scopes + 1; scopes-- > 0;) {
    std::vector<std::string> names(piece.owner.begin(),
                                   piece.owner.begin() + static_cast<std::ptrdiff_t>(scopes));
    names.insert(names.end(), piece.owner.begin() + static_cast<std::ptrdiff_t>(piece.scopes),
                 piece.owner.end());
    for (std::size_t count = names.size(); count > scopes; --count) {
      const auto found = classes.find(joined(names, count));
      if (found != classes.end()) return &found->second;
    }
  }
  return nullptr;
}

bool is_library(const File& file) {
  return (is_below(file, "include/") || is_below(file, "src/")) && is_source(file);
}

}  // namespace

std::vector<ClassSize> class_sizes(const Files& files) {
  Classes classes;
  std::vector<Piece> members;
  for (const File& file : files) {
    if (!is_library(file)) continue;
    for (Piece& piece : Reader(file).read()) {
      const std::size_t lines = piece.end - piece.begin + 1;
      if (!piece.declares) {
        if (piece.owner.size() > piece.scopes) members.push_back(std::move(piece));
        continue;
      }
      ClassSize& size = classes[joined(piece.owner, piece.owner.size())];
      if (size.lines == 0) {
        const std::vector<std::string> own(
            piece.owner.begin() + static_cast<std::ptrdiff_t>(piece.scopes), piece.owner.end());
        size = {joined(own, own.size()), file.path, piece.begin + 1, 0};
      }
      size.lines += lines;
    }
  }
  for (const Piece& member : members) {
    if (ClassSize* size = class_of(classes, member)) size->lines += member.end - member.begin + 1;
  }
  std::vector<ClassSize> sizes;
  for (auto& [name, size] : classes) sizes.push_back(std::move(size));
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const ClassSize& a, const ClassSize& b) { return a.lines > b.lines; });
  return sizes;
}

void check_classes(const Files& files, std::size_t lines_max, Violations& found) {
  for (const ClassSize& size : class_sizes(files)) {
    if (size.lines <= lines_max) break;
    found.push_back({size.path, size.line, "class",
                     size.name + " has " + std::to_string(size.lines) + " lines, of at most " +
                         std::to_string(lines_max) +
                         ": give some of its work to a class of its own"});
  }
}

Violations large_files(const Files& files, std::size_t lines_max) {
  Violations found;
  for (const File& file : files) {
    if (!is_library(file) || file.lines.size() <= lines_max) continue;
    found.push_back({file.path, lines_max + 1, "file",
                     std::to_string(file.lines.size()) + " lines are many for one file"});
  }
  return found;
}

void check_names(const Files& files, Violations& found) {
  std::map<std::string, std::string> first;  // paths by name
  for (const File& file : files) {
    if (!file.path.starts_with("src/") || !file.path.ends_with(".hpp")) continue;
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    const auto [other, is_first] = first.try_emplace(name, file.path);
    if (!is_first) found.push_back({file.path, 1, "name", other->second + " has this name too"});
  }
}

}  // namespace tidy

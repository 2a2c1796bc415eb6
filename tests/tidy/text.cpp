// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <regex>
#include <set>

namespace tidy {
namespace {

constexpr std::size_t columns_max = 100;
constexpr std::size_t columns_max_unformatted = 120;  // where no tool breaks lines: scripts, models

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte of UTF-8
  }));
}

bool has_licence(const File& file) {
  bool licence = false;
  bool owner = false;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, file.lines.size()); ++i) {
    licence |= file.lines[i].find("SPDX-License-Identifier: Apache-2.0") != std::string::npos;
    owner |= file.lines[i].find("the batchcast authors") != std::string::npos;
  }
  return licence && owner;
}

struct Forbidden {
  std::regex pattern;
  std::vector<std::string> folders;
  std::string text;
};

const std::vector<Forbidden>& forbidden() {
  static const std::vector<Forbidden> table = {
      {std::regex(R"(\bshm_(open|unlink)\b|\bshmget\b|/dev/shm)"),
       {"include/", "src/"},
       "named shared memory outlives its processes: use sealed memfds"},
      {std::regex(R"(\batomic_(wait|notify)\w*)"),
       {"include/", "src/"},
       "std::atomic waits on a futex private to the process: use ring/futex.hpp"},
      {std::regex(R"(\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\b)"),
       {"include/batchcast/ring/", "src/ring/"},
       "sleep on a futex, so that the other side can wake the sleeper"},
      {std::regex(R"(^\s*#\s*define\s+(?!BATCHCAST_))"),
       {"include/"},
       "macros reach every program that includes this: use a constant, or begin with BATCHCAST_"},
      {std::regex(R"(\b__SANITIZE_THREAD__\b)"),
       {"include/batchcast/ring/", "include/batchcast/consumer/", "src/"},
       "older ones of clang do not define it: use core/sanitizer.hpp"},
  };
  return table;
}

// Brackets and semicolons in a test's name merge or split it where CMake reads the list of tests.
void check_test_names(const File& file, Violations& found) {
  static const std::regex name(R"(^\s*TEST_CASE\("[^"]*[\[\];])");
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    if (std::regex_search(file.code[i], name)) {
      found.push_back({file.path, i + 1, "testname", "CMake cannot read [, ] and ; in a name"});
    }
  }
}

// Names that some line of the project declares with this type.
std::set<std::string> names_of_type(const Files& files, const std::regex& declaration) {
  std::set<std::string> names;
  for (const File& file : files) {
    for (const std::string& line : file.bare) {
      for (std::sregex_iterator it(line.begin(), line.end(), declaration), end; it != end; ++it) {
        names.insert((*it)[1]);
      }
    }
  }
  return names;
}

}  // namespace

void check_text(const Files& files, Violations& found) {
  for (const File& file : files) {
    if (file.path.ends_with(".md")) continue;
    const bool filled_in_later = file.path.ends_with(".in") && !is_source(file);
    if (!filled_in_later && !has_licence(file)) {
      found.push_back({file.path, 1, "spdx", "the first lines name licence and owner"});
    }
    const bool header = file.path.ends_with(".hpp") || file.path.ends_with(".ipp") ||
                        file.path.ends_with(".hpp.in");
    // Highway compiles these once for each SIMD level.
    const bool many_times = file.path.ends_with("-inl.hpp");
    if (header && !many_times &&
        std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end()) {
      found.push_back({file.path, 1, "pragma", "headers say #pragma once"});
    }
    check_test_names(file, found);
    const bool unformatted =
        file.path.ends_with(".sh") || file.path.ends_with(".pml") || file.path.ends_with(".py");
    const std::size_t limit = unformatted ? columns_max_unformatted : columns_max;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (columns(file.lines[i]) > limit) {
        found.push_back(
            {file.path, i + 1, "columns", "longer than " + std::to_string(limit) + " columns"});
      }
    }
  }
}

// What one process has of several versions must not mix, even where symbols are visible.
void check_namespaces(const Files& files, Violations& found) {
  static const std::regex project(R"(^project\(batchcast VERSION (\d+)\.(\d+))");
  static const std::regex opened(R"(^\s*namespace batchcast\b(?!::cli\b))");
  std::string wanted;
  for (const File& file : files) {
    std::smatch match;
    for (const std::string& line : file.lines) {
      if (file.path != "CMakeLists.txt" || !std::regex_search(line, match, project)) continue;
      wanted = "namespace batchcast::inline v" + match[1].str() + "_" + match[2].str();
    }
  }
  if (wanted.empty()) return;  // not a whole project
  for (const File& file : files) {
    const bool ours = is_below(file, "include/") || is_below(file, "src/");
    if (!ours || !is_source(file)) continue;
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      if (!std::regex_search(file.code[i], opened)) continue;
      const std::size_t at = file.code[i].find(wanted);
      const std::size_t after = at + wanted.size();
      const bool whole = at != std::string::npos && after < file.code[i].size() &&
                         (file.code[i][after] == ' ' || file.code[i][after] == ':');
      if (!whole) found.push_back({file.path, i + 1, "namespace", "must be in `" + wanted + "`"});
    }
  }
}

void check_forbidden(const Files& files, Violations& found) {
  static const std::regex atomic_declaration(
      R"(\b(?:std::atomic(?:_\w+)?\b[^;()]*|Shared32|Shared64)\s+&?(\w+)\s*[;{=,)])");
  static const std::regex condition_declaration(R"(\bcondition_variable(?:_any)?\s+&?(\w+))");
  static const std::regex notify(R"((\w+)\s*(?:\.|->)\s*notify_(?:one|all)\b)");
  static const std::regex wait(R"((\w+)\s*(?:\.|->)\s*wait\s*\()");
  const std::set<std::string> atomics = names_of_type(files, atomic_declaration);
  const std::set<std::string> conditions = names_of_type(files, condition_declaration);
  for (const File& file : files) {
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      for (const Forbidden& rule : forbidden()) {
        const bool applies = std::any_of(rule.folders.begin(), rule.folders.end(),
                                         [&](const std::string& f) { return is_below(file, f); });
        if (applies && std::regex_search(file.code[i], rule.pattern)) {
          found.push_back({file.path, i + 1, "forbidden", rule.text});
        }
      }
      if (!is_below(file, "include/") && !is_below(file, "src/")) continue;
      std::smatch match;
      const std::string& line = file.bare[i];
      const bool notifies =
          std::regex_search(line, match, notify) && !conditions.contains(match[1]);
      const bool waits = std::regex_search(line, match, wait) && atomics.contains(match[1]) &&
                         !conditions.contains(match[1]);
      if (notifies || waits) found.push_back({file.path, i + 1, "forbidden", forbidden()[1].text});
    }
  }
}

}  // namespace tidy

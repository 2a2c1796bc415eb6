// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// The project's written rules, checked over its own text. Each check is a function from all files
// to the places that break it. What they must find is planted in fixtures/, see main.cpp.
namespace tidy {

struct File {
  std::string path;                ///< from the root, with slashes
  std::vector<std::string> lines;  ///< as they are
  std::vector<std::string> code;   ///< comments blanked
  std::vector<std::string> bare;   ///< comments and the insides of literals blanked
};

struct Violation {
  std::string path;
  std::size_t line;
  std::string rule;
  std::string text;
};
using Violations = std::vector<Violation>;
using Files = std::vector<File>;

/// Reads what the rules are about: sources, scripts, build files and Markdown, without build
/// folders and without fixtures.
[[nodiscard]] Files read_files(const std::string& root);

/// C++ and its relatives, as opposed to scripts, build files and prose.
[[nodiscard]] bool is_source(const File& file);
[[nodiscard]] bool is_below(const File& file, std::string_view folder);

/// Rules: edge, border.
void check_includes(const Files& files, Violations& found);
/// Rules: spdx, pragma, testname, columns.
void check_text(const Files& files, Violations& found);
/// Rule: forbidden.
void check_forbidden(const Files& files, Violations& found);
/// Rule: namespace.
void check_namespaces(const Files& files, Violations& found);
/// Rule: snippet.
void check_snippets(const Files& files, Violations& found);
/// A class, with all of its members.
struct ClassSize {
  std::string name;
  std::string path;  ///< of its declaration
  std::size_t line = 0;
  std::size_t lines = 0;  ///< of its declaration and of its members' definitions, in every file
};
/// All classes of the library that are declared at namespace scope, the largest first.
[[nodiscard]] std::vector<ClassSize> class_sizes(const Files& files);
/// Rule: class (none takes more lines than this).
void check_classes(const Files& files, std::size_t lines_max, Violations& found);
/// Files of the library with more lines than this. A remark, no violation.
[[nodiscard]] Violations large_files(const Files& files, std::size_t lines_max);
/// Rule: name (no two headers below src/ share one).
void check_names(const Files& files, Violations& found);
/// Rules: link (of every page, to a file or a heading that is there), readme (it stays short),
/// quote (docs/troubleshooting.md shows what the software prints).
void check_pages(const std::string& root, const Files& files, Violations& found);
/// Rules: phrase (none of a list), sentence (not too long), in pages and in `///` comments. Leaves
/// out what tests/tidy/prose_unchecked.txt lists.
void check_prose(const std::string& root, const Files& files, Violations& found);
/// The same of all files.
[[nodiscard]] Violations prose_violations(const Files& files);
/// Entries of that list that are clean. A remark, no violation.
[[nodiscard]] Violations clean_but_unchecked(const std::string& root, const Files& files);

}  // namespace tidy

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>

// Code shown in the README, in the tutorial and on the pages about Python is a marked region of a
// tested example, or of a CMakeLists.txt; comments there and in Python begin with #:
//   <!-- examples/01_producer.cpp:producer -->      // [snippet producer]
//   ```cpp                                          ...
//   ...                                             // [snippet end]
//   ```
namespace tidy {
namespace {

using Lines = std::vector<std::string>;

constexpr std::array languages = {"```cpp", "```cmake", "```python"};

/// Whether all code on that page has to be of an example that runs.
bool names_examples(const File& page, const std::string& fence) {
  if (page.path == "README.md") return fence != "```cmake";
  return page.path == "docs/tutorial.md" || page.path == "docs/python.md" ||
         page.path == "docs/tensorsocket.md";
}

Lines without_indent(Lines lines) {
  std::size_t indent = std::string::npos;
  for (const std::string& line : lines) indent = std::min(indent, line.find_first_not_of(' '));
  for (std::string& line : lines) line = line.size() > indent ? line.substr(indent) : std::string{};
  return lines;
}

std::optional<Lines> region(const File& file, const std::string& name) {
  const std::string comment = is_source(file) ? "// " : "# ";
  const auto ends_as = [](const std::string& marker) {
    return [marker](const std::string& line) { return line.ends_with(marker); };
  };
  const auto first = std::find_if(file.lines.begin(), file.lines.end(),
                                  ends_as(comment + "[snippet " + name + "]"));
  if (first == file.lines.end()) return std::nullopt;
  const auto last = std::find_if(first, file.lines.end(), ends_as(comment + "[snippet end]"));
  if (last == file.lines.end()) return std::nullopt;
  return without_indent(Lines(first + 1, last));
}

void check_fence(const File& page, std::size_t fence, const Files& files, Violations& found) {
  static const std::regex comment(R"(^<!-- ([^ :]+):([^ ]+) -->$)");
  const auto report = [&](const std::string& text) {
    found.push_back({page.path, fence + 1, "snippet", text});
  };
  std::smatch match;
  if (fence == 0 || !std::regex_match(page.lines[fence - 1], match, comment)) {
    if (names_examples(page, page.lines[fence])) {
      report("no comment above it names the example it is from");
    }
    return;
  }
  const std::string path = match[1];
  const std::string name = match[2];
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const File& f) { return f.path == path; });
  if (file == files.end()) return report("there is no " + path);
  const std::optional<Lines> expected = region(*file, name);
  if (!expected) return report(path + " has no whole region [snippet " + name + "]");
  const auto begin = page.lines.begin() + static_cast<std::ptrdiff_t>(fence) + 1;
  const auto end = std::find(begin, page.lines.end(), "```");
  if (Lines(begin, end) != *expected) report("differs from " + path + ":" + name);
}

}  // namespace

void check_snippets(const Files& files, Violations& found) {
  for (const File& page : files) {
    if (!page.path.ends_with(".md")) continue;
    for (std::size_t i = 0; i < page.lines.size(); ++i) {
      if (std::find(languages.begin(), languages.end(), page.lines[i]) != languages.end()) {
        check_fence(page, i, files, found);
      }
    }
  }
}

}  // namespace tidy

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t readme_lines_max = 130;

/// What a heading is linked by: small letters, digits, - and _; blanks as -.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(byte) || byte >= 0x80 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

bool is_page(const File& file) { return file.path.ends_with(".md"); }

/// Lines outside of fences; those inside are empty.
std::vector<std::string> prose_of(const File& page) {
  std::vector<std::string> lines = page.lines;
  bool fenced = false;
  for (std::string& line : lines) {
    const bool fence = line.starts_with("```");
    if (fence) fenced = !fenced;
    if (fence || fenced) line.clear();
  }
  return lines;
}

std::set<std::string> anchors_of(const File& page) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(page)) {
    if (!line.starts_with("#")) continue;
    anchors.insert(anchor_of(line.substr(std::min(line.size(), line.find(' ') + 1))));
  }
  return anchors;
}

/// What is wrong with a link of `page`; empty if nothing is.
std::string broken(const std::string& root, const Files& files, const File& page,
                   const std::string& link) {
  if (link.find("://") != std::string::npos) return {};
  const std::size_t hash = link.find('#');
  const std::string path = link.substr(0, hash);
  const fs::path target =
      path.empty() ? fs::path(page.path) : (fs::path(page.path).parent_path() / path);
  const std::string name = target.lexically_normal().generic_string();
  if (!fs::exists(fs::path(root) / name)) return "there is no " + name;
  if (hash == std::string::npos) return {};
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const File& f) { return f.path == name && is_page(f); });
  if (file == files.end() || anchors_of(*file).contains(link.substr(hash + 1))) return {};
  return name + " has no heading " + link.substr(hash);
}

void check_links(const std::string& root, const Files& files, const File& page, Violations& found) {
  static const std::regex link(R"(\]\(([^) ]+)\))");
  const std::vector<std::string> lines = prose_of(page);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::sregex_iterator it(lines[i].begin(), lines[i].end(), link), end; it != end; ++it) {
      const std::string why = broken(root, files, page, (*it)[1]);
      if (!why.empty()) found.push_back({page.path, i + 1, "link", why});
    }
  }
}

/// A source file's text with neighbouring literals joined, as the compiler joins them.
std::string joined_literals(const File& file) {
  std::string text;
  for (const std::string& line : file.lines) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool goes_on = first != std::string::npos && line[first] == '"' && text.ends_with("\"\n");
    if (goes_on) text.resize(text.size() - 2);
    text += goes_on ? line.substr(first + 1) : line;
    text += '\n';
  }
  return text;
}

/// The constant parts of a quoted message; … replaces the parts that differ from case to case.
std::vector<std::string> parts_of(const std::string& quote) {
  static const std::regex gap(R"( *… *)");
  std::vector<std::string> parts;
  for (std::sregex_token_iterator it(quote.begin(), quote.end(), gap, -1), end; it != end; ++it) {
    if (!it->str().empty()) parts.push_back(*it);
  }
  return parts;
}

/// Headings of the form ### `message`: each part of the message is in one source file.
void check_quotes(const Files& files, const File& page, Violations& found) {
  std::vector<std::string> texts;
  for (const File& file : files) {
    const bool prints = is_below(file, "src/") || is_below(file, "include/");
    if (prints && is_source(file)) texts.push_back(joined_literals(file));
  }
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    if (!line.starts_with("### `")) continue;
    const std::size_t begin = line.find('`') + 1;
    for (const std::string& part : parts_of(line.substr(begin, line.rfind('`') - begin))) {
      const bool printed = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
        return text.find(part) != std::string::npos;
      });
      if (!printed) found.push_back({page.path, i + 1, "quote", "nothing prints `" + part + "`"});
    }
  }
}

}  // namespace

void check_pages(const std::string& root, const Files& files, Violations& found) {
  for (const File& page : files) {
    if (!is_page(page)) continue;
    check_links(root, files, page, found);
    if (page.path == "docs/troubleshooting.md") check_quotes(files, page, found);
    if (page.path == "README.md" && page.lines.size() > readme_lines_max) {
      found.push_back({page.path, readme_lines_max + 1, "readme",
                       "longer than " + std::to_string(readme_lines_max) + " lines"});
    }
  }
}

}  // namespace tidy

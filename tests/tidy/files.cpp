// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::array folders = {"include",    "src",  "tests", "examples",
                                "benchmarks", "docs", "cmake", ".ci"};
constexpr std::array suffixes = {".hpp", ".ipp", ".cpp",   ".h",  ".cu",  ".in",           ".sh",
                                 ".md",  ".pml", ".cmake", ".py", ".awk", "CMakeLists.txt"};

bool wanted(const std::string& path) {
  if (path.starts_with("tests/tidy/fixtures/")) return false;
  return path == ".ci/run" ||
         std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return path.ends_with(suffix); });
}

enum class In { code, line_comment, block_comment, string, character, raw_string };

// Blanks comments, and the insides of literals where `literals_too`. Knows raw strings with the
// delimiter "" only.
std::vector<std::string> blanked(std::vector<std::string> lines, bool literals_too) {
  In in = In::code;
  for (std::string& line : lines) {
    if (in == In::line_comment) in = In::code;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      const char next = i + 1 < line.size() ? line[i + 1] : '\0';
      const bool closes = (in == In::string && c == '"') || (in == In::character && c == '\'') ||
                          (in == In::raw_string && c == ')' && next == '"');
      if (in == In::code) {
        const bool separator =
            c == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(line[i - 1]));
        if (c == '/' && next == '/') in = In::line_comment;
        if (c == '/' && next == '*') in = In::block_comment;
        if (c == '"') in = i > 0 && line[i - 1] == 'R' ? In::raw_string : In::string;
        if (c == '\'' && !separator) in = In::character;
        if (in == In::line_comment || in == In::block_comment) line[i] = ' ';
      } else if (closes) {
        in = In::code;
        if (c == ')') ++i;
      } else if (in == In::block_comment && c == '*' && next == '/') {
        line[i] = line[i + 1] = ' ';
        ++i;
        in = In::code;
      } else {
        const bool comment = in == In::line_comment || in == In::block_comment;
        const bool escape = (in == In::string || in == In::character) && c == '\\';
        if (comment || literals_too) line[i] = ' ';
        if (escape && next != '\0') {
          ++i;
          if (literals_too) line[i] = ' ';
        }
      }
    }
    if (in == In::string || in == In::character) in = In::code;
  }
  return lines;
}

}  // namespace

Files read_files(const std::string& root) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().filename().string());
  }
  for (const char* folder : folders) {
    if (!fs::is_directory(fs::path(root) / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      if (entry.is_regular_file())
        paths.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  std::sort(paths.begin(), paths.end());
  Files files;
  for (const std::string& path : paths) {
    if (!wanted(path)) continue;
    File file{.path = path, .lines = {}, .code = {}, .bare = {}};
    std::ifstream in(fs::path(root) / path);
    for (std::string line; std::getline(in, line);) file.lines.push_back(line);
    if (is_source(file)) {
      file.code = blanked(file.lines, false);
      file.bare = blanked(file.lines, true);
    }
    files.push_back(std::move(file));
  }
  return files;
}

bool is_source(const File& file) {
  const std::string& path = file.path;
  return path.ends_with(".hpp") || path.ends_with(".ipp") || path.ends_with(".cpp") ||
         path.ends_with(".h") || path.ends_with(".cu") || path.ends_with(".hpp.in");
}

bool is_below(const File& file, std::string_view folder) { return file.path.starts_with(folder); }

}  // namespace tidy

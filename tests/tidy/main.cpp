// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// batchcast_tidy ROOT                   checks a tree; prints each place that breaks a rule
// batchcast_tidy --classes ROOT         prints the largest classes of a tree
// batchcast_tidy --prose ROOT [PATH]    counts the phrases and long sentences of each file, also of
//                                       those that are not checked yet; with a path, which may be
//                                       the beginning of one, prints each place
// batchcast_tidy --selftest FIXTURES    checks that every planted violation is found, and no other:
//                                       each folder of FIXTURES is a tree with a file `expected`

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "tidy.hpp"

namespace {

using tidy::Violation;
using tidy::Violations;

constexpr std::size_t lines_max = 600;  // of a class, and of a file before it is remarked upon
constexpr std::size_t planted_lines_max = 20;
constexpr std::size_t classes_shown = 5;

Violations check(const tidy::Files& files, const std::string& root, std::size_t class_lines_max) {
  Violations found;
  tidy::check_includes(files, found);
  tidy::check_text(files, found);
  tidy::check_forbidden(files, found);
  tidy::check_namespaces(files, found);
  tidy::check_snippets(files, found);
  tidy::check_pages(root, files, found);
  tidy::check_prose(root, files, found);
  tidy::check_classes(files, class_lines_max, found);
  tidy::check_names(files, found);
  return found;
}

std::string place(const Violation& v) {
  return v.path + ":" + std::to_string(v.line) + ": " + v.rule;
}

std::vector<std::string> places(const Violations& found) {
  std::vector<std::string> lines;
  for (const Violation& v : found) lines.push_back(place(v));
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> expected_places(const std::filesystem::path& fixture) {
  std::vector<std::string> lines;
  std::ifstream in(fixture / "expected");
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

void print_missing(const char* what, const std::vector<std::string>& from,
                   const std::vector<std::string>& in) {
  for (const std::string& line : from) {
    if (std::find(in.begin(), in.end(), line) == in.end())
      std::printf("  %s %s\n", what, line.c_str());
  }
}

int selftest(const std::string& fixtures) {
  int failed = 0;
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures)) {
    if (!std::filesystem::exists(entry.path() / "expected")) continue;
    ++checked;
    const auto expected = expected_places(entry.path());
    const std::string root = entry.path().string();
    const auto found = places(check(tidy::read_files(root), root, planted_lines_max));
    if (found == expected) continue;
    ++failed;
    std::printf("%s:\n", entry.path().filename().c_str());
    print_missing("not found:", expected, found);
    print_missing("not planted:", found, expected);
  }
  std::printf("%d fixtures, %d wrong\n", checked, failed);
  return failed == 0 && checked > 0 ? 0 : 1;
}

int print_classes(const std::string& root) {
  const std::vector<tidy::ClassSize> sizes = tidy::class_sizes(tidy::read_files(root));
  for (std::size_t i = 0; i < std::min(classes_shown, sizes.size()); ++i) {
    std::printf("%5zu lines  %s (%s:%zu)\n", sizes[i].lines, sizes[i].name.c_str(),
                sizes[i].path.c_str(), sizes[i].line);
  }
  return 0;
}

int print_prose(const std::string& root, const std::string& path) {
  struct Count {
    std::size_t phrases = 0;
    std::size_t sentences = 0;
  };
  std::map<std::string, Count> counts;
  Count all;
  for (const Violation& v : tidy::prose_violations(tidy::read_files(root))) {
    if (!v.path.starts_with(path)) continue;
    const bool phrase = v.rule == "phrase";
    for (Count* count : {&counts[v.path], &all}) ++(phrase ? count->phrases : count->sentences);
    if (!path.empty()) std::printf("%s: %s\n", place(v).c_str(), v.text.c_str());
  }
  for (const auto& [file, count] : counts) {
    std::printf("%4zu phrases, %4zu long sentences  %s\n", count.phrases, count.sentences,
                file.c_str());
  }
  std::printf("%4zu phrases, %4zu long sentences in %zu files\n", all.phrases, all.sentences,
              counts.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--selftest") == 0) return selftest(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "--classes") == 0) return print_classes(argv[2]);
  if ((argc == 3 || argc == 4) && std::strcmp(argv[1], "--prose") == 0)
    return print_prose(argv[2], argc == 4 ? argv[3] : "");
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: batchcast_tidy ROOT | --classes ROOT | --prose ROOT [PATH] |"
                 " --selftest FIXTURES\n");
    return 2;
  }
  const tidy::Files files = tidy::read_files(argv[1]);
  for (const Violation& v : tidy::large_files(files, lines_max)) {
    std::printf("warning: %s: %s\n", place(v).c_str(), v.text.c_str());
  }
  for (const Violation& v : tidy::clean_but_unchecked(argv[1], files)) {
    std::printf("warning: %s: %s\n", place(v).c_str(), v.text.c_str());
  }
  const Violations found = check(files, argv[1], lines_max);
  for (const Violation& v : found) std::printf("%s: %s\n", place(v).c_str(), v.text.c_str());
  std::printf("%zu violations\n", found.size());
  return found.empty() ? 0 : 1;
}

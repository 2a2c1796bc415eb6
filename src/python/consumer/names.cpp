// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <regex>
#include <utility>

namespace batchcast::inline v0_1::python {
namespace {

using Names = std::initializer_list<std::string_view>;

/// An option, and perhaps a number that follows it, with a unit: `--memory 8KiB`, `--wait-for=3`.
[[nodiscard]] const std::regex& option_and_value() {
  static const std::regex both(R"((^|[^A-Za-z0-9/])--([a-z]+(?:-[a-z]+)*))"
                               R"((?:[ =]([0-9](?:[A-Za-z0-9.]*[A-Za-z0-9])?))?)");
  return both;
}

/// std::regex goes one call deeper for each letter of a word.
constexpr std::size_t letters_max = 10'000;

[[nodiscard]] std::string named(const std::string& text, const Names& only) {
  if (text.size() > letters_max) return text;
  std::string made;
  auto rest = text.begin();
  for (std::sregex_iterator it(text.begin(), text.end(), option_and_value()), end; it != end;
       ++it) {
    std::string name = (*it)[2];
    if (only.size() != 0 && std::find(only.begin(), only.end(), name) == only.end()) continue;
    std::replace(name.begin(), name.end(), '-', '_');
    made.append(rest, (*it)[0].first).append((*it)[1]).append(name);
    const std::string value = (*it)[3];
    const bool is_plain = value.find_first_not_of("0123456789.") == value.npos;
    if (!value.empty()) made += is_plain ? "=" + value : "=\"" + value + '"';
    rest = (*it)[0].second;
  }
  return made.append(rest, text.end());
}

}  // namespace

std::string with_names_of_python(std::string_view text, Names only) {
  std::string made;
  bool is_quoted = false;  // between backticks
  for (std::size_t begin = 0; begin <= text.size(); is_quoted = !is_quoted) {
    const std::size_t end = std::min(text.find('`', begin), text.size());
    const std::string part(text.substr(begin, end - begin));
    const bool is_command = is_quoted && !part.starts_with("--") && part.find(" --") != part.npos;
    made += is_command ? part : named(part, only);
    if (end != text.size()) made += '`';
    begin = end + 1;
  }
  return made;
}

std::string with_names_of_start(const std::string& text) {
  // What C++ calls otherwise, the longer names first.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> others = {{
      {"--timeout; connect_timeout_ms in a trainer", "connect_timeout"},
      {"connect_timeout_ms; --connect-timeout of `batchcast consume`", "connect_timeout"},
      {"StartOptions::command", "command="},
      {"StartOptions or StartTarget", "Start or Consumer"},
      {"idle_exit_s", "idle_exit"},
      {"connect_timeout_ms", "connect_timeout"},
  }};
  std::string said = text;
  for (const auto& [theirs, ours] : others) {
    for (std::size_t at = 0; (at = said.find(theirs, at)) != std::string::npos;) {
      said.replace(at, theirs.size(), ours);
      at += ours.size();
    }
  }
  return with_names_of_python(said,
                              {"recipe", "seed", "memory", "epochs", "wait-for", "idle-exit"});
}

}  // namespace batchcast::inline v0_1::python

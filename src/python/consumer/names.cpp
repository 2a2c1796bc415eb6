// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/consumer/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

namespace batchcast::inline v0_1::python {
namespace {

[[nodiscard]] bool is_small(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
[[nodiscard]] bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
[[nodiscard]] bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Of an option that begins at `at`, behind the hyphens; 0 where none does.
[[nodiscard]] std::size_t name_size(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "--" || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '/'))) {
    return 0;
  }
  std::size_t end = at + 2;
  while (end < text.size()) {
    const bool joins = text[end] == '-' && end + 1 < text.size() && is_small(text[end + 1]);
    if (!is_small(text[end]) && !(joins && end > at + 2)) break;
    ++end;
  }
  return end - at - 2;
}

/// A command between backticks that begins at `at`, with both of them; 0 where none does.
[[nodiscard]] std::size_t command_size(std::string_view text, std::size_t at) {
  if (text[at] != '`') return 0;
  const std::size_t end = text.find('`', at + 1);
  if (end == std::string_view::npos) return 0;
  const std::string_view between = text.substr(at + 1, end - at - 1);
  const bool is_command = !between.starts_with("--") && between.find(" --") != between.npos;
  return is_command ? between.size() + 2 : 0;
}

/// A number that follows an option at `at`, perhaps with a unit: ` 8KiB`, `=3`. Empty: none does.
[[nodiscard]] std::string_view value_at(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || (text[at] != ' ' && text[at] != '=') || !is_digit(text[at + 1])) {
    return {};
  }
  std::size_t end = at + 1;
  while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
  while (text[end - 1] == '.') --end;  // a sentence's
  return text.substr(at + 1, end - at - 1);
}

}  // namespace

std::string with_names_of_python(std::string_view text,
                                 std::initializer_list<std::string_view> only) {
  std::string named;
  bool is_quoted = false;  // between backticks
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t size = is_quoted ? 0 : command_size(text, at)) {
      named += text.substr(at, size);
      at += size;
      continue;
    }
    if (text[at] == '`') is_quoted = !is_quoted;
    const std::string_view name = text.substr(std::min(at + 2, text.size()), name_size(text, at));
    const bool is_known =
        only.size() == 0 || std::find(only.begin(), only.end(), name) != only.end();
    if (name.empty() || !is_known) {
      named += text[at++];
      continue;
    }
    for (const char c : name) named += c == '-' ? '_' : c;
    at += 2 + name.size();
    const std::string_view value = value_at(text, at);
    if (value.empty()) continue;
    const bool is_plain = value.find_first_not_of("0123456789.") == value.npos;
    named += is_plain ? "=" : "=\"";
    named += value;
    if (!is_plain) named += '"';
    at += 1 + value.size();
  }
  return named;
}

std::string with_names_of_start(const std::string& text) {
  // What C++ calls otherwise, the longer ones first.
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

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/source_options.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace batchcast::inline v0_1::detail {
namespace {

std::vector<std::string> to_strings(std::initializer_list<std::string_view> names) {
  return {names.begin(), names.end()};
}

// `a`, `b` or `c`
std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += text("`{}`", names[i]);
  }
  return list;
}

}  // namespace

SourceOptions::SourceOptions(std::string_view kind, std::string_view given) : kind_(kind) {
  while (!given.empty()) {
    const std::size_t end = std::min(given.find('&'), given.size());
    const std::string_view entry = given.substr(0, end);
    given.remove_prefix(std::min(end + 1, given.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw InvalidArgument(
          text("batchcast: `{}:`: the option `{}` is not written as key=value.", kind_, entry));
    }
    const std::string key(entry.substr(0, equals));
    if (value_of(key)) refuse(key, "is there twice");
    entries_.emplace_back(key, entry.substr(equals + 1));
  }
}

void SourceOptions::allow(std::initializer_list<std::string_view> keys) const {
  const std::vector<std::string> known = to_strings(keys);
  for (const auto& [key, value] : entries_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string hint = did_you_mean(key, known);
    if (hint.empty()) hint = known.empty() ? " It has none." : text(" It has {}.", listed(known));
    throw InvalidArgument(text("batchcast: `{}:` has no option `{}`.{}", kind_, key, hint));
  }
}

std::optional<std::string_view> SourceOptions::value_of(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> SourceOptions::number(std::string_view key) const {
  const std::optional<std::string_view> value = value_of(key);
  if (!value) return std::nullopt;
  std::uint64_t result = 0;
  const char* const end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, result);
  if (error == std::errc::result_out_of_range) {
    refuse(key, text("is `{}`, which is too large", *value));
  }
  if (error != std::errc() || stop != end) {
    refuse(key, text("is `{}`, not a whole number", *value));
  }
  return result;
}

bool SourceOptions::boolean(std::string_view key, bool otherwise) const {
  const std::optional<std::string_view> value = value_of(key);
  if (!value) return otherwise;
  if (*value == "true" || *value == "yes" || *value == "1") return true;
  if (*value == "false" || *value == "no" || *value == "0") return false;
  refuse(key, text("is `{}`, neither `true` nor `false`", *value));
}

std::string_view SourceOptions::one_of(std::string_view key,
                                       std::initializer_list<std::string_view> names) const {
  const std::optional<std::string_view> value = value_of(key);
  if (!value) return *names.begin();
  for (const std::string_view name : names) {
    if (name == *value) return name;
  }
  const std::vector<std::string> known = to_strings(names);
  refuse(key, text("is `{}`, not {}.{}", *value, listed(known), did_you_mean(*value, known)));
}

void SourceOptions::refuse(std::string_view key, const std::string& why) const {
  throw InvalidArgument(text("batchcast: `{}:`: the option `{}` {}{}", kind_, key, why,
                             why.ends_with('.') || why.ends_with('?') ? "" : "."));
}

std::string with_home(std::string_view path) {
  if (path != "~" && !path.starts_with("~/")) return std::string(path);
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string(path) : home + std::string(path.substr(1));
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::vector<std::string> split_paths(std::string_view kind, std::string_view list) {
  std::vector<std::string> paths;
  for (std::string_view left = list;;) {
    const std::size_t comma = left.find(',');
    const std::string_view path = left.substr(0, comma);
    if (path.empty()) {
      throw InvalidArgument(text("batchcast: `{}:{}`: a file name is missing.", kind, list));
    }
    paths.push_back(with_home(path));
    if (comma == std::string_view::npos) return paths;
    left.remove_prefix(comma + 1);
  }
}

}  // namespace batchcast::inline v0_1::detail

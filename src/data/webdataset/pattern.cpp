// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset/pattern.hpp"

#include <batchcast/core/error.hpp>

#include <glob.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "data/source/source_options.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t alternatives_deep_max = 32;

[[noreturn]] void refuse_pattern(std::string_view pattern, const std::string& why) {
  throw InvalidArgument(text("batchcast: `webdataset:{}`: {}", pattern, why));
}

// Splits at commas that are in no braces.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && depth > 0) --depth;
    if (text[i] != ',' || depth > 0) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || digits.empty()) return std::nullopt;
  return value;
}

bool padded(std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; }

std::vector<std::string> count(std::string_view pattern, std::string_view range, std::size_t dots) {
  const std::string_view first_digits = range.substr(0, dots);
  const std::string_view last_digits = range.substr(dots + 2);
  const std::optional<std::uint64_t> first = number(first_digits);
  const std::optional<std::uint64_t> last = number(last_digits);
  if (!first || !last || first_digits.size() > 20 || last_digits.size() > 20) {
    refuse_pattern(pattern, text("`{{}}` is no range such as {000..099}", range));
  }
  const std::uint64_t steps = *first < *last ? *last - *first : *first - *last;
  if (steps >= shards_max) refuse_pattern(pattern, text("`{{}}` has too many shards", range));
  const std::size_t width = padded(first_digits) || padded(last_digits)
                                ? std::max(first_digits.size(), last_digits.size())
                                : 0;
  std::vector<std::string> texts;
  for (std::uint64_t step = 0; step <= steps; ++step) {
    std::string number = text("{}", *first < *last ? *first + step : *first - step);
    if (number.size() < width) number.insert(0, width - number.size(), '0');
    texts.push_back(std::move(number));
  }
  return texts;
}

void expand(std::string_view pattern, const std::string& before, std::string_view left,
            std::size_t depth, std::vector<std::string>& found) {
  if (depth > alternatives_deep_max) refuse_pattern(pattern, "more braces than make sense");
  const std::size_t open = left.find('{');
  if (open == std::string_view::npos) {
    if (left.find('}') != std::string_view::npos) refuse_pattern(pattern, "`}` without `{`");
    if (found.size() >= shards_max) refuse_pattern(pattern, "it names too many shards");
    found.push_back(before + std::string(left));
    return;
  }
  std::size_t close = open;
  for (std::size_t nested = 0; close < left.size(); ++close) {
    if (left[close] == '{') ++nested;
    if (left[close] == '}' && --nested == 0) break;
  }
  if (close == left.size()) refuse_pattern(pattern, "`{` without `}`");
  const std::string start = before + std::string(left.substr(0, open));
  const std::string_view inside = left.substr(open + 1, close - open - 1);
  const std::string_view rest = left.substr(close + 1);
  const std::size_t dots = inside.find("..");
  const bool is_list = inside.find_first_of(",{") != std::string_view::npos;
  if (is_list) {
    for (const std::string_view piece : split(inside)) {
      expand(pattern, start, std::string(piece) + std::string(rest), depth + 1, found);
    }
  } else if (dots != std::string_view::npos) {
    for (const std::string& piece : count(pattern, inside, dots)) {
      expand(pattern, start + piece, rest, depth + 1, found);
    }
  } else {
    refuse_pattern(pattern, text("`{{}}` is neither a range nor a list", inside));
  }
}

bool is_shard_name(std::string_view name) {
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz") ||
         name.ends_with(".tar.zst");
}

// Such as x.tar.xz and x.tbz2.
bool is_packed_otherwise(std::string_view name) {
  constexpr std::array<std::string_view, 7> endings = {".tar.xz", ".txz",     ".tar.bz2", ".tbz2",
                                                       ".tbz",    ".tar.lz4", ".zip"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<std::string> shards_inside(const std::string& folder) {
  std::vector<std::string> found;
  std::string other;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; at != end && !error;
       at.increment(error)) {
    const std::string name = at->path().filename().native();
    if (is_shard_name(name)) found.push_back(at->path().native());
    if (is_packed_otherwise(name) && (other.empty() || name < other)) other = name;
  }
  if (error) throw BadDataset(text("batchcast: cannot list {}: {}", folder, error.message()));
  if (found.empty()) {
    throw BadDataset(text("batchcast: no .tar, .tar.gz, .tgz or .tar.zst in {}{}", folder,
                          other.empty() ? "" : text("; unpack {} and the like first", other)));
  }
  return found;
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t matched{};
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matched);
  for (std::size_t i = 0; status == 0 && i < matched.gl_pathc; ++i) {
    found.emplace_back(matched.gl_pathv[i]);
  }
  ::globfree(&matched);
  if (found.empty()) throw BadDataset(text("batchcast: no file matches {}", pattern));
  return found;
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view patterns) {
  if (patterns.find('\0') != std::string_view::npos)
    refuse_pattern(patterns, "a name with a zero byte");
  std::vector<std::string> found;
  for (const std::string_view pattern : split(patterns)) {
    if (pattern.empty())
      refuse_pattern(patterns, "an empty name; write webdataset:shard-{000..099}.tar");
    expand(pattern, {}, pattern, 0, found);
  }
  return found;
}

std::vector<std::string> find_shards(std::string_view patterns) {
  std::vector<std::string> shards;
  for (const std::string& expanded : expand_braces(patterns)) {
    std::string pattern = split_paths("webdataset", expanded).front();
    std::error_code ignored;
    std::vector<std::string> several;
    if (std::filesystem::is_directory(pattern, ignored)) {
      several = shards_inside(pattern);
    } else if (pattern.find_first_of("*?[") != std::string::npos &&
               !std::filesystem::exists(pattern, ignored)) {
      several = matches(pattern);
    } else {
      several.push_back(std::move(pattern));
    }
    // Sorted by bytes, not by the user's locale: the order of samples must be the same everywhere.
    std::sort(several.begin(), several.end());
    std::move(several.begin(), several.end(), std::back_inserter(shards));
    if (shards.size() > shards_max) refuse_pattern(patterns, "it names too many shards");
  }
  return shards;
}

}  // namespace batchcast::inline v0_1::detail

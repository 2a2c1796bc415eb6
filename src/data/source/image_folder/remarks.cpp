// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/image_folder/remarks.hpp"

#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

std::string counted(std::uint64_t count, std::string_view what) {
  return text("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string few_of(std::span<const std::string> names) {
  constexpr std::size_t shown = 10;
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) {
    list += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  if (names.size() > shown) list += text(" and {} more", names.size() - shown);
  return list;
}

std::string describe_left_out(const std::map<std::string, std::uint64_t>& left_out) {
  constexpr std::size_t shown = 6;
  std::vector<std::pair<std::uint64_t, std::string>> commonest;
  std::uint64_t rest = 0;
  for (const auto& [extension, count] : left_out) {
    rest += count;
    if (!extension.empty()) commonest.emplace_back(count, extension);
  }
  std::string remark = text("{} left out, being no JPEG, PNG or WebP", counted(rest, "file"));
  std::stable_sort(commonest.begin(), commonest.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  commonest.resize(std::min(shown, commonest.size()));
  std::string_view separator = ": ";
  for (const auto& [count, extension] : commonest) {
    remark += text("{}{} {}", separator, count, printable(extension));
    separator = ", ";
    rest -= count;
  }
  if (!commonest.empty() && rest > 0) remark += text(", {} of other kinds", rest);
  return remark + ".";
}

namespace {

/// Images that no codec of ours reads.
bool is_other_image(std::string_view extension) {
  constexpr std::array<std::string_view, 16> extensions = {
      ".avif", ".bmp", ".dib", ".gif", ".heic", ".heif", ".ico", ".jp2",
      ".jxl",  ".pbm", ".pgm", ".pnm", ".ppm",  ".tga",  ".tif", ".tiff"};
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

}  // namespace

std::string describe_empty(std::span<const EmptyClass> empty, std::uint64_t classes) {
  std::vector<std::string> names;
  bool has_others = false;
  for (const EmptyClass& one : empty) {
    std::string list;
    for (const auto& [extension, count] : one.left_out) {
      if (!is_other_image(extension)) continue;
      list += text("{}{} {}", list.empty() ? "" : ", ", count, extension);
    }
    has_others = has_others || !list.empty();
    names.push_back(list.empty() ? one.name : text("{} ({})", one.name, list));
  }
  return text("{} of {} classes {} no {}: {}.", empty.size(), classes,
              empty.size() == 1 ? "has" : "have", has_others ? "JPEG, PNG or WebP file" : "images",
              few_of(names));
}

std::string split_among(std::span<const std::string> classes) {
  constexpr std::array<std::string_view, 6> splits = {"train",      "training", "val",
                                                      "validation", "valid",    "test"};
  const auto rank = [&](const std::string& name) {
    return std::find(splits.begin(), splits.end(), name) - splits.begin();
  };
  const auto none = static_cast<std::ptrdiff_t>(splits.size());
  std::string best;
  for (const std::string& name : classes) {
    if (rank(name) == none) return {};
    if (best.empty() || rank(name) < rank(best)) best = name;
  }
  return best;
}

}  // namespace batchcast::inline v0_1::detail

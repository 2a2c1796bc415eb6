// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

// The remarks about an image folder.
namespace batchcast::inline v0_1::detail {

/// `1 image`, `2 images`
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view what);

/// `a, b, c and 7 more`
[[nodiscard]] std::string few_of(std::span<const std::string> names);

/// How many files are no images, with the commonest extensions; `left_out` is not empty.
[[nodiscard]] std::string describe_left_out(const std::map<std::string, std::uint64_t>& left_out);

/// A class without images, and what lies in its folder instead, by extension.
struct EmptyClass {
  std::string name;
  std::map<std::string, std::uint64_t> left_out;
};

/// Which of `classes` classes have no images that can be read, and which others they have instead:
/// `b (3 .bmp)`. `empty` is not empty.
[[nodiscard]] std::string describe_empty(std::span<const EmptyClass> empty, std::uint64_t classes);

/// For classes that are named like parts of a dataset, whose classes lie one level deeper: the
/// training part, else the first. Empty where they are not named so.
[[nodiscard]] std::string split_among(std::span<const std::string> classes);

}  // namespace batchcast::inline v0_1::detail

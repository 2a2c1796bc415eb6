// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Makes the parts of samples from the names of members.
namespace batchcast::inline v0_1::detail {

/// As WebDataset reads a name: `a/b/000123.seg.png` is sample `a/b/000123`, extension `seg.png`.
struct MemberName {
  std::string_view key;
  std::string_view extension;  ///< empty: the member is no part of a sample
};
[[nodiscard]] MemberName split_member_name(std::string_view name) noexcept;

/// What the bytes of a part are.
enum class PartMeaning : std::uint8_t { image, integer, class_name, npy, other };

/// The extensions of a sample: bit i is the i-th extension.
using ExtensionSet = std::uint64_t;
inline constexpr std::size_t extensions_max = 64;

struct PartPlan {
  std::vector<PartSpec> parts;        ///< of npy: type and shape are not known yet
  std::vector<PartMeaning> meanings;  ///< of each part
  std::vector<std::size_t> part_of;   ///< of each extension
};

/// Plans parts in the order in which their extensions came first. `samples` are the sets that
/// occur. Image extensions that no sample has two of are one part, and the only such part is
/// `image`. Labels are integers in digits, or names of classes where `labels_are_names`.
[[nodiscard]] PartPlan plan_parts(std::span<const std::string> extensions,
                                  const std::set<ExtensionSet>& samples, bool labels_are_names);

}  // namespace batchcast::inline v0_1::detail

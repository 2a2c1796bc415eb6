// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// More shards than any dataset has; a range with more is a typing error.
inline constexpr std::size_t shards_max = 1'000'000;

/// Expands braces, left to right. `{000..099}` counts, with as many digits as the longer end where
/// one has leading zeros; `{a,b}` lists. Top-level commas separate patterns. Throws InvalidArgument
/// for an unmatched brace, an unreadable range, or more than shards_max texts.
[[nodiscard]] std::vector<std::string> expand_braces(std::string_view patterns);

/// The shards' paths, in the order in which their samples count. An expanded pattern stands for the
/// files that a shell's `*`, `?` and `[…]` match, sorted by bytes. A directory stands for the
/// shards inside. Any other text stands for itself, whether it exists or not. Throws
/// InvalidArgument as above, and BadDataset for a pattern that matches nothing.
[[nodiscard]] std::vector<std::string> find_shards(std::string_view patterns);

}  // namespace batchcast::inline v0_1::detail

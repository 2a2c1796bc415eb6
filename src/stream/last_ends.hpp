// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

// Streams whose names are used once leave words that no later producer removes.
inline constexpr std::size_t ends_kept_max = 64;
inline constexpr std::int64_t ends_kept_s = 24 * 60 * 60;

/// Removes last words at `end_path` below `base` that are older than `ends_kept_s`, and the oldest
/// where there are more than `ends_kept_max`. Failures of the file system leave them there.
void forget_old_ends(const std::string& base);

}  // namespace batchcast::inline v0_1

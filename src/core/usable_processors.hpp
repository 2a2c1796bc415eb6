// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>

namespace batchcast::inline v0_1 {

/// Processors whose time this process may use, at least 1. They are those of its affinity, or fewer
/// where a control group limits it (cpu.max; in version 1 cpu.cfs_quota_us). Parts of a processor
/// count as one.
[[nodiscard]] unsigned usable_processors();

/// What the control groups alone permit; the largest number where they say nothing. `root` stands
/// before /proc and /sys.
[[nodiscard]] unsigned cgroup_processors(const std::string& root = "");

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace batchcast::inline v0_1 {

/// Host memory that this process could still take; the largest number where nothing limits it.
struct MemoryLeft {
  std::uint64_t machine_bytes = std::numeric_limits<std::uint64_t>::max();  ///< MemAvailable
  /// What is left below the tightest limit of this process's cgroups.
  std::uint64_t cgroup_bytes = std::numeric_limits<std::uint64_t>::max();
  std::string cgroup_file;  ///< which has that limit

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return std::min(machine_bytes, cgroup_bytes);
  }
};

/// The kernel's present numbers; reads some files. `root` stands before /proc and /sys/fs/cgroup.
[[nodiscard]] MemoryLeft memory_left(const std::string& root = "");

}  // namespace batchcast::inline v0_1

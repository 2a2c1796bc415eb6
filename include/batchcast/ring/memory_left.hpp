// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace batchcast::inline v0_1 {

/// Host memory that this process could still take. A limit that there is not is the largest number.
struct MemoryLeft {
  std::uint64_t machine_bytes = std::numeric_limits<std::uint64_t>::max();  ///< MemAvailable
  /// Below the tightest limit of this process's cgroups.
  std::uint64_t cgroup_bytes = std::numeric_limits<std::uint64_t>::max();
  std::string cgroup_file;  ///< which has that limit

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return std::min(machine_bytes, cgroup_bytes);
  }
};

/// As the kernel says now; reads some files. `root` is where /proc and /sys/fs/cgroup are looked
/// for.
[[nodiscard]] MemoryLeft memory_left(const std::string& root = "");

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/memory_left.hpp>

#include <batchcast/core/cgroup.hpp>
#include <batchcast/core/inline.hpp>

#include <fstream>
#include <sstream>

namespace batchcast::inline v0_1 {
namespace detail::memory_left {

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

inline std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : unlimited;  // `max`, or no such file
}

inline std::uint64_t available_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> key >> kib && key == "MemAvailable:") return kib << 10;
  }
  return unlimited;
}

/// Cached files count as used, and make way: a dataset that was read once would fill any limit.
inline std::uint64_t reclaimable_bytes(const std::string& path, const std::string& prefix) {
  std::ifstream file(path);
  std::uint64_t total = 0;
  std::string key;
  std::uint64_t value = 0;
  while (file >> key >> value) {
    if (key == prefix + "inactive_file" || key == prefix + "active_file") total += value;
  }
  return total;
}

struct CgroupFiles {
  std::string limit;
  std::string used;
  std::string stat_prefix;
};

inline void look_at(const std::string& at, const CgroupFiles& files, MemoryLeft& left_over) {
  const std::uint64_t limit = number_in(at + files.limit);
  const std::uint64_t used = number_in(at + files.used);
  if (limit == unlimited || used == unlimited) return;
  const std::uint64_t cached =
      std::min(reclaimable_bytes(at + "/memory.stat", files.stat_prefix), used);
  const std::uint64_t taken = used - cached;
  const std::uint64_t left = limit > taken ? limit - taken : 0;
  if (left >= left_over.cgroup_bytes) return;
  left_over.cgroup_bytes = left;
  left_over.cgroup_file = at + files.limit;
}

}  // namespace detail::memory_left

/// The tightest limit on the way from this process's cgroup up to the root, of version 2 or 1.
BATCHCAST_INLINE MemoryLeft memory_left(const std::string& root) {
  namespace files = detail::memory_left;
  const files::CgroupFiles version_2{"/memory.max", "/memory.current", ""};
  const files::CgroupFiles version_1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_"};
  MemoryLeft left;
  left.machine_bytes = files::available_bytes(root);
  for (const CgroupDirectory& directory : cgroup_directories("memory", root)) {
    files::look_at(directory.path, directory.version_2 ? version_2 : version_1, left);
  }
  return left;
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>

#include "core/cgroup.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : unlimited;  // `max`, or no such file
}

std::uint64_t available_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> key >> kib && key == "MemAvailable:") return kib << 10;
  }
  return unlimited;
}

struct Headroom {
  std::uint64_t bytes = unlimited;
  std::string where;
};

/// Cached files count as used, and make way: a dataset that was read once would fill any limit.
std::uint64_t reclaimable_bytes(const std::string& path, const std::string& prefix) {
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

void look_at(const std::string& at, const CgroupFiles& files, Headroom& headroom) {
  const std::uint64_t limit = number_in(at + files.limit);
  const std::uint64_t used = number_in(at + files.used);
  if (limit == unlimited || used == unlimited) return;
  const std::uint64_t cached =
      std::min(reclaimable_bytes(at + "/memory.stat", files.stat_prefix), used);
  const std::uint64_t taken = used - cached;
  const std::uint64_t left = limit > taken ? limit - taken : 0;
  if (left < headroom.bytes) headroom = {left, at + files.limit};
}

/// The tightest limit on the way from this process's cgroup up to the root, of version 2 or 1.
Headroom cgroup_headroom(const std::string& root) {
  const CgroupFiles version_2{"/memory.max", "/memory.current", ""};
  const CgroupFiles version_1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_"};
  Headroom headroom;
  for (const CgroupDirectory& directory : cgroup_directories("memory", root)) {
    look_at(directory.path, directory.version_2 ? version_2 : version_1, headroom);
  }
  return headroom;
}

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void check_memory_exists(std::uint64_t bytes, const std::string& root) {
  const std::uint64_t available = available_bytes(root);
  if (bytes > available) {
    throw OutOfMemory("batchcast: the ring takes " + in_mib(bytes) + ", and the machine has " +
                      in_mib(available) + " left (MemAvailable). Give the stream less (--memory).");
  }
  const Headroom headroom = cgroup_headroom(root);
  if (bytes > headroom.bytes) {
    throw OutOfMemory("batchcast: the ring takes " + in_mib(bytes) +
                      ", and this container or job has " + in_mib(headroom.bytes) +
                      " left of its limit (" + headroom.where +
                      "). Give the stream less (--memory), or the container more.");
  }
}

void raise_open_files_limit(std::uint64_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = std::min<rlim_t>(count, hard);
  if (hard < count || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    throw SystemError("batchcast: so many consumers take " + std::to_string(count) +
                          " open files, and the limit is " + std::to_string(hard) +
                          ". Run `ulimit -Hn " + std::to_string(count) +
                          "` as root before, or allow fewer (--max-consumers)",
                      EMFILE);
  }
}

}  // namespace batchcast::inline v0_1

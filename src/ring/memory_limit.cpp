// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>

namespace batchcast {
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

void look_at(const std::string& limit_path, const std::string& used_path, Headroom& headroom) {
  const std::uint64_t limit = number_in(limit_path);
  const std::uint64_t used = number_in(used_path);
  if (limit == unlimited || used == unlimited) return;
  const std::uint64_t left = limit > used ? limit - used : 0;
  if (left < headroom.bytes) headroom = {left, limit_path};
}

/// The tightest limit on the way from this process's cgroup up to the root, of version 2 or 1.
Headroom cgroup_headroom(const std::string& root) {
  Headroom headroom;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version_2 = controllers == ",,";
    if (!version_2 && controllers.find(",memory,") == std::string::npos) continue;
    const std::string mount = root + (version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    std::string group = line.substr(second + 1);
    for (;;) {
      const std::string at = mount + (group == "/" ? "" : group);
      look_at(at + (version_2 ? "/memory.max" : "/memory.limit_in_bytes"),
              at + (version_2 ? "/memory.current" : "/memory.usage_in_bytes"), headroom);
      const auto slash = group.rfind('/');
      if (group.empty() || group == "/" || slash == std::string::npos) break;
      group.erase(slash);
    }
  }
  return headroom;
}

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void check_memory_exists(std::uint64_t bytes, const std::string& root) {
  const std::uint64_t available = available_bytes(root);
  if (bytes > available) {
    throw OutOfMemory("batchcast: the ring takes " + in_mib(bytes) + ", and the machine has " +
                      in_mib(available) +
                      " left (MemAvailable). Give the stream less (--memory).");
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

}  // namespace batchcast

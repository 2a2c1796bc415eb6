// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/memory_left.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace batchcast::inline v0_1 {
namespace {

std::string in_mib(std::uint64_t bytes) { return text("{} MiB", bytes >> 20); }

}  // namespace

void check_memory_exists(std::uint64_t bytes, const std::string& root) {
  const MemoryLeft left = memory_left(root);
  if (bytes > left.machine_bytes) {
    throw OutOfMemory(
        text("batchcast: the ring takes {}, and the machine has {} left (MemAvailable). Give the "
             "stream less (--memory).",
             in_mib(bytes), in_mib(left.machine_bytes)));
  }
  if (bytes > left.cgroup_bytes) {
    throw OutOfMemory(
        text("batchcast: the ring takes {}, and this container or job has {} left of its limit "
             "({}). Give the stream less (--memory), or the container more.",
             in_mib(bytes), in_mib(left.cgroup_bytes), left.cgroup_file));
  }
}

void raise_open_files_limit(std::uint64_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = std::min<rlim_t>(count, hard);
  if (hard < count || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    throw SystemError(
        text("batchcast: that many consumers take {} open files, and the limit is {}. "
             "Run `ulimit -Hn {}` as root before, or allow fewer (--max-consumers)",
             count, hard, count),
        EMFILE);
  }
}

}  // namespace batchcast::inline v0_1

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

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void check_memory_exists(std::uint64_t bytes, const std::string& root) {
  const MemoryLeft left = memory_left(root);
  if (bytes > left.machine_bytes) {
    throw OutOfMemory("batchcast: the ring takes " + in_mib(bytes) + ", and the machine has " +
                      in_mib(left.machine_bytes) +
                      " left (MemAvailable). Give the stream less (--memory).");
  }
  if (bytes > left.cgroup_bytes) {
    throw OutOfMemory("batchcast: the ring takes " + in_mib(bytes) +
                      ", and this container or job has " + in_mib(left.cgroup_bytes) +
                      " left of its limit (" + left.cgroup_file +
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

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/usable_processors.hpp"

#include <batchcast/core/cgroup.hpp>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>

namespace batchcast::inline v0_1 {
namespace {

constexpr unsigned unlimited = std::numeric_limits<unsigned>::max();

unsigned processors_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return unlimited;
  const double processors = std::ceil(quota / period);
  return processors < static_cast<double>(unlimited) ? static_cast<unsigned>(processors)
                                                     : unlimited;
}

unsigned limit_in(const CgroupDirectory& directory) {
  double quota = 0;
  double period = 0;
  if (directory.version_2) {
    std::ifstream file(directory.path + "/cpu.max");  // "max 100000" or "150000 100000"
    return file >> quota >> period ? processors_of(quota, period) : unlimited;
  }
  std::ifstream quota_file(directory.path + "/cpu.cfs_quota_us");  // -1: none
  std::ifstream period_file(directory.path + "/cpu.cfs_period_us");
  return quota_file >> quota && period_file >> period ? processors_of(quota, period) : unlimited;
}

unsigned processors_of_affinity() {
  // The kernel refuses a set smaller than its own, and does not say how large that is.
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(processors), [](cpu_set_t* allocated) { CPU_FREE(allocated); });
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    if (::sched_getaffinity(0, bytes, set.get()) == 0) {
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(bytes, set.get())));
    }
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

unsigned cgroup_processors(const std::string& root) {
  unsigned least = unlimited;
  for (const CgroupDirectory& directory : cgroup_directories("cpu", root)) {
    least = std::min(least, limit_in(directory));
  }
  return least;
}

unsigned usable_processors() { return std::min(processors_of_affinity(), cgroup_processors()); }

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/usable_processors.hpp"

#include "fake_root.hpp"

#include <sched.h>

#include <limits>
#include <string>
#include <thread>

#include "catch.hpp"

using namespace batchcast;

namespace {

constexpr unsigned unlimited = std::numeric_limits<unsigned>::max();

struct Machine : testing::FakeRoot<Machine> {
  [[nodiscard]] unsigned processors() const { return cgroup_processors(path()); }
};

}  // namespace

TEST_CASE("the smallest cpu.max on the way up counts, and parts of a processor as one") {
  Machine root;
  root.file("/proc/self/cgroup", "0::/user.slice/job/step");
  CHECK(root.processors() == unlimited);
  root.file("/sys/fs/cgroup/user.slice/job/step/cpu.max", "max 100000");
  CHECK(root.processors() == unlimited);
  root.file("/sys/fs/cgroup/user.slice/cpu.max", "1600000 100000");
  CHECK(root.processors() == 16);
  root.file("/sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000");
  CHECK(root.processors() == 3);
  root.file("/sys/fs/cgroup/user.slice/job/step/cpu.max", "20000 100000");
  CHECK(root.processors() == 1);
}

TEST_CASE("a container sees its own group as the root") {
  Machine root;
  root.file("/proc/self/cgroup", "0::/").file("/sys/fs/cgroup/cpu.max", "400000 100000");
  CHECK(root.processors() == 4);
}

TEST_CASE("version 1 of cgroups limits by quota and period") {
  Machine root;
  root.file("/proc/self/cgroup",
            "4:memory:/elsewhere\n3:cpu,cpuacct:/docker/c0ffee\n2:cpuset:/\n1:name=systemd:/");
  root.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  root.file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  CHECK(root.processors() == unlimited);
  root.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "700000");
  CHECK(root.processors() == 7);
  root.file("/sys/fs/cgroup/cpu/docker/c0ffee/cpu.cfs_quota_us", "150000");
  root.file("/sys/fs/cgroup/cpu/docker/c0ffee/cpu.cfs_period_us", "50000");
  CHECK(root.processors() == 3);
  // Of another controller: no limit of processors.
  root.file("/sys/fs/cgroup/memory/elsewhere/cpu.cfs_quota_us", "1000");
  root.file("/sys/fs/cgroup/memory/elsewhere/cpu.cfs_period_us", "100000");
  CHECK(root.processors() == 3);
}

TEST_CASE("nonsense in the files limits nothing") {
  Machine root;
  CHECK(root.processors() == unlimited);
  root.file("/proc/self/cgroup", "no colons\n\n0::/a").file("/sys/fs/cgroup/a/cpu.max", "");
  CHECK(root.processors() == unlimited);
  for (const char* text : {"0 100000", "100000 0", "-5 100000", "abc", "100000", "1e30 1"}) {
    INFO(text);
    CHECK(root.file("/sys/fs/cgroup/a/cpu.max", text).processors() == unlimited);
  }
}

TEST_CASE("the affinity of a thread bounds what it may use") {
  CHECK(usable_processors() >= 1);
  unsigned pinned = 0;
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &set);
    if (::sched_setaffinity(0, sizeof set, &set) == 0) pinned = usable_processors();
  }).join();
  CHECK(pinned == 1);
}

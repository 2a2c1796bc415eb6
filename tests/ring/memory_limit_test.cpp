// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"
#include "core/fake_root.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>

#include <sys/resource.h>

#include <string>

using namespace batchcast;
using batchcast::testing::in_child;

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;

struct Machine : testing::FakeRoot<Machine> {
  Machine& available(std::uint64_t bytes) {
    return file("/proc/meminfo",
                "MemTotal:       98765432 kB\nMemFree:           12 kB\n"
                "MemAvailable:   " +
                    std::to_string(bytes >> 10) + " kB\nBuffers:      5 kB");
  }

  /// Empty where that much memory exists, else what the refusal says.
  [[nodiscard]] std::string refusal(std::uint64_t bytes) const {
    try {
      check_memory_exists(bytes, path());
    } catch (const OutOfMemory& error) {
      return error.what();
    }
    return "";
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a ring larger than the machine's free memory is refused with both numbers") {
  Machine root;
  root.available(1000 * MiB);
  CHECK(root.refusal(1000 * MiB).empty());
  const std::string text = root.refusal(1001 * MiB);
  CHECK(contains(text, "1001 MiB"));
  CHECK(contains(text, "1000 MiB"));
  CHECK(contains(text, "--memory"));
}

TEST_CASE(
    "a ring larger than what the cgroup has left is refused, wherever in the tree the limit is") {
  Machine root;
  root.available(100'000 * MiB).file("/proc/self/cgroup", "0::/user.slice/job/step");
  const auto group = [&](const std::string& path, const std::string& limit, std::uint64_t used) {
    root.file("/sys/fs/cgroup" + path + "/memory.max", limit);
    root.file("/sys/fs/cgroup" + path + "/memory.current", std::to_string(used));
  };
  group("/user.slice", "max", 5000 * MiB);
  group("/user.slice/job", std::to_string(900 * MiB), 400 * MiB);
  group("/user.slice/job/step", "max", 300 * MiB);
  CHECK(root.refusal(500 * MiB).empty());
  const std::string text = root.refusal(501 * MiB);
  CHECK(contains(text, "501 MiB"));
  CHECK(contains(text, "500 MiB"));
  CHECK(contains(text, "/user.slice/job/memory.max"));

  // The tightest one counts.
  group("/user.slice/job/step", std::to_string(400 * MiB), 300 * MiB);
  CHECK(contains(root.refusal(101 * MiB), "100 MiB"));
  group("/user.slice/job/step", std::to_string(400 * MiB), 600 * MiB);
  CHECK(contains(root.refusal(1 * MiB), "0 MiB"));
}

TEST_CASE("cached files are no lost memory, but a ring's own pages are") {
  Machine root;
  root.available(100'000 * MiB).file("/proc/self/cgroup", "0::/");
  root.file("/sys/fs/cgroup/memory.max", std::to_string(1000 * MiB));
  root.file("/sys/fs/cgroup/memory.current", std::to_string(990 * MiB));
  CHECK(contains(root.refusal(11 * MiB), "10 MiB"));
  root.file("/sys/fs/cgroup/memory.stat", "anon 1000\nfile " + std::to_string(900 * MiB) +
                                              "\nshmem " + std::to_string(200 * MiB) +
                                              "\ninactive_file " + std::to_string(600 * MiB) +
                                              "\nactive_file " + std::to_string(100 * MiB));
  CHECK(root.refusal(710 * MiB).empty());
  CHECK(contains(root.refusal(711 * MiB), "710 MiB"));
}

TEST_CASE("version 1 of cgroups, seen from inside a container") {
  Machine root;
  root.available(100'000 * MiB);
  // The path is the host's; in the container, its own group is mounted as the root.
  root.file(
      "/proc/self/cgroup",
      "12:cpu,cpuacct:/docker/c0ffee\n5:hugetlb,memory:/docker/c0ffee\n1:name=systemd:/\n0::/");
  CHECK(root.refusal(90'000 * MiB).empty());
  root.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2000 * MiB));
  root.file("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(1500 * MiB));
  CHECK(contains(root.refusal(501 * MiB), "500 MiB"));
  root.file("/sys/fs/cgroup/memory/memory.stat", "inactive_file 0\ntotal_inactive_file " +
                                                     std::to_string(100 * MiB) +
                                                     "\ntotal_active_file 0");
  CHECK(root.refusal(600 * MiB).empty());
  root.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  CHECK(root.refusal(90'000 * MiB).empty());
}

TEST_CASE("a system that says nothing about its memory is taken at its word") {
  const Machine root;
  CHECK(root.refusal(std::uint64_t{1} << 50).empty());
}

TEST_CASE("on this machine one page exists, and an exabyte does not") {
  check_memory_exists(page_bytes());
  CHECK_THROWS_AS(check_memory_exists(std::uint64_t{1} << 60), OutOfMemory);
}

TEST_CASE("the limit of open files is raised as far as it goes, and no further without a word") {
  const auto end = in_child([] {
    rlimit limit{64, 128};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    raise_open_files_limit(60);
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != 64) return 2;
    raise_open_files_limit(100);
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != 100) return 3;
    raise_open_files_limit(200);
    return 4;
  });
  CHECK(end.exited_with(99));
  CHECK(contains(end.output, "200"));
  CHECK(contains(end.output, "128"));
  CHECK(contains(end.output, "ulimit -Hn 200"));
}

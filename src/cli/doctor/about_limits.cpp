// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/doctor/doctor.hpp"
#include "cli/output.hpp"

#include <batchcast/core/cgroup.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/ring/memory.hpp>

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>

// Memory and open files: what a ring can be made of, and for how many.
namespace batchcast::cli {
namespace {

constexpr std::uint64_t little_memory = std::uint64_t{1} << 30;
constexpr std::uint64_t descriptors_each = 3;       // of a producer, for each consumer
constexpr std::uint64_t descriptors_besides = 128;  // about

std::map<std::string, std::uint64_t> memory_figures() {
  std::map<std::string, std::uint64_t> figures;
  std::ifstream file("/proc/meminfo");
  std::string key, rest;
  std::uint64_t value = 0;
  while (file >> key >> value && std::getline(file, rest)) {
    const bool in_kib = rest.find("kB") != std::string::npos;
    figures[key.substr(0, key.size() - 1)] = in_kib ? value << 10 : value;
  }
  return figures;
}

void examine_memory(Findings& findings, std::map<std::string, std::uint64_t>& figures) {
  const std::uint64_t available = figures["MemAvailable"];
  findings.add(
      {available < little_memory ? Mark::note : Mark::ok, "memory",
       fmt::format("{} of {} available", bytes_text(available), bytes_text(figures["MemTotal"])),
       "A host ring takes its --memory out of this when the stream begins, once for all "
       "trainers; a container's --shm-size does not matter."});
}

struct Limit {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  std::string where;
};

Limit cgroup_limit() {
  // Version 1 writes a number near 2^63 where there is none.
  constexpr std::uint64_t no_limit = std::uint64_t{1} << 60;
  Limit tightest;
  for (const CgroupDirectory& directory : cgroup_directories("memory")) {
    const std::string path =
        directory.path + (directory.version_2 ? "/memory.max" : "/memory.limit_in_bytes");
    std::ifstream file(path);
    std::uint64_t bytes = 0;
    if (file >> bytes && bytes < no_limit && bytes < tightest.bytes) tightest = {bytes, path};
  }
  return tightest;
}

void examine_cgroup(Findings& findings) {
  const Limit limit = cgroup_limit();
  if (limit.where.empty()) {
    findings.add(
        {Mark::ok, "memory limit", "none", "No container or job limits what a ring may take."});
    return;
  }
  findings.add({limit.bytes < little_memory ? Mark::note : Mark::ok, "memory limit",
                fmt::format("{} ({})", bytes_text(limit.bytes), limit.where),
                "A ring counts against the container or job whose process made it: --memory must "
                "leave the rest of it enough."});
}

void examine_huge_pages(Findings& findings, std::map<std::string, std::uint64_t>& figures) {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string modes;
  std::getline(file, modes);
  const auto begin = modes.find('[');
  const auto end = modes.find(']');
  const std::string mode = begin == std::string::npos || end == std::string::npos
                               ? "unknown"
                               : modes.substr(begin + 1, end - begin - 1);
  const std::uint64_t free = figures["HugePages_Free"];
  const bool transparent = mode != "never" && mode != "deny" && mode != "unknown";
  const std::string meaning =
      free != 0 || transparent
          ? "Large rings take huge pages where --huge-pages lets them, which makes first touches "
            "and copies cheaper."
          : "Rings take ordinary pages: large ones are a little slower; `sysctl "
            "vm.nr_hugepages=N` or `advise` in shmem_enabled would change that.";
  findings.add({free != 0 || transparent ? Mark::ok : Mark::note, "huge pages",
                fmt::format("{} of {} free, {} each; transparent for shared memory: {}", free,
                            figures["HugePages_Total"], bytes_text(huge_page_bytes()), mode),
                meaning});
}

void examine_open_files(Findings& findings) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t hard = limit.rlim_max;
  const std::uint64_t left = hard > descriptors_besides ? hard - descriptors_besides : 0;
  const std::uint64_t consumers =
      std::min<std::uint64_t>(left / descriptors_each, limits::consumers_max);
  Finding finding;
  finding.subject = "open files";
  finding.value = fmt::format("{} (hard limit {})", limit.rlim_cur, hard);
  finding.meaning = fmt::format(
      "A producer raises its own limit as far as it may: enough for {} consumers of one stream.",
      count_text(consumers));
  if (consumers < limits::consumers_default) {
    finding.mark = Mark::note;
    finding.meaning += fmt::format(
        " For the usual {}, raise it (`ulimit -Hn 4096`), or serve with fewer "
        "(--max-consumers).",
        limits::consumers_default);
  }
  findings.add(finding);
}

}  // namespace

void examine_limits(Findings& findings) {
  auto figures = memory_figures();
  examine_memory(findings, figures);
  examine_cgroup(findings);
  examine_huge_pages(findings, figures);
  examine_open_files(findings);
}

}  // namespace batchcast::cli

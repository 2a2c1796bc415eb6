// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/ring/memory.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

// The producer makes segments; every trainer adopts them (memory.ipp).
namespace batchcast::inline v0_1 {
namespace {

constexpr std::uint64_t huge_from_bytes = std::uint64_t{4} << 30;

/// Free bytes in huge pages, without those that other processes have reserved and not touched yet.
std::uint64_t free_huge_bytes() {
  const std::uint64_t free = detail::meminfo_number("HugePages_Free:");
  const std::uint64_t promised = detail::meminfo_number("HugePages_Rsvd:");
  return (free > promised ? free - promised : 0) * huge_page_bytes();
}

bool transparent_can_be() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string modes;
  std::getline(file, modes);
  return modes.find("[never]") == std::string::npos && modes.find("[deny]") == std::string::npos &&
         !modes.empty();
}

}  // namespace

MemoryChoice choose_pages(HugePages wanted, std::uint64_t memory_bytes, const LogCallback& report) {
  const MemoryChoice ordinary{page_bytes(), false, false};
  if (wanted == HugePages::off) return ordinary;
  if (wanted == HugePages::automatic && memory_bytes < huge_from_bytes) return ordinary;
  const std::uint64_t huge = huge_page_bytes();
  std::string lacks;
  if (wanted != HugePages::transparent) {
    const std::uint64_t free_bytes = free_huge_bytes();
    if (free_bytes >= memory_bytes) return {huge, true, false};
    lacks = text("{} MiB of huge pages are free (`sysctl vm.nr_hugepages={}` reserves enough)",
                 free_bytes >> 20, memory_bytes / huge + 1);
  }
  if (wanted != HugePages::explicit_pages) {
    if (transparent_can_be()) return {page_bytes(), false, true};
    lacks += (lacks.empty() ? "" : "; ");
    lacks +=
        "transparent huge pages are off for shared memory "
        "(/sys/kernel/mm/transparent_hugepage/shmem_enabled: `advise` would do)";
  }
  if (report) report(LogLevel::info, text("the ring takes ordinary pages: {}", lacks));
  return ordinary;
}

namespace {

/// The kernel counts shared memory as a file, and would end the process with SIGXFSZ.
void check_file_size_limit(const std::string& name, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (bytes <= limit.rlim_cur) return;
  throw OutOfMemory(
      text("batchcast: segment `{}` takes {}, and this process may make files of at most {}, as "
           "which shared memory counts. Raise the limit (`ulimit -f unlimited`), or give the "
           "stream less (--memory).",
           name, bytes_text(bytes), bytes_text(limit.rlim_cur)));
}

}  // namespace

std::optional<Segment> Segment::create(const std::string& name, std::uint64_t bytes,
                                       const MemoryChoice& choice) {
  // The kernel would not refuse: it would kill other processes for the missing memory.
  if (!choice.huge) check_memory_exists(bytes);
  check_file_size_limit(name, bytes);
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  if (choice.huge) flags |= MFD_HUGETLB;
  FileDescriptor fd(::memfd_create(("batchcast-" + name).c_str(), flags));
  if (!fd) {
    if (choice.huge) return std::nullopt;
    throw SystemError(text("batchcast: memfd_create for `{}`", name), errno);
  }
  // All pages are taken now: one that the kernel cannot give later would be a SIGBUS in training.
  int failed = 0;
  do {
    failed = ::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed != 0) {
    if (choice.huge) return std::nullopt;
    if (failed == ENOSPC || failed == ENOMEM) {
      throw OutOfMemory(
          text("batchcast: the machine has no {} of memory left for segment `{}`. Give the stream "
               "less (--memory), or end what else takes it.",
               bytes_text(bytes), name));
    }
    throw SystemError(text("batchcast: allocating {} for `{}`", bytes_text(bytes), name), failed);
  }
  Segment segment(std::move(fd), bytes);
  segment.granularity_ = choice.granularity;
  segment.transparent_huge_ = choice.transparent;
  return segment;
}

Segment Segment::create_small(const std::string& name, std::uint64_t bytes) {
  return std::move(*create(name, bytes, {page_bytes(), false, false}));
}

bool writable_map_is_refused(const Segment& segment) {
  void* at =
      ::mmap(nullptr, segment.granularity(), PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd(), 0);
  if (at == MAP_FAILED) return true;
  ::munmap(at, segment.granularity());
  return false;
}

}  // namespace batchcast::inline v0_1

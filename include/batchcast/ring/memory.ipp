// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/memory.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace batchcast::inline v0_1 {
namespace detail::memory {

// F_SEAL_FUTURE_WRITE of Linux 5.1, which older headers lack.
inline constexpr int seal_future_write = 0x0010;

inline int kernel_seals(Seals seals) noexcept {
  int bits = 0;
  if (has(seals, Seals::shrink)) bits |= F_SEAL_SHRINK;
  if (has(seals, Seals::grow)) bits |= F_SEAL_GROW;
  if (has(seals, Seals::future_write)) bits |= seal_future_write;
  if (has(seals, Seals::seal)) bits |= F_SEAL_SEAL;
  return bits;
}

}  // namespace detail::memory

BATCHCAST_INLINE std::uint64_t page_bytes() noexcept {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

BATCHCAST_INLINE std::uint64_t detail::meminfo_number(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t value = 0;
    if (word == key && file >> value) return value;
  }
  return 0;
}

BATCHCAST_INLINE std::uint64_t huge_page_bytes() noexcept {
  const std::uint64_t kib = detail::meminfo_number("Hugepagesize:");
  return kib == 0 ? std::uint64_t{2} << 20 : kib << 10;
}

BATCHCAST_INLINE Segment::Segment(FileDescriptor fd, std::uint64_t bytes) noexcept
    : fd_(std::move(fd)), bytes_(bytes), granularity_(page_bytes()) {}

BATCHCAST_INLINE Segment Segment::adopt(const std::string& name, FileDescriptor fd,
                                        std::uint64_t bytes, Seals required) {
  const auto refuse = [&](const std::string& what) {
    throw Refused(
        text("batchcast: the producer's segment `{}` cannot be trusted: {}.", name, what));
  };
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) refuse("it is no open file");
  if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    refuse(text("it has {} bytes instead of {}", status.st_size, bytes));
  }
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  const int needed = detail::memory::kernel_seals(required);
  if (seals < 0 || (seals & needed) != needed) {
    refuse("it is not sealed against being changed");
  }
  Segment segment(std::move(fd), bytes);
  // For memfds of huge pages the block size is that of the pages.
  if (static_cast<std::uint64_t>(status.st_blksize) > segment.granularity_ &&
      bytes % static_cast<std::uint64_t>(status.st_blksize) == 0) {
    segment.granularity_ = static_cast<std::uint64_t>(status.st_blksize);
  }
  return segment;
}

BATCHCAST_INLINE void Segment::seal(Seals seals) {
  if (::fcntl(fd_.get(), F_ADD_SEALS, detail::memory::kernel_seals(seals)) != 0) {
    throw SystemError("batchcast: sealing shared memory (Linux 5.4 or later is needed)", errno);
  }
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/ring/fork_guard.hpp>

#include <batchcast/core/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace batchcast {

ForkGuard::ForkGuard() : page_(nullptr) {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw SystemError("batchcast: mapping one page", errno);
  if (::madvise(at, bytes, MADV_WIPEONFORK) != 0) {
    const int error = errno;
    ::munmap(at, bytes);
    throw SystemError("batchcast: MADV_WIPEONFORK (Linux 4.14 or later is needed)", error);
  }
  page_ = static_cast<volatile unsigned char*>(at);
  *page_ = 1;
}

ForkGuard::~ForkGuard() {
  ::munmap(const_cast<unsigned char*>(page_), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace batchcast

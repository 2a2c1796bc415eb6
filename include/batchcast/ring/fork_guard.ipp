// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/fork_guard.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace batchcast::inline v0_1 {
namespace detail::fork_guard {

inline std::size_t guard_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace detail::fork_guard

BATCHCAST_INLINE ForkGuard::ForkGuard() : pid_(::getpid()) {
  void* at = ::mmap(nullptr, detail::fork_guard::guard_bytes(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw SystemError("batchcast: mapping one page", errno);
  if (::madvise(at, detail::fork_guard::guard_bytes(), MADV_WIPEONFORK) != 0) {
    ::munmap(at, detail::fork_guard::guard_bytes());
    return;
  }
  page_ = static_cast<volatile unsigned char*>(at);
  *page_ = 1;
}

BATCHCAST_INLINE ForkGuard::~ForkGuard() {
  if (page_ != nullptr)
    ::munmap(const_cast<unsigned char*>(page_), detail::fork_guard::guard_bytes());
}

BATCHCAST_INLINE bool ForkGuard::has_another_pid() const noexcept { return ::getpid() != pid_; }

}  // namespace batchcast::inline v0_1

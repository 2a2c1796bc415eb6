// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// Becomes readable when woken. `wake` may be called from any thread, and never waits.
class WakeDescriptor {
 public:
  WakeDescriptor() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw SystemError("batchcast: cannot make an eventfd", errno);
  }
  [[nodiscard]] int get() const noexcept { return fd_.get(); }
  void wake() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  }
  void clear() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t bytes = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  FileDescriptor fd_;
};

}  // namespace batchcast::inline v0_1

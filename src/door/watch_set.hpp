// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>
#include <span>

namespace batchcast::inline v0_1 {

/// Descriptors that are watched for input and for their end (an epoll set).
class WatchSet {
 public:
  /// Throws SystemError.
  WatchSet() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) throw SystemError("batchcast: cannot watch the door", errno);
  }

  [[nodiscard]] int get() const noexcept { return epoll_.get(); }

  /// Its events carry `token`. Throws SystemError.
  void watch(int fd, std::uint64_t token) const {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = token;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      throw SystemError("batchcast: cannot watch a file descriptor", errno);
    }
  }
  /// Call it before closing: a forked child may hold a duplicate, which would keep the entry alive.
  void forget(int fd) const noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  /// How many events came; none after an error.
  [[nodiscard]] std::size_t wait(std::span<epoll_event> events, int timeout_ms) const noexcept {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  /// The program has closed the descriptor, as os.closerange of Python does: the set is gone.
  [[nodiscard]] bool is_lost() const noexcept {
    epoll_event ignored{};
    const bool failed = ::epoll_wait(epoll_.get(), &ignored, 1, 0) < 0;
    return failed && (errno == EBADF || errno == EINVAL);
  }

 private:
  FileDescriptor epoll_;
};

}  // namespace batchcast::inline v0_1

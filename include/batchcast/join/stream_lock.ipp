// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/stream_lock.hpp>

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/inline.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace batchcast::inline v0_1 {
namespace detail::stream_lock {

inline std::int32_t pid_in(int lock) noexcept {
  std::array<char, 16> text{};
  const ssize_t bytes = ::pread(lock, text.data(), text.size(), 0);
  std::int32_t pid = 0;
  if (bytes > 0) std::from_chars(text.data(), text.data() + bytes, pid);
  return pid > 0 ? pid : 0;
}

}  // namespace detail::stream_lock

BATCHCAST_INLINE LockState look_at_lock(const std::string& path) noexcept {
  const FileDescriptor lock(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock) return {.unreadable = errno == EACCES};
  const std::int32_t pid = detail::stream_lock::pid_in(lock.get());
  if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return {.dead_pid = pid};
  return {.held = errno == EWOULDBLOCK, .pid = pid};
}

}  // namespace batchcast::inline v0_1

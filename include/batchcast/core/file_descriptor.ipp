// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <batchcast/core/inline.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE int moved_above_standard_streams(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  // EINVAL: the limit on open files leaves none above.
  const int error = errno == EINVAL ? EMFILE : errno;
  ::close(fd);
  errno = error;
  return moved;
}

BATCHCAST_INLINE void FileDescriptor::reset() noexcept {
  if (fd_ < 0) return;
  const int error = errno;
  ::close(std::exchange(fd_, -1));
  errno = error;
}

}  // namespace batchcast::inline v0_1

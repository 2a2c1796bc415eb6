// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <batchcast/core/inline.hpp>

#include <unistd.h>

#include <cerrno>

namespace batchcast {

BATCHCAST_INLINE void FileDescriptor::reset() noexcept {
  if (fd_ < 0) return;
  const int error = errno;
  ::close(std::exchange(fd_, -1));
  errno = error;
}

}  // namespace batchcast

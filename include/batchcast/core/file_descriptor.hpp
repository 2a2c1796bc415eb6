// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <utility>

namespace batchcast {

/// Owns one file descriptor, closed when destroyed. Whoever opens one opens it CLOEXEC.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Gives up ownership.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes it now. Leaves errno as it was.
  void reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace batchcast

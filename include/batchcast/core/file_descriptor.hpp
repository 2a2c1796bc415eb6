// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <utility>

namespace batchcast::inline v0_1 {

/// Gives a descriptor that was just opened a number of 3 or more, and closes the one it had. What a
/// program with closed standard streams writes to them must not land in one of our files. -1, with
/// errno set, if no number is free.
[[nodiscard]] int moved_above_standard_streams(int fd) noexcept;

/// Owns one file descriptor and closes it when destroyed. Open descriptors with O_CLOEXEC.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  /// Takes over a descriptor that was just opened, or -1. Its number is 3 or more afterwards.
  explicit FileDescriptor(int fd) noexcept
      : fd_(fd < 0 || fd > 2 ? fd : moved_above_standard_streams(fd)) {}
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
  /// Closes the descriptor now. Leaves errno as it was.
  void reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace batchcast::inline v0_1

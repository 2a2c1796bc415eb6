// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

namespace batchcast::inline v0_1::detail {

/// A lock that says that a consumer still rides: the producer took it, and passed the only
/// descriptor of it on. It goes with this object, with the process, and in a forked child at once.
/// So a child that outlives a trainer does not keep the trainer's place. May be empty.
class MemberLock {
 public:
  explicit MemberLock(FileDescriptor lock = {});
  ~MemberLock();
  MemberLock(MemberLock&& other) noexcept : MemberLock() { take(other); }
  MemberLock& operator=(MemberLock&& other) noexcept { return take(other), *this; }
  MemberLock(const MemberLock&) = delete;
  MemberLock& operator=(const MemberLock&) = delete;

  /// Takes that lock, and releases the one that it held.
  void take(MemberLock& other) noexcept;
  void take(FileDescriptor lock) noexcept;
  void release() noexcept;

 private:
  static void close_all_in_child() noexcept;

  FileDescriptor lock_;
  MemberLock* next_ = nullptr;  ///< of all that this process has
};

}  // namespace batchcast::inline v0_1::detail

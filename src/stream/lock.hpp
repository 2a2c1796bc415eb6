// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <string>

// The producer's side of join/stream_lock.hpp. The lock is never unlocked explicitly: that would
// also unlock it for the parent of a forked child.
namespace batchcast::inline v0_1 {

/// The lock of one stream, held until it is destroyed or the process ends. A child that this
/// process forks closes its copy of the descriptor at once: otherwise a child that lives on would
/// keep the stream's name after the producer died. Of one thread.
class StreamLock {
 public:
  StreamLock();
  ~StreamLock();
  StreamLock(const StreamLock&) = delete;
  StreamLock& operator=(const StreamLock&) = delete;

  /// Opens or makes the file in the directory `directory` and locks it, in the place of what it
  /// held. False if another process holds the lock, or if the directory was removed meanwhile
  /// (`vanished`). Throws Error, SystemError.
  [[nodiscard]] bool take(int directory, const std::string& path, bool& vanished);
  /// The locked file; -1 if none is, and in a forked child.
  [[nodiscard]] int get() const noexcept { return file_.get(); }

 private:
  static void close_in_child() noexcept;

  FileDescriptor file_;
  StreamLock* next_ = nullptr;  ///< of all that this process has
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <cstdint>
#include <string>

// flock on <stream>/lock: the process that holds it serves the stream. The kernel releases it when
// the process ends. It is never unlocked explicitly: that would also unlock it for the parent of a
// forked child.
namespace batchcast::inline v0_1 {

struct LockState {
  bool held = false;
  std::int32_t pid = 0;     ///< what the file says; 0 if nothing
  bool unreadable = false;  ///< another user's: whether it is held cannot be seen
};

/// Opens or makes the file in the directory `directory` and locks it. Empty if another process
/// holds the lock, or if the directory was removed meanwhile (`vanished`). Throws Error,
/// SystemError.
[[nodiscard]] FileDescriptor try_stream_lock(int directory, const std::string& path,
                                             bool& vanished);

/// Looks without disturbing; a file that is missing, or `unreadable`, is not held.
[[nodiscard]] LockState look_at_lock(const std::string& path) noexcept;

}  // namespace batchcast::inline v0_1

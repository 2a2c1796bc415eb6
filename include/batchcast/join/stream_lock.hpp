// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

// flock on <stream>/lock: the producer that holds it serves the stream. The kernel releases it when
// that process ends.
namespace batchcast::inline v0_1 {

struct LockState {
  bool held = false;
  std::int32_t pid = 0;       ///< of the producer that holds it, as the file says; 0 if none
  std::int32_t dead_pid = 0;  ///< where it is not held: of the producer that held it last
  bool unreadable = false;    ///< another user's: whether it is held cannot be seen
};

/// Looks without disturbing. A file that is missing or `unreadable` counts as not held.
[[nodiscard]] LockState look_at_lock(const std::string& path) noexcept;

}  // namespace batchcast::inline v0_1

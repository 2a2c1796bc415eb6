// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1::detail::cuda {

/// The result of using a GPU as a stream would, on a small scale.
struct Trial {
  std::uint64_t free_bytes = 0;
  // Why it failed, as a sentence; empty where it worked. A step that the device cannot do is not
  // tried, and counts as failed.
  std::string open;      ///< taking the device into use; without it nothing else is tried
  std::string share;     ///< a device ring's memory, and what trainers in other processes take
  std::string pin;       ///< page-locking a producer's ring
  std::string pin_read;  ///< page-locking a trainer's mapping of one, which is read-only
  bool as_descriptor = false;  ///< it was shared as a file descriptor, not by legacy IPC
  bool read_only = false;      ///< trainers can map it read-only
};

/// Uses the device's context, and a few megabytes of its memory, during the call.
[[nodiscard]] Trial try_device(unsigned number);

}  // namespace batchcast::inline v0_1::detail::cuda

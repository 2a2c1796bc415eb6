// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batchcast::inline v0_1 {

class PrivateChunks;

/// While it lives, a write into [begin, begin + bytes) makes the chunk that it hits private, and
/// the program continues. That needs `chunks`, which must outlive this. Without them, or where the
/// kernel refuses, the process dies as it would have. Before that, a message says whose memory it
/// is, and what to do.
///
/// It installs one SIGSEGV handler in the process, at the first use, and keeps the library that has
/// it loaded. It passes other faults on to the handler that was there. A handler that is installed
/// later is expected to do the same. Beyond limits::fault_ranges_max at a time further ranges have
/// no effect. Move-only.
class FaultRange {
 public:
  FaultRange(const std::byte* begin, std::uint64_t bytes, std::string_view stream,
             PrivateChunks* chunks = nullptr);
  ~FaultRange();
  FaultRange(FaultRange&& other) noexcept;
  FaultRange& operator=(FaultRange&&) = delete;

  /// False for a range that found no place, or no handler.
  [[nodiscard]] bool in_effect() const noexcept { return slot_ >= 0; }

  /// Puts our handler before one that was installed since and takes every fault for a crash, as
  /// Python's faulthandler does. At the first fault that is not ours, that handler gets its place
  /// back, and its turn. A handler of another copy of this library stays where it is (decision 18
  /// says what that costs). Costs a system call. From any thread.
  static void come_first() noexcept;

 private:
  int slot_;
};

}  // namespace batchcast::inline v0_1

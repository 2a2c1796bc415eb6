// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batchcast::inline v0_1 {

class PrivateChunks;

/// While it lives, a write into [begin, begin + bytes) makes the chunk that it hits private and
/// goes on, where there are `chunks`, which must outlive this. Where there are none, or the kernel
/// refuses, it says whose memory that is, and what to do, before the process dies of it as it would
/// have.
///
/// Installs one SIGSEGV handler in the process, at the first use, and keeps the library that has it
/// loaded. It hands on what is not its own to the handler that was there; one that is installed
/// later is expected to do likewise. Of more than limits::fault_ranges_max at a time the further
/// ones have no effect. Move-only.
class FaultRange {
 public:
  FaultRange(const std::byte* begin, std::uint64_t bytes, std::string_view stream,
             PrivateChunks* chunks = nullptr);
  ~FaultRange();
  FaultRange(FaultRange&& other) noexcept;
  FaultRange& operator=(FaultRange&&) = delete;

  /// False for one that found no place, or no handler.
  [[nodiscard]] bool in_effect() const noexcept { return slot_ >= 0; }

  /// Puts our handler before one that was installed since and takes every fault for a crash (as
  /// Python's faulthandler does). That one gets its place back, and its turn, at the first fault
  /// that is not ours. Another copy of this library is left where it is (decision 18 has what that
  /// costs). Costs a system call. From any thread.
  static void come_first() noexcept;

 private:
  int slot_;
};

}  // namespace batchcast::inline v0_1

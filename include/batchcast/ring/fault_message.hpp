// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batchcast {

/// While it lives, a write into [begin, begin + bytes) says whose memory that is, and what to do,
/// before the process dies of it as it would have. Installs one SIGSEGV handler in the process, at
/// the first use; it hands on to the one that was there. Of more than limits::fault_ranges_max at a
/// time the further ones get no message. Move-only.
class FaultRange {
 public:
  FaultRange(const std::byte* begin, std::uint64_t bytes, std::string_view stream);
  ~FaultRange();
  FaultRange(FaultRange&& other) noexcept;
  FaultRange& operator=(FaultRange&&) = delete;

 private:
  int slot_;
};

}  // namespace batchcast

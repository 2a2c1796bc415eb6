// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <chrono>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// Monotonic nanoseconds; the same clock in every process of the machine.
[[nodiscard]] inline std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

[[nodiscard]] constexpr double seconds_from_ns(std::uint64_t ns) noexcept {
  return static_cast<double>(ns) * 1e-9;
}

}  // namespace batchcast::inline v0_1

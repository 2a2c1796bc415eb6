// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace batchcast::inline v0_1::detail {

/// A time-out that is longer by `more_ms`, as far as an int goes; -1 if it never ends.
[[nodiscard]] inline int longer_timeout(int timeout_ms, int more_ms) noexcept {
  if (timeout_ms < 0) return -1;
  return std::min(timeout_ms, std::numeric_limits<int>::max() - more_ms) + more_ms;
}

/// A time-out that several waits share; a negative one never ends.
class Deadline {
 public:
  explicit Deadline(int timeout_ms) noexcept : Deadline(timeout_ms, now_ns()) {}
  Deadline(int timeout_ms, std::uint64_t started_ns) noexcept
      : started_ns_(started_ns), timeout_ms_(timeout_ms) {}

  [[nodiscard]] std::int64_t waited_ms() const noexcept {
    return static_cast<std::int64_t>((now_ns() - started_ns_) / 1'000'000);
  }
  /// The time waited so far: `0.5 s`; from ten seconds on in whole seconds.
  [[nodiscard]] std::string waited_text() const {
    constexpr std::int64_t in_tenths_below_ms = 10'000;
    const std::int64_t ms = waited_ms();
    std::string seconds = text("{}", ms / 1'000);
    if (ms < in_tenths_below_ms) seconds += text(".{}", ms % 1'000 / 100);
    return text("{} s", seconds);
  }
  /// The time left; negative if it never ends.
  [[nodiscard]] int left_ms() const noexcept {
    if (timeout_ms_ < 0) return -1;
    return static_cast<int>(std::max<std::int64_t>(0, timeout_ms_ - waited_ms()));
  }
  [[nodiscard]] bool over() const noexcept { return left_ms() == 0; }

 private:
  std::uint64_t started_ns_;
  int timeout_ms_;
};

}  // namespace batchcast::inline v0_1::detail

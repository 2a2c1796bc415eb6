// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace batchcast::inline v0_1::detail {

/// Calls a caller's `while_waiting` often enough while its call waits, and passes on what it
/// throws. One thread at a time uses it. The callback must outlive it, and may be empty.
class WaitWatch {
 public:
  explicit WaitWatch(const std::function<void()>& callback) noexcept : callback_(callback) {}

  /// How long to sleep before the next `look`, given the time that is left.
  [[nodiscard]] int slice_ms(int timeout_ms) const noexcept {
    if (!callback_) return timeout_ms;
    return timeout_ms < 0 ? slice_max_ms : std::min(timeout_ms, slice_max_ms);
  }

  /// Call it after each sleep. Calls back unless it did so a moment ago.
  void look() {
    if (!callback_) return;
    const std::uint64_t now = now_ns();
    if (now - looked_ns_ < slice_max_ms * std::uint64_t{1'000'000} / 2) return;
    looked_ns_ = now;
    callback_();
  }

  /// Calls `wait(slice_ms)` until it returns true, for it need not wait any more. That is at least
  /// twice a second, so that it can say what it waits for. False at the time-out; `timeout_ms`
  /// becomes the time that is left.
  template <class Wait>
  [[nodiscard]] bool in_slices(int& timeout_ms, Wait&& wait) {
    const Deadline deadline(timeout_ms);
    for (;;) {
      const int slice = slice_ms(timeout_ms);
      const bool through = wait(slice < 0 ? in_slices_max_ms : std::min(slice, in_slices_max_ms));
      timeout_ms = deadline.left_ms();
      if (through) return true;
      if (timeout_ms == 0) return false;
      look();
    }
  }

 private:
  static constexpr int slice_max_ms = 50;  // so that each 100 ms has a call on a busy machine too
  static constexpr int in_slices_max_ms = 500;

  const std::function<void()>& callback_;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

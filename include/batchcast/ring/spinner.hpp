// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>

#include <algorithm>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// An option's microseconds of looking, in nanoseconds. A look takes no longer than a sleep, since
/// deaths are noticed between looks.
[[nodiscard]] constexpr std::uint64_t spin_ns_of(std::uint64_t us) noexcept {
  return std::min(us, std::uint64_t{limits::sleep_ms_max} * 1'000) * 1'000;
}

/// Looks for a while before sleeping. A wake-up costs both sides more than the look, if what is
/// awaited is about to come. How long is learnt. A look that found nothing halves the next one, one
/// that did doubles it, so that a slow stream costs next to nothing. Belongs to one thread.
class Spinner {
 public:
  explicit Spinner(std::uint64_t longest_ns) noexcept
      : longest_ns_(longest_ns), budget_ns_(std::min(longest_ns, first_ns)) {}

  /// True as soon as `found()` is; false when the time is up.
  template <class Found>
  [[nodiscard]] bool look(Found&& found) {
    if (budget_ns_ == 0) return false;
    const std::uint64_t started_ns = now_ns();
    do {
      for (int i = 0; i < looks_between_yields; ++i) {
        if (found()) {
          budget_ns_ = std::min(longest_ns_, budget_ns_ * 2);
          return true;
        }
        relax();
      }
      // The process that is waited for may be waiting for this core.
      yield();
    } while (now_ns() - started_ns < budget_ns_);
    budget_ns_ = std::min(longest_ns_, std::max(budget_ns_ / 2, shortest_ns));
    return false;
  }

 private:
  static constexpr std::uint64_t first_ns = 10'000;
  static constexpr std::uint64_t shortest_ns = 500;
  static constexpr int looks_between_yields = 32;

  static void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  static void yield() noexcept;

  std::uint64_t longest_ns_;
  std::uint64_t budget_ns_;
};

}  // namespace batchcast::inline v0_1

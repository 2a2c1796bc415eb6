// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/futex.hpp>

#include <batchcast/core/inline.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace batchcast::inline v0_1 {
namespace detail::futex {

inline constexpr long futex_waitv_number =
    449;  // the same on every architecture; missing from older headers
inline constexpr int fallback_ms = 10;

// As linux/futex.h has it from 5.16 on.
struct WaitEntry {
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};
inline constexpr std::uint32_t entry_is_32_bit = 2;

inline timespec after(clockid_t clock, int timeout_ms) noexcept {
  timespec at{};
  ::clock_gettime(clock, &at);
  at.tv_sec += timeout_ms / 1000;
  at.tv_nsec += (timeout_ms % 1000) * 1'000'000L;
  if (at.tv_nsec >= 1'000'000'000L) {
    ++at.tv_sec;
    at.tv_nsec -= 1'000'000'000L;
  }
  return at;
}

inline Woken outcome(long result) noexcept {
  if (result >= 0) return Woken::by_peer;
  if (errno == EAGAIN) return Woken::value_changed;
  if (errno == ETIMEDOUT) return Woken::timed_out;
  return Woken::by_peer;  // EINTR, or a desk that was unmapped meanwhile: the caller looks again
}

}  // namespace detail::futex

BATCHCAST_INLINE Woken futex_wait(const SharedWord<std::uint32_t>& word, std::uint32_t expected,
                                  int timeout_ms) noexcept {
  const timespec relative{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  return detail::futex::outcome(
      ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &relative, nullptr, 0));
}

BATCHCAST_INLINE Woken futex_wait_either(const SharedWord<std::uint32_t>& word_a,
                                         std::uint32_t expected_a,
                                         const SharedWord<std::uint32_t>& word_b,
                                         std::uint32_t expected_b, int timeout_ms) noexcept {
  const detail::futex::WaitEntry entries[2] = {
      {expected_a, reinterpret_cast<std::uintptr_t>(&word_a), detail::futex::entry_is_32_bit, 0},
      {expected_b, reinterpret_cast<std::uintptr_t>(&word_b), detail::futex::entry_is_32_bit, 0}};
  const timespec deadline = detail::futex::after(CLOCK_MONOTONIC, timeout_ms);
  const long result =
      ::syscall(detail::futex::futex_waitv_number, entries, 2, 0, &deadline, CLOCK_MONOTONIC);
  if (result < 0 && (errno == ENOSYS || errno == EPERM)) {
    if (word_b.load() != expected_b) return Woken::value_changed;
    const Woken woken =
        futex_wait(word_a, expected_a, std::min(timeout_ms, detail::futex::fallback_ms));
    return woken == Woken::timed_out && timeout_ms > detail::futex::fallback_ms ? Woken::by_peer
                                                                                : woken;
  }
  return detail::futex::outcome(result);
}

BATCHCAST_INLINE void futex_wake(const SharedWord<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace batchcast::inline v0_1

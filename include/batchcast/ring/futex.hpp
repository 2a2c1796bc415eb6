// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/seam.hpp>

#include <cstdint>

// Sleeping on a word of shared memory. Unlike std::atomic::wait it works between processes and on
// read-only mappings.
namespace batchcast::inline v0_1 {

enum class Woken {
  by_peer,        ///< or by a signal: look again
  value_changed,  ///< the word no longer had the expected value; did not sleep
  timed_out,
};

/// Sleeps while `word` is `expected`, at most `timeout_ms`.
Woken futex_wait(const SharedWord<std::uint32_t>& word, std::uint32_t expected,
                 int timeout_ms) noexcept;

/// Sleeps while both words have the expected values. Where the kernel cannot (before 5.16), it
/// sleeps on the first one for at most 10 ms.
Woken futex_wait_either(const SharedWord<std::uint32_t>& word_a, std::uint32_t expected_a,
                        const SharedWord<std::uint32_t>& word_b, std::uint32_t expected_b,
                        int timeout_ms) noexcept;

/// Wakes all threads that sleep on `word`.
void futex_wake(const SharedWord<std::uint32_t>& word) noexcept;

}  // namespace batchcast::inline v0_1

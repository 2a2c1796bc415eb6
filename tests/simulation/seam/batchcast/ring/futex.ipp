// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/futex.hpp>

#include <batchcast/core/inline.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE Woken futex_wait(const SharedWord<std::uint32_t>& word, std::uint32_t expected,
                                  int timeout_ms) noexcept {
  simulation::step();
  if (word.peek() != expected) return Woken::value_changed;
  return simulation::sleep_on(&word, nullptr, timeout_ms) ? Woken::by_peer : Woken::timed_out;
}

BATCHCAST_INLINE Woken futex_wait_either(const SharedWord<std::uint32_t>& word_a,
                                         std::uint32_t expected_a,
                                         const SharedWord<std::uint32_t>& word_b,
                                         std::uint32_t expected_b, int timeout_ms) noexcept {
  simulation::step();
  if (word_a.peek() != expected_a || word_b.peek() != expected_b) return Woken::value_changed;
  return simulation::sleep_on(&word_a, &word_b, timeout_ms) ? Woken::by_peer : Woken::timed_out;
}

BATCHCAST_INLINE void futex_wake(const SharedWord<std::uint32_t>& word) noexcept {
  simulation::step();
  simulation::wake(&word);
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/reader.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/futex.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {
namespace detail::reader_sleep {

// A consumer that polls with a time-out of zero never sleeps, so it has to look for itself.
inline constexpr std::uint64_t look_alive_every_ns = 50'000'000;
// A sleeper looks whether the producer lives each time it wakes by itself: twice as often as it
// must know.
inline constexpr int doze_ms_max = limits::sleep_ms_max / 2;

}  // namespace detail::reader_sleep

BATCHCAST_INLINE bool RingReader::sleep(std::uint64_t wanted, StreamState seen,
                                        std::uint64_t deadline_ns) {
  const std::uint64_t started = now_ns();
  if (started >= deadline_ns) {
    look_whether_alive(started);
    return false;
  }
  const bool found = spinner_.look(
      [this, wanted] { return ordered::load_published(board_.progress()) >= wanted; });
  if (!found) {
    const std::uint64_t left_ms = (deadline_ns - started + 999'999) / 1'000'000;
    doze(wanted, seen,
         static_cast<int>(std::min<std::uint64_t>(detail::reader_sleep::doze_ms_max, left_ms)));
  }
  ordered::count(desk_.waits);
  ordered::count(desk_.wait_ns, now_ns() - started);
  check();
  return true;
}

BATCHCAST_INLINE void RingReader::doze(std::uint64_t wanted, StreamState seen, int timeout_ms) {
  const std::uint64_t announced = ordered::load_announced(board_.progress());
  const std::uint32_t slept_at = ordered::load_word(entry_.wake_word);
  const auto has_come = [&] {
    return ordered::look_again_published(board_.progress()) >= wanted ||
           ordered::load_state(board_.progress()) != seen ||
           ordered::load_announced(board_.progress()) != announced || revoked();
  };
  // A new announcement between the caller's look and this one would wake no one.
  if (samples_per_epoch_ == 0 && found_ && !skip_wanted_ && announced > epoch_) return;
  if (skip_wanted_ && announced > epoch_) return;
  ordered::consumer_sleeps_until(desk_, wanted);
  if (!has_come()) {
    const auto in_vain = [&](Woken woken) {
      return woken == Woken::timed_out && has_come() &&
             ordered::load_word(entry_.wake_word) == slept_at;
    };
    Woken woken = futex_wait(entry_.wake_word, slept_at, timeout_ms);
    // Whoever published may be between its store and its wake-up: give it one more round to come.
    if (in_vain(woken)) {
      woken = futex_wait(entry_.wake_word, slept_at, detail::reader_sleep::doze_ms_max);
      if (in_vain(woken)) ordered::count(desk_.late_wakeups);
    }
    if (woken == Woken::timed_out) look_whether_alive(0);
  }
  ordered::consumer_wakes(desk_);
}

BATCHCAST_INLINE void RingReader::look_whether_alive(std::uint64_t now) noexcept {
  if (now != 0 && now - looked_alive_ns_ < detail::reader_sleep::look_alive_every_ns) return;
  looked_alive_ns_ = now;
  if (!producer_dead_) producer_dead_ = host_.producer_is_dead();
}

}  // namespace batchcast::inline v0_1

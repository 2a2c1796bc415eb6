// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>

#include <cstdint>

namespace batchcast::inline v0_1 {

/// The word in private memory that the producer's threads sleep on, in `claim` and `wait_drained`.
/// Each change that may let them continue bumps it, except for a store on a desk. `wake` and `word`
/// may be called from any thread; the rest belongs to the RingWriter, under its admission lock.
class ProducerWake {
 public:
  void wake() noexcept {
    ordered::bump(word_);
    futex_wake(word_);
  }
  /// For changes that matter only to a thread in `claim`.
  void wake_claimer() noexcept {
    if (claimer_sleeps_) wake();
  }

  [[nodiscard]] const Shared32& word() const noexcept { return word_; }

  [[nodiscard]] bool claimer_sleeps() const noexcept { return claimer_sleeps_; }
  void set_claimer_sleeps(bool sleeps) noexcept { claimer_sleeps_ = sleeps; }

 private:
  Shared32 word_{0};
  bool claimer_sleeps_ = false;
};

}  // namespace batchcast::inline v0_1

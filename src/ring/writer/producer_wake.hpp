// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>

#include <cstdint>

namespace batchcast::inline v0_1 {

/// The word in private memory that the producer's threads sleep on, in `claim`, `take_rows` and
/// `wait_drained`.
/// Each change that may let them continue bumps it, except for a store on a desk. `wake` and `word`
/// may be called from any thread; the rest belongs to the RingWriter, under its admission lock.
class ProducerWake {
 public:
  void wake() noexcept {
    ordered::bump(word_);
    futex_wake(word_);
  }
  /// For changes that matter only to threads in `claim` and `take_rows`.
  void wake_claimer() noexcept {
    if (claimer_sleeps_ || row_sleepers_ != 0) wake();
  }

  [[nodiscard]] const Shared32& word() const noexcept { return word_; }

  [[nodiscard]] bool claimer_sleeps() const noexcept { return claimer_sleeps_; }
  void set_claimer_sleeps(bool sleeps) noexcept { claimer_sleeps_ = sleeps; }

  void add_row_sleeper(int threads) noexcept { row_sleepers_ += threads; }

  /// A thread has the turn to take rows, and there is no room for them.
  [[nodiscard]] bool waits_for_rows() const noexcept { return waits_for_rows_; }
  void set_waits_for_rows(bool waits) noexcept { waits_for_rows_ = waits; }

 private:
  Shared32 word_{0};
  bool claimer_sleeps_ = false;
  int row_sleepers_ = 0;
  bool waits_for_rows_ = false;
};

}  // namespace batchcast::inline v0_1

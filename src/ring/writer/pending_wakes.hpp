// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/limits.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>

#include <array>
#include <cstddef>

namespace batchcast::inline v0_1 {

/// Wake words of consumers that were bumped under the admission lock. The destructor wakes their
/// sleepers. Declare it before the lock is taken, so that it runs after the lock is released. Then
/// a consumer does not wake only to wait for the lock, and no system call is made under it.
class PendingWakes {
 public:
  PendingWakes() noexcept {}  // leaves the array alone: it is written before it is read
  PendingWakes(const PendingWakes&) = delete;
  PendingWakes& operator=(const PendingWakes&) = delete;
  ~PendingWakes() {
    for (std::size_t i = 0; i < count_; ++i) futex_wake(*words_[i]);
  }

  /// Call it at most once for each consumer.
  void add(Shared32& wake_word) noexcept {
    ordered::bump(wake_word);
    words_[count_++] = &wake_word;
  }

 private:
  std::array<const Shared32*, limits::consumers_max> words_;
  std::size_t count_ = 0;
};

}  // namespace batchcast::inline v0_1

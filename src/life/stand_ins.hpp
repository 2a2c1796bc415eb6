// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// Which samples stand in for bad ones, by position. Thread-safe. A stream without any costs its
/// workers one load for each sample.
class StandIns {
 public:
  using ByPosition = std::map<std::uint64_t, std::uint64_t>;

  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t position) const {
    if (size_.load(std::memory_order_relaxed) == 0) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = by_position_.find(position);
    return found == by_position_.end() ? std::nullopt : std::optional(found->second);
  }
  /// False where it stands there already.
  bool put(std::uint64_t position, std::uint64_t sample_id) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = by_position_.try_emplace(position, sample_id);
    const bool changes = is_new || at->second != sample_id;
    at->second = sample_id;
    size_.store(by_position_.size(), std::memory_order_relaxed);
    return changes;
  }
  void put_all(const ByPosition& others) {
    const std::lock_guard lock(mutex_);
    by_position_.insert(others.begin(), others.end());
    size_.store(by_position_.size(), std::memory_order_relaxed);
  }
  void forget_below(std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    by_position_.erase(by_position_.begin(), by_position_.lower_bound(position));
    size_.store(by_position_.size(), std::memory_order_relaxed);
  }
  [[nodiscard]] ByPosition all() const {
    const std::lock_guard lock(mutex_);
    return by_position_;
  }

 private:
  mutable std::mutex mutex_;
  ByPosition by_position_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace batchcast::inline v0_1::detail

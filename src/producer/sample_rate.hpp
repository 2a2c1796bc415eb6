// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>

#include <atomic>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// Samples that a stream published in the last second. One thread notes, any thread reads.
class SampleRate {
 public:
  /// `published` is the number of samples published so far.
  void note(std::uint64_t published) noexcept {
    constexpr std::uint64_t over_ns = 1'000'000'000;
    const std::uint64_t now = now_ns();
    const bool first = since_ns_ == 0;
    if (!first && now - since_ns_ < over_ns) return;
    if (!first) {
      per_second_.store(
          static_cast<double>(published - published_) / seconds_from_ns(now - since_ns_),
          std::memory_order_relaxed);
    }
    since_ns_ = now;
    published_ = published;
  }

  /// 0 in the first second.
  [[nodiscard]] double per_second() const noexcept {
    return per_second_.load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t since_ns_ = 0;
  std::uint64_t published_ = 0;
  std::atomic<double> per_second_{0};
};

}  // namespace batchcast::inline v0_1::detail

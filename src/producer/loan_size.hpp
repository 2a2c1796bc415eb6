// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// How many samples a worker asks for at a time. A loan takes the ring's lock twice, which many
/// samples make cheap. But a loan should not last: nothing after it is published before all of its
/// samples are made. Each worker has one; it starts with single samples.
class LoanSize {
 public:
  [[nodiscard]] std::uint64_t samples(std::uint64_t capacity, unsigned workers) const noexcept {
    if (sample_ns_ <= 0) return 1;
    const double wanted = std::clamp(loan_ns / sample_ns_, 1.0, static_cast<double>(samples_max));
    const std::uint64_t share = std::max<std::uint64_t>(1, capacity / (4 * workers));
    return std::min(static_cast<std::uint64_t>(wanted), share);
  }

  void took(std::uint64_t samples, std::uint64_t ns) noexcept {
    const double each = std::max(1.0, static_cast<double>(ns) / static_cast<double>(samples));
    if (sample_ns_ <= 0) {
      sample_ns_ = each;
      return;
    }
    // One slow sample, or a thread that lost its processor, does not make the next ones slow.
    sample_ns_ += (std::min(each, 2 * sample_ns_) - sample_ns_) / 4;
  }

 private:
  static constexpr std::uint64_t samples_max = 64;
  static constexpr double loan_ns = 75'000;

  double sample_ns_ = 0;  ///< 0: not known yet
};

}  // namespace batchcast::inline v0_1::detail

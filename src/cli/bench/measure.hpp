// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>

#include <sys/resource.h>

#include <cstdint>

// What the benchmarks of the pipeline measure with.
namespace batchcast::cli {

/// Processor time of this process so far.
[[nodiscard]] inline double cpu_seconds() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Before anything is measured: an epoch, so that files are in the page cache, but not for long
/// where epochs are large. A cache has to be filled, which may take longer.
class WarmUp {
 public:
  WarmUp(std::uint64_t samples_per_epoch, bool fills_cache) noexcept
      : samples_(samples_per_epoch),
        seconds_max_(fills_cache ? filling_seconds_max : seconds_max),
        began_ns_(now_ns()) {}

  [[nodiscard]] bool over(std::uint64_t samples_so_far) const noexcept {
    const double seconds = seconds_from_ns(now_ns() - began_ns_);
    return seconds >= seconds_max_ || (samples_so_far >= samples_ && seconds >= seconds_min);
  }

 private:
  static constexpr double seconds_min = 0.5;
  static constexpr double seconds_max = 5;
  static constexpr double filling_seconds_max = 120;

  std::uint64_t samples_;
  double seconds_max_;
  std::uint64_t began_ns_;
};

}  // namespace batchcast::cli

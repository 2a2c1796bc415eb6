// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/feeder.hpp>

namespace batchcast::inline v0_1::detail {

/// What workers did with a stretch of their time; the three add up to 1.
struct WorkerShares {
  double reading = 0;
  double making = 0;
  double waiting = 0;  ///< for space in the ring
};

[[nodiscard]] Bottleneck bottleneck_of(const WorkerShares& shares) noexcept;

/// Decides how many workers there should be, each time that it learns what they did.
class WorkerCount {
 public:
  /// `processors`: what this process may use, at least 1.
  explicit WorkerCount(unsigned processors) noexcept
      : processors_(processors), at_first_(processors) {}

  /// Other processes need some of them now, or no longer.
  void set_processors(unsigned processors) noexcept { processors_ = processors; }
  [[nodiscard]] unsigned processors() const noexcept { return processors_; }

  /// Call it after `workers` of them spent the time since the last call like this.
  [[nodiscard]] unsigned next(unsigned workers, const WorkerShares& shares) noexcept;

 private:
  [[nodiscard]] unsigned most(const WorkerShares& shares) const noexcept;

  unsigned processors_;
  unsigned at_first_;
  int idle_looks_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

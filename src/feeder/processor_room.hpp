// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/processors.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// How many processors are left for this process and its trainers. Other processes have those that
/// they use. A limit of the control group and an affinity that change are followed. For one thread.
class ProcessorRoom {
 public:
  /// `root` stands before /proc.
  explicit ProcessorRoom(std::string root = "");

  /// Call it every few seconds with the trainers' processes. It goes by what happened since the
  /// last call, and by earlier calls. At least 1.
  [[nodiscard]] unsigned look(const std::vector<std::uint32_t>& trainers);
  /// Why the last look found that number, for a log: `other processes use about 3`.
  [[nodiscard]] std::string why() const;
  /// Processors that other processes use, on average lately.
  [[nodiscard]] double others() const noexcept { return others_; }
  /// What this process may use if no other uses any.
  [[nodiscard]] unsigned usable() const noexcept { return usable_; }

 private:
  [[nodiscard]] double used_by_others(const std::vector<std::uint32_t>& trainers);

  const std::string root_;
  observe::ProcessorTicks ticks_;
  std::map<std::uint32_t, std::uint64_t> of_processes_;  ///< ticks, by pid
  double others_ = 0;
  unsigned usable_ = 1;
  unsigned room_ = 0;
  int looks_with_other_room_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

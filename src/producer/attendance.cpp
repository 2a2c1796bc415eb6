// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/attendance.hpp"

#include <batchcast/core/text.hpp>

#include <mutex>
#include <vector>

namespace batchcast::inline v0_1::detail {

std::string Attendance::text_of(const Reception& at) {
  {
    const std::lock_guard lock(at.mutex_);
    for (const auto& [key, seat] : at.seats_) {
      if (!seat.observes) return text("`{}` (pid {}) is", seat.name, seat.pid);
    }
  }
  if (at.awaits_members_.load()) return "trainers of its last producer are to come";
  const std::vector<FormingGroup> forming = at.forming_.list();
  if (!forming.empty())
    return text("ranks of group `{}` wait for the others", forming.front().name);
  return {};
}

}  // namespace batchcast::inline v0_1::detail

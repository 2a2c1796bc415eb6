// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/overview.hpp"

#include <deque>
#include <map>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::metrics {

/// What a stream did at one look.
struct HistoryPoint {
  double at_s = 0;  ///< of a clock that only goes on
  double rate = 0;  ///< samples a second
  observe::Limiter limiter = observe::Limiter::nothing;
};

/// The last minutes of each stream. For one thread.
class History {
 public:
  static constexpr double kept_s = 600;

  /// Streams that are gone are forgotten.
  void look(const observe::Overview& overview, double at_s);
  /// The oldest first; nothing for a stream that never answered.
  [[nodiscard]] const std::deque<HistoryPoint>& of(const observe::SeenStream& seen) const;

 private:
  using Key = std::pair<std::string, std::string>;  ///< owner, directory

  std::map<Key, std::deque<HistoryPoint>> points_;
};

}  // namespace batchcast::inline v0_1::metrics

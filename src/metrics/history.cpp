// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/history.hpp"

#include <set>

namespace batchcast::inline v0_1::metrics {

void History::look(const observe::Overview& overview, double at_s) {
  std::set<Key> here;
  for (const observe::SeenStream& seen : overview.streams) {
    Key key{seen.owner, seen.directory};
    std::deque<HistoryPoint>& points = points_[key];
    if (seen.answers) points.push_back({at_s, observe::stream_rate(seen), seen.limit.by});
    while (!points.empty() && points.front().at_s < at_s - kept_s) points.pop_front();
    here.insert(std::move(key));
  }
  std::erase_if(points_, [&](const auto& one) { return !here.contains(one.first); });
}

const std::deque<HistoryPoint>& History::of(const observe::SeenStream& seen) const {
  static const std::deque<HistoryPoint> none;
  const auto found = points_.find({seen.owner, seen.directory});
  return found == points_.end() ? none : found->second;
}

}  // namespace batchcast::inline v0_1::metrics

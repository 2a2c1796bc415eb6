// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "metrics/consumer_series.hpp"
#include "observe/limiter.hpp"
#include "observe/overview.hpp"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::metrics {

struct SeriesOptions {
  std::size_t consumers = 100;  ///< values of the label `consumer` of each stream, beside `other`
  /// This user's name, where streams of several users are seen: each series then has the label
  /// `user`. Empty: only this user's are.
  std::string user = {};
};

/// All that Prometheus gets, as a function of the looks that there were. For one thread.
class StreamSeries : public prometheus::Collectable {
 public:
  explicit StreamSeries(SeriesOptions options) : options_(std::move(options)) {}

  /// Takes the next look. Streams that are gone are forgotten.
  void look(const observe::Overview& overview);
  /// Of the last look. A stream that does not answer has `batchcast_stream_up` alone.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Kept {
    explicit Kept(std::size_t names) : consumers(names) {}
    observe::SeenStream seen;
    ConsumerSeries consumers;
    std::array<double, observe::limiters> limited_seconds = {};
    double saved_cpu_seconds = 0;
  };
  using Key = std::pair<std::string, std::string>;  ///< owner, stream

  void take(Kept& kept, const observe::SeenStream& seen) const;

  const SeriesOptions options_;
  std::map<Key, Kept> kept_;
};

}  // namespace batchcast::inline v0_1::metrics

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/top/watch.hpp"
#include "metrics/history.hpp"
#include "metrics/stream_series.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace batchcast::cli {

struct ExporterOptions {
  WatchOptions watch;
  double interval_s = 2;
  metrics::SeriesOptions series;
};

/// Looks at all streams, from a thread that ends with it, and keeps what Prometheus and the page
/// get. An answer is the last look at once, also while a producer does not answer. Any thread
/// may ask.
class Exporter {
 public:
  /// Returns after the first look, and throws what that throws.
  explicit Exporter(const ExporterOptions& options);
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  /// In Prometheus's text format.
  [[nodiscard]] std::shared_ptr<const std::string> metrics_text();
  /// JSON.
  [[nodiscard]] std::shared_ptr<const std::string> page_text();

 private:
  void run();
  void look();
  void take(observe::Overview overview);

  Watch watch_;
  const double interval_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  // Each text is made when one asks, until the next look. A scrape waits for no page's data: those
  // of many trainers take long on a busy machine.
  std::mutex metrics_mutex_;
  metrics::StreamSeries series_;
  std::shared_ptr<const std::string> metrics_text_;
  std::mutex page_mutex_;
  observe::Overview newest_;
  double newest_s_ = 0;
  metrics::History history_;
  std::shared_ptr<const std::string> page_text_;
  std::atomic<double> texts_cpu_s_{0};  ///< that these took since the last look
  std::thread thread_;
};

}  // namespace batchcast::cli

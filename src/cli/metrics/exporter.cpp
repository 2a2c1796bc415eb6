// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/metrics/exporter.hpp"

#include "metrics/page_data.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>

#include <prometheus/text_serializer.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace batchcast::cli {
namespace {

// With very many trainers it looks less often, so that looking, and what is made of a look for who
// asks, take a 300th of a processor.
constexpr double rest_for_each_cpu_second = 300;
constexpr double interval_max_s = 10;

double thread_cpu_seconds() noexcept {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

/// Adds the processor time of a scope.
class Spends {
 public:
  explicit Spends(std::atomic<double>& seconds) noexcept : seconds_(seconds) {}
  ~Spends() { seconds_.fetch_add(thread_cpu_seconds() - before_); }
  Spends(const Spends&) = delete;
  Spends& operator=(const Spends&) = delete;

 private:
  std::atomic<double>& seconds_;
  const double before_ = thread_cpu_seconds();
};

}  // namespace

Exporter::Exporter(const ExporterOptions& options)
    : watch_(options.watch), interval_s_(options.interval_s), series_(options.series) {
  take(watch_.look());
  thread_ = start_thread("bc-exporter", [this] { run(); });
}

Exporter::~Exporter() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Exporter::take(observe::Overview overview) {
  {
    const std::lock_guard lock(metrics_mutex_);
    series_.look(overview);
    metrics_text_.reset();
  }
  const std::lock_guard lock(page_mutex_);
  newest_ = std::move(overview);
  newest_s_ = seconds_from_ns(now_ns());
  history_.look(newest_, newest_s_);
  page_text_.reset();
}

void Exporter::look() {
  try {
    take(watch_.look());
  } catch (const StreamNotFound&) {
    take({});  // the one stream is gone, and may come again
  }
}

void Exporter::run() {
  std::unique_lock lock(mutex_);
  double rest_s = interval_s_;
  while (
      !changed_.wait_for(lock, std::chrono::duration<double>(rest_s), [this] { return ends_; })) {
    lock.unlock();
    std::atomic<double> spent_s = texts_cpu_s_.exchange(0);
    {
      const Spends spends(spent_s);
      look();
    }
    lock.lock();
    const double needed_s = rest_for_each_cpu_second * spent_s;
    rest_s = std::max(interval_s_, std::min(needed_s, interval_max_s));
  }
}

std::shared_ptr<const std::string> Exporter::metrics_text() {
  const std::lock_guard lock(metrics_mutex_);
  if (!metrics_text_) {
    const Spends spends(texts_cpu_s_);
    metrics_text_ = std::make_shared<const std::string>(
        prometheus::TextSerializer().Serialize(series_.Collect()));
  }
  return metrics_text_;
}

std::shared_ptr<const std::string> Exporter::page_text() {
  const std::lock_guard lock(page_mutex_);
  if (!page_text_) {
    const Spends spends(texts_cpu_s_);
    nlohmann::json data = metrics::page_data(newest_, history_, newest_s_);
    data["interval_seconds"] = interval_s_;
    page_text_ = std::make_shared<const std::string>(
        data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return page_text_;
}

}  // namespace batchcast::cli

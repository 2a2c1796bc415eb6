// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/pipeline.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace batchcast::cli {

/// Threads that read every sample of a source and decode its images whole; with a recipe, they make
/// each sample too.
class DatasetCheck {
 public:
  /// Throws InvalidArgument where the recipe does not fit the source.
  DatasetCheck(std::shared_ptr<const Source> source, const std::optional<Recipe>& recipe);
  /// Stops, and waits for the threads.
  ~DatasetCheck();
  DatasetCheck(const DatasetCheck&) = delete;
  DatasetCheck& operator=(const DatasetCheck&) = delete;

  void start(unsigned workers);
  void stop() noexcept { stops_.store(true); }
  /// Until no thread runs, at most that long; true if none does. Throws what a thread died of.
  [[nodiscard]] bool wait(int timeout_ms);

  [[nodiscard]] std::uint64_t checked() const noexcept { return checked_.load(); }
  [[nodiscard]] std::uint64_t bad_count() const;
  /// In the dataset's order, each sample once.
  [[nodiscard]] std::vector<BadSampleReport> take_bad();

 private:
  struct Worker;
  void work();
  void check(std::uint64_t sample_id, Worker& worker);
  void add(const BadSampleReport& bad);

  std::shared_ptr<const Source> source_;
  std::vector<std::int64_t> pixels_max_;  ///< of each part
  std::unique_ptr<Pipeline> pipeline_;

  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> checked_{0};
  std::atomic<bool> stops_{false};

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
  std::vector<BadSampleReport> bad_;
  std::vector<std::thread> threads_;
};

}  // namespace batchcast::cli

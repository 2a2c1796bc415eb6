// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/codec/decoder.hpp"
#include "data/image/later_sizes.hpp"
#include "data/program/resolve.hpp"

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
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast::cli {

/// What the draws of a later epoch let fail, though an image's first sample is good.
struct LaterBad {
  std::string field;
  std::string stage;  ///< its path
  std::uint64_t samples = 0;
  std::string name;    ///< of the first sample
  std::string reason;  ///< of that one
  std::uint64_t sample_id = 0;
};

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
  /// Of each stage of a field that fails for some sizes, once no thread runs.
  [[nodiscard]] std::vector<LaterBad> take_later() { return std::move(later_); }

 private:
  struct Worker;
  void work();
  void check(std::uint64_t sample_id, Worker& worker);
  void add(const BadSampleReport& bad);
  void look_at_sizes(std::uint64_t sample_id, std::size_t part, const detail::ImageInfo& info);
  void add_later(std::uint64_t sample_id, const std::string& field,
                 const detail::LaterFailure& failure);

  std::shared_ptr<const Source> source_;
  std::vector<std::int64_t> pixels_max_;  ///< of each part
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<detail::ResolvedField> fields_;  ///< of the recipe

  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> checked_{0};
  std::atomic<bool> stops_{false};

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
  std::vector<BadSampleReport> bad_;
  std::vector<LaterBad> later_;
  std::vector<std::thread> threads_;
};

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/pipeline.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>

namespace batchcast::inline v0_1::detail {

/// The samples of one pipeline that could not be made, shared by its workers.
class BadSamples {
 public:
  struct Options {
    OnBadSample on_bad_sample = OnBadSample::error;
    std::uint64_t samples_max = 0;
    std::function<void(const BadSampleReport&)> report;
  };
  explicit BadSamples(Options options) : options_(std::move(options)) {}

  /// Notes a sample. Throws BadSample, which names it, where it may not be substituted, and once
  /// there are more than the limit.
  void add(const BadSampleReport& report);
  [[nodiscard]] std::uint64_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  /// Notes that this sample was made in the place of a bad one.
  void stood_in(std::uint64_t sample_id);
  [[nodiscard]] StandIns stand_ins() const;

 private:
  const Options options_;
  std::atomic<std::uint64_t> count_{0};
  mutable std::mutex mutex_;
  std::unordered_set<std::uint64_t> ids_;
  std::unordered_set<std::uint64_t> stand_ins_;
  std::uint64_t times_ = 0;
};

}  // namespace batchcast::inline v0_1::detail

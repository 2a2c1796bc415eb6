// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/maker.hpp>
#include <batchcast/producer.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "producer/loan_size.hpp"

namespace batchcast::inline v0_1::detail {

/// Where the time of all workers together went since the first one began.
struct WorkerTimes {
  std::uint64_t alive_ns = 0;
  std::uint64_t waiting_ns = 0;  ///< for loans
  MakerTimes maker;
};

/// A feeder's threads, whose number may change. `resize` and `times` belong to one thread;
/// everything else may be called from any.
class WorkerPool {
 public:
  /// Both must outlive it.
  WorkerPool(Producer& producer, const SampleMaker& maker);
  /// Waits for the threads: the stream must be over.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Workers beyond that number leave after the loan that they fill. Once the stream is over, none
  /// is added. Throws what starting a thread throws; the workers that run continue.
  void resize(unsigned workers);
  /// Also joins the threads of workers that left.
  [[nodiscard]] WorkerTimes times();

  [[nodiscard]] unsigned size() const noexcept { return size_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool running() const;
  /// Waits until no worker runs, at most that long (negative: for ever). False at the time-out.
  bool wait(int timeout_ms);
  /// The first failure fails the stream with its text; later ones are dropped.
  void fail(std::exception_ptr failure) noexcept;
  void rethrow_failure() const;
  [[nodiscard]] std::exception_ptr failure() const;
  [[nodiscard]] std::string failure_text() const;

 private:
  struct Worker;
  enum class Why { over, not_needed };
  void add();
  void reap();
  void work(Worker& worker) noexcept;
  [[nodiscard]] Why make_samples(Worker& worker);
  [[nodiscard]] bool fill(Worker& worker, const Loan& loan);

  Producer& producer_;
  const SampleMaker& maker_;
  std::atomic<unsigned> size_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
  WorkerTimes gone_;  ///< of workers that left

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  unsigned running_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;
};

}  // namespace batchcast::inline v0_1::detail

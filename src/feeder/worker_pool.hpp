// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/maker.hpp>
#include <batchcast/producer.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "feeder/stash.hpp"
#include "producer/loan_size.hpp"

namespace batchcast::inline v0_1::detail {

/// Where the time of all workers together went since the first one began.
struct WorkerTimes {
  std::uint64_t alive_ns = 0;
  std::uint64_t waiting_ns = 0;  ///< for loans, for rows, and for their turn to take rows
  std::uint64_t cpu_ns = 0;
  MakerTimes maker;
};

/// As its owner may show it.
[[nodiscard]] WorkerSeconds seconds_of(const WorkerTimes& times) noexcept;

/// A feeder's threads, whose number may change. `resize` and `times` belong to one thread;
/// everything else may be called from any.
class WorkerPool {
 public:
  /// Both must outlive it. `stash_bytes`: of a maker with axes (FeederOptions).
  WorkerPool(Producer& producer, const SampleMaker& maker, std::uint64_t stash_bytes);
  /// Waits for the threads: the stream must be over.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Workers beyond that number leave after the loan that they fill. Once the stream is over, none
  /// is added. Throws what starting a thread throws; the workers that run continue.
  void resize(unsigned workers);
  /// Also joins the threads of workers that left. `each` gets the times of those that run.
  [[nodiscard]] WorkerTimes times(std::vector<WorkerSeconds>& each);

  [[nodiscard]] unsigned size() const noexcept { return size_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool running() const;
  /// Waits until no worker runs, at most that long (negative: for ever). False at the time-out.
  bool wait(int timeout_ms);
  /// The first failure fails the stream with its text; later ones are dropped.
  void fail(std::exception_ptr failure) noexcept;
  void rethrow_failure() const;
  [[nodiscard]] std::exception_ptr failure() const;
  [[nodiscard]] std::string failure_text() const;
  [[nodiscard]] std::uint64_t stash_bytes() const { return stash_ ? stash_->bytes() : 0; }

 private:
  struct Worker;
  class Wait;
  enum class Why { over, not_needed };
  struct Axis {
    std::string name;
    std::uint64_t arena = 0;                    ///< rows that the ring has
    std::shared_ptr<const RowLengths> lengths;  ///< where samples are made in place
  };
  void add();
  void reap();
  void work(Worker& worker) noexcept;
  [[nodiscard]] Why make_samples(Worker& worker);
  [[nodiscard]] std::optional<Loan> ask(Worker& worker, std::uint64_t samples, int timeout_ms);
  [[nodiscard]] bool fill(Worker& worker, const Loan& loan);
  // Where the stream has axes.
  [[nodiscard]] bool take_rows(Worker& worker, Loan& loan);
  void throw_too_long(Worker& worker, std::uint64_t epoch, std::uint64_t index, std::size_t axis,
                      std::uint64_t rows) const;
  [[nodiscard]] Why make_samples_apart(Worker& worker);
  [[nodiscard]] bool make_apart(Worker& worker, const Loan& loan, MadeSample& made);
  [[nodiscard]] bool hand_over(Worker& worker, Finished sample);
  [[nodiscard]] bool deliver_ready(Worker& worker);
  void deliver(Worker& worker, Finished& sample);
  void copy(const MadeSample& made, const Loan& loan) const;

  Producer& producer_;
  const SampleMaker& maker_;
  std::vector<Axis> axes_;
  std::optional<Stash> stash_;  ///< where samples are made before they take rows
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

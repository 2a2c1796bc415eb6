// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/worker_pool.hpp"

#include <batchcast/core/clock.hpp>

#include <batchcast/core/named_thread.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// How often a worker without a loan looks whether it should leave.
constexpr int look_ms = 100;

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "batchcast: a worker threw something that is no std::exception.";
  }
}

/// The reason as consumers get it, who add "batchcast: " themselves.
std::string reason_of(const std::exception_ptr& failure) {
  constexpr std::string_view prefix = "batchcast: ";
  std::string text = text_of(failure);
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

}  // namespace

struct WorkerPool::Worker {
  std::unique_ptr<SampleWorker> samples;
  std::vector<FieldSlots> fields;
  LoanSize loan_size;
  const std::uint64_t began_ns = now_ns();
  std::atomic<std::uint64_t> waited_ns{0};
  std::atomic<std::uint64_t> waits_since_ns{began_ns};  ///< 0: it does not
  std::atomic<std::uint64_t> ended_ns{0};               ///< 0: it runs
  std::atomic<bool> leaves{false};
  std::thread thread;

  void add_to(WorkerTimes& times) const noexcept {
    const std::uint64_t ended = ended_ns.load(std::memory_order_acquire);
    const std::uint64_t until = ended != 0 ? ended : now_ns();
    const std::uint64_t since = waits_since_ns.load(std::memory_order_relaxed);
    times.alive_ns += until - began_ns;
    times.waiting_ns += waited_ns.load(std::memory_order_relaxed);
    if (since != 0 && since < until) times.waiting_ns += until - since;
    const MakerTimes maker = samples->times();
    times.maker.read_ns += maker.read_ns;
    times.maker.make_ns += maker.make_ns;
  }
};

WorkerPool::WorkerPool(Producer& producer, const SampleMaker& maker)
    : producer_(producer), maker_(maker) {}

WorkerPool::~WorkerPool() {
  for (const auto& worker : workers_) worker->thread.join();
}

void WorkerPool::resize(unsigned workers) {
  unsigned kept = 0;
  for (const auto& worker : workers_) {
    if (worker->leaves.load(std::memory_order_relaxed)) continue;
    if (kept == workers) {
      worker->leaves.store(true, std::memory_order_relaxed);
    } else {
      ++kept;
    }
  }
  size_.store(kept, std::memory_order_relaxed);
  for (; kept < workers; ++kept) add();
}

void WorkerPool::add() {
  auto worker = std::make_unique<Worker>();
  worker->samples = maker_.worker();
  worker->fields.resize(maker_.schema().size());
  workers_.reserve(workers_.size() + 1);
  const std::lock_guard lock(mutex_);
  if (over_) return;
  worker->thread = start_thread("batchcast-work", [this, &at = *worker] { work(at); });
  workers_.push_back(std::move(worker));
  ++running_;
  size_.fetch_add(1, std::memory_order_relaxed);
}

void WorkerPool::reap() {
  std::erase_if(workers_, [this](const std::unique_ptr<Worker>& worker) {
    if (worker->ended_ns.load(std::memory_order_acquire) == 0) return false;
    worker->thread.join();
    worker->add_to(gone_);
    return true;
  });
}

WorkerTimes WorkerPool::times() {
  reap();
  WorkerTimes times = gone_;
  for (const auto& worker : workers_) worker->add_to(times);
  return times;
}

void WorkerPool::work(Worker& worker) noexcept {
  bool over = true;
  try {
    over = make_samples(worker) == Why::over;
  } catch (...) {
    fail(std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  over_ = over_ || over;
  worker.ended_ns.store(now_ns(), std::memory_order_release);
  if (--running_ == 0) ended_.notify_all();
}

WorkerPool::Why WorkerPool::make_samples(Worker& worker) {
  while (!worker.leaves.load(std::memory_order_relaxed)) {
    const std::uint64_t asked_ns = now_ns();
    worker.waits_since_ns.store(asked_ns, std::memory_order_relaxed);
    auto loan = producer_.try_loan(
        worker.loan_size.samples(producer_.capacity(), std::max(1U, size())), look_ms);
    const std::uint64_t began_ns = now_ns();
    worker.waits_since_ns.store(0, std::memory_order_relaxed);
    worker.waited_ns.fetch_add(began_ns - asked_ns, std::memory_order_relaxed);
    if (!loan) {
      if (producer_.over()) return Why::over;
      continue;
    }
    const std::size_t samples = loan->size();
    if (!fill(worker, *loan)) return Why::over;
    loan->publish();
    worker.loan_size.took(samples, now_ns() - began_ns);
  }
  return Why::not_needed;
}

bool WorkerPool::fill(Worker& worker, const Loan& loan) {
  for (std::size_t i = 0; i < worker.fields.size(); ++i) {
    const auto field = loan.field<std::byte>(i);
    worker.fields[i] = {field.data(), field.sample_stride_bytes()};
  }
  try {
    worker.samples->make({loan.epoch(), loan.index_in_epoch(), worker.fields, loan.sample_ids()});
    return true;
  } catch (...) {
    // This comes before the loan is dropped: the stream's end should say what happened, not that a
    // loan is missing.
    fail(std::current_exception());
    return false;
  }
}

void WorkerPool::fail(std::exception_ptr failure) noexcept {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    if (failure_) return;
    failure_ = failure;
  }
  producer_.fail(reason_of(failure));
}

bool WorkerPool::running() const {
  const std::lock_guard lock(mutex_);
  return running_ != 0;
}

bool WorkerPool::wait(int timeout_ms) {
  std::unique_lock lock(mutex_);
  const auto none_runs = [this] { return running_ == 0; };
  if (timeout_ms < 0) {
    ended_.wait(lock, none_runs);
    return true;
  }
  return ended_.wait_for(lock, std::chrono::milliseconds(timeout_ms), none_runs);
}

std::exception_ptr WorkerPool::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void WorkerPool::rethrow_failure() const {
  if (const std::exception_ptr thrown = failure()) std::rethrow_exception(thrown);
}

std::string WorkerPool::failure_text() const {
  const std::exception_ptr thrown = failure();
  return thrown ? text_of(thrown) : std::string();
}

}  // namespace batchcast::inline v0_1::detail

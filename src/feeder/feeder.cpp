// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/feeder.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/fork_guard.hpp>

#include <batchcast/core/named_thread.hpp>
#include "core/usable_processors.hpp"
#include "feeder/worker_count.hpp"
#include "feeder/worker_pool.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace batchcast::inline v0_1 {
namespace {

using detail::WorkerShares;
using detail::WorkerTimes;

constexpr auto between_looks = std::chrono::milliseconds(200);

void check_fits(const Producer& producer, const SampleMaker& maker) {
  if (producer.schema() != maker.schema()) {
    throw InvalidArgument(
        text("batchcast: stream `{}` has other fields than its samples are made with. Give the "
             "producer the maker's schema().",
             producer.stream()));
  }
  if (producer.samples_per_epoch() != maker.samples_per_epoch()) {
    throw InvalidArgument(
        text("batchcast: stream `{}` has epochs of {} samples, and its samples are made for {}. "
             "Give the producer the maker's samples_per_epoch().",
             producer.stream(), producer.samples_per_epoch(), maker.samples_per_epoch()));
  }
}

double minus(std::uint64_t a, std::uint64_t b) { return a > b ? static_cast<double>(a - b) : 0; }

/// What workers did between two looks; nothing if no time passed.
std::optional<WorkerShares> shares_between(const WorkerTimes& before, const WorkerTimes& after) {
  const double alive = minus(after.alive_ns, before.alive_ns);
  if (alive <= 0) return std::nullopt;
  WorkerShares shares;
  shares.waiting = std::min(1.0, minus(after.waiting_ns, before.waiting_ns) / alive);
  // A maker counts a sample's times once it is made: only the ratio of these two is used.
  const double read = minus(after.maker.read_ns, before.maker.read_ns);
  const double made = minus(after.maker.make_ns, before.maker.make_ns);
  shares.reading = read + made > 0 ? (1 - shares.waiting) * read / (read + made) : 0;
  shares.making = 1 - shares.waiting - shares.reading;
  return shares;
}

}  // namespace

struct Feeder::Impl {
  Impl(Producer& fed, const SampleMaker& maker, const FeederOptions& options)
      : producer(fed), pool(fed, maker) {
    if (options.workers == 0) count.emplace(usable_processors());
    const unsigned workers = std::max(1U, options.workers);
    try {
      rehearse_threads(workers + 1, 0, text("the feeder of stream `{}`", fed.stream()));
      pool.resize(workers);
      looker = start_thread("bc-feeder", [this] { look_until_end(); });
    } catch (...) {
      producer.fail("the threads that make samples could not be started");
      throw;
    }
  }
  ~Impl() {
    if (pool.running()) producer.stop("its feeder ended before the last epoch");
    pool.wait(-1);
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    ending.notify_all();
    looker.join();
  }

  void look_until_end() {
    WorkerTimes before = pool.times();
    std::unique_lock lock(mutex);
    while (!ending.wait_for(lock, between_looks, [this] { return ends; })) {
      lock.unlock();
      const WorkerTimes after = pool.times();
      const auto shares = shares_between(before, after);
      before = after;
      if (shares && count) adjust(*shares);
      lock.lock();
      if (shares) latest = *shares;
      totals = after;
    }
  }

  void adjust(const WorkerShares& shares) {
    const unsigned workers = pool.size();
    const unsigned wanted = count->next(workers, shares);
    if (wanted == workers || !pool.running()) return;
    try {
      pool.resize(wanted);
    } catch (const SystemError&) {
      // The system has no more threads: the present workers continue.
    } catch (...) {
      pool.fail(std::current_exception());
    }
  }

  Producer& producer;
  ForkGuard fork_guard;
  std::optional<detail::WorkerCount> count;  ///< where the options say no number
  detail::WorkerPool pool;

  mutable std::mutex mutex;
  std::condition_variable ending;
  bool ends = false;
  WorkerShares latest;
  WorkerTimes totals;
  std::thread looker;
};

Feeder::Feeder(Producer& producer, const SampleMaker& maker, const FeederOptions& options) {
  check_fits(producer, maker);
  impl_ = std::make_unique<Impl>(producer, maker, options);
}

Feeder::~Feeder() {
  if (impl_->fork_guard.in_child())
    static_cast<void>(impl_.release());  // the threads are the parent's
}

bool Feeder::running() const noexcept { return impl_->pool.running(); }

bool Feeder::wait(int timeout_ms) {
  if (impl_->fork_guard.in_child()) {
    throw Forked(
        text("batchcast: this process was forked from the one whose threads feed stream `{}`, and "
             "cannot wait for them.",
             impl_->producer.stream()));
  }
  if (!impl_->pool.wait(timeout_ms)) return false;
  impl_->pool.rethrow_failure();
  return true;
}

std::exception_ptr Feeder::failure() const { return impl_->pool.failure(); }

std::string Feeder::failure_text() const { return impl_->pool.failure_text(); }

FeederStats Feeder::stats() const {
  FeederStats stats;
  WorkerShares shares;
  {
    const std::lock_guard lock(impl_->mutex);
    shares = impl_->latest;
    stats.reading_seconds = seconds_from_ns(impl_->totals.maker.read_ns);
    stats.making_seconds = seconds_from_ns(impl_->totals.maker.make_ns);
    stats.waiting_seconds = seconds_from_ns(impl_->totals.waiting_ns);
  }
  if (!impl_->pool.running()) return stats;
  stats.workers = impl_->pool.size();
  stats.bottleneck = detail::bottleneck_of(shares);
  stats.reading = shares.reading;
  stats.making = shares.making;
  stats.waiting = shares.waiting;
  return stats;
}

}  // namespace batchcast::inline v0_1

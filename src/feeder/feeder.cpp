// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/feeder.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/ring/fork_guard.hpp>
#include <batchcast/ring/memory_left.hpp>
#include "core/usable_processors.hpp"
#include "feeder/processor_room.hpp"
#include "feeder/stash_bytes.hpp"
#include "feeder/worker_count.hpp"
#include "feeder/worker_pool.hpp"
#include "producer/setting_values.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace {

using detail::seconds_of;
using detail::WorkerShares;
using detail::WorkerTimes;

constexpr auto between_looks = std::chrono::milliseconds(200);
constexpr std::uint64_t looks_of_room = 10;  // of that many looks, one is for others' processes

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

/// Private memory for finished samples. Throws OutOfMemory where there is not that much left.
std::uint64_t checked_stash_bytes(const Producer& producer, const SampleMaker& maker,
                                  const FeederOptions& options) {
  const std::uint64_t bytes = detail::stash_bytes(maker, producer.memory(), options.stash);
  if (bytes == 0) return 0;
  const std::uint64_t left = memory_left().bytes();
  if (bytes <= left) return bytes;
  throw OutOfMemory(
      text("batchcast: the feeder of stream `{}` needs up to {} for finished samples that wait for "
           "their rows, and {} are left. Give it less (--stash; FeederOptions::stash), or the ring "
           "(--memory).",
           producer.stream(), bytes_text(bytes), bytes_text(left)));
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
      : producer(fed), made_by(maker), pool(fed, maker, checked_stash_bytes(fed, maker, options)) {
    wanted_workers.store(options.workers);
    if (options.workers == 0) count.emplace(usable_processors());
    const unsigned workers = std::max(1U, options.workers);
    try {
      rehearse_threads(workers + 1, 0, text("the feeder of stream `{}`", fed.stream()));
      pool.resize(workers);
      producer.report_making([this] { return making(); });
      producer.add_setting({"workers", [this] { return workers_text(); },
                            [this](const std::string& value) { want_workers(value); }});
      looker = start_thread("bc-feeder", [this] { look_until_end(); });
    } catch (...) {
      producer.remove_setting("workers");
      producer.report_making({});
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
    producer.remove_setting("workers");
    std::vector<WorkerSeconds> last_each;
    const WorkerTimes last = pool.times(last_each);
    {
      const std::lock_guard lock(mutex);
      totals = last;
      each = std::move(last_each);
    }
    // What they did stays known until the stream ends.
    try {
      producer.report_making([made = making()] { return made; });
    } catch (...) {
      producer.report_making({});
    }
  }

  void look_until_end() {
    std::vector<WorkerSeconds> now_each;
    WorkerTimes before = pool.times(now_each);
    std::unique_lock lock(mutex);
    while (!ending.wait_for(lock, between_looks, [this] { return ends; })) {
      lock.unlock();
      const WorkerTimes after = pool.times(now_each);
      const auto shares = shares_between(before, after);
      before = after;
      take_wanted();
      if (count && ++looks % looks_of_room == 0) look_for_room();
      if (shares && count) adjust(*shares);
      lock.lock();
      if (shares) latest = *shares;
      totals = after;
      each = now_each;
    }
  }

  /// For the producer's `stats`, from its threads.
  [[nodiscard]] MakingStats making() const {
    MakingStats stats;
    const MakerCounts counts = made_by.counts();
    stats.helper_cpu = seconds_from_ns(counts.helper_cpu_ns);
    stats.bad_samples = counts.bad_samples;
    stats.stand_ins = counts.stand_ins;
    stats.stand_in_times = counts.stand_in_times;
    stats.cache = counts.cache;
    stats.workers_auto = wanted_workers.load() == 0;
    const bool runs = pool.running();
    stats.workers = runs ? pool.size() : 0;
    const std::lock_guard lock(mutex);
    stats.bottleneck = name_of(runs ? detail::bottleneck_of(latest) : Bottleneck::none);
    stats.all = seconds_of(totals);
    stats.each = each;
    const auto split = static_cast<double>(totals.maker.split_make_ns);
    if (totals.maker.split_decode_ns != 0) {
      stats.decoding_share = static_cast<double>(totals.maker.split_decode_ns) / split;
    }
    return stats;
  }

  [[nodiscard]] std::string workers_text() const {
    const unsigned workers = wanted_workers.load();
    return workers == 0 ? "auto" : std::to_string(workers);
  }
  void want_workers(const std::string& value) {
    constexpr std::uint64_t workers_max = 256;
    const std::uint64_t workers =
        value == "auto" ? 0 : detail::count_setting("workers", value, 1, workers_max);
    wanted_workers.store(static_cast<unsigned>(workers));
  }

  /// The pool is this thread's, so what others want of it waits for this.
  void take_wanted() {
    const unsigned wanted = wanted_workers.load();
    if (wanted == 0) {
      if (!count) count.emplace(usable_processors());
    } else {
      count.reset();
      resize(wanted);
    }
  }

  /// Workers give way to processes other than this one and its trainers.
  void look_for_room() {
    std::vector<std::uint32_t> trainers;
    for (const ConsumerInfo& one : producer.stats().consumers) {
      // Of one that cannot be seen from here, it is not known what it uses.
      if (one.pid == 0) return;
      trainers.push_back(one.pid);
    }
    const unsigned processors = room.look(trainers);
    if (processors == count->processors()) return;
    count->set_processors(processors);
    producer.report(LogLevel::info, text("workers may use {} of {} processors from now on: {}",
                                         processors, room.usable(), room.why()));
  }

  void adjust(const WorkerShares& shares) { resize(count->next(pool.size(), shares)); }

  void resize(unsigned wanted) {
    if (wanted == pool.size() || !pool.running()) return;
    try {
      pool.resize(wanted);
    } catch (const SystemError&) {
      // The system has no more threads: the present workers continue.
    } catch (...) {
      pool.fail(std::current_exception());
    }
  }

  Producer& producer;
  const SampleMaker& made_by;
  ForkGuard fork_guard;
  std::atomic<unsigned> wanted_workers{0};   ///< 0: as many as it takes
  std::optional<detail::WorkerCount> count;  ///< where no number is wanted
  detail::ProcessorRoom room;
  std::uint64_t looks = 0;
  detail::WorkerPool pool;

  mutable std::mutex mutex;
  std::condition_variable ending;
  bool ends = false;
  WorkerShares latest;
  WorkerTimes totals;
  std::vector<WorkerSeconds> each;
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

void Feeder::set_workers(unsigned workers) noexcept { impl_->wanted_workers.store(workers); }

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
  stats.stash_bytes = impl_->pool.stash_bytes();
  if (!impl_->pool.running()) return stats;
  stats.workers = impl_->pool.size();
  stats.bottleneck = detail::bottleneck_of(shares);
  stats.reading = shares.reading;
  stats.making = shares.making;
  stats.waiting = shares.waiting;
  return stats;
}

}  // namespace batchcast::inline v0_1

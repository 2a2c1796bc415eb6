// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/worker_pool.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/named_thread.hpp>
#include "core/cpu_time.hpp"
#include "core/span_buffer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// How often a worker without a loan looks whether it should leave.
constexpr int look_ms = 100;
// The same while finished samples wait: where the stream went back, these are what keeps it.
constexpr int look_at_stash_ms = 5;

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

void add(const WorkerTimes& one, WorkerTimes& all) noexcept {
  all.alive_ns += one.alive_ns;
  all.waiting_ns += one.waiting_ns;
  all.cpu_ns += one.cpu_ns;
  all.maker.read_ns += one.maker.read_ns;
  all.maker.make_ns += one.maker.make_ns;
  all.maker.split_make_ns += one.maker.split_make_ns;
  all.maker.split_decode_ns += one.maker.split_decode_ns;
}

}  // namespace

WorkerSeconds seconds_of(const WorkerTimes& times) noexcept {
  return {seconds_from_ns(times.maker.read_ns), seconds_from_ns(times.maker.make_ns),
          seconds_from_ns(times.waiting_ns), seconds_from_ns(times.cpu_ns)};
}

struct WorkerPool::Worker {
  std::unique_ptr<SampleWorker> samples;
  std::vector<FieldSlots> fields;
  std::vector<std::uint64_t> lengths;  ///< of a loan, axis by axis
  std::vector<std::span<const std::uint64_t>> by_axis;
  LoanSize loan_size;
  const std::shared_ptr<SpanBuffer> spans = std::make_shared<SpanBuffer>();
  const std::uint64_t began_ns = now_ns();
  std::atomic<std::uint64_t> waited_ns{0};
  std::atomic<std::uint64_t> waits_since_ns{began_ns};  ///< 0: it does not
  std::atomic<std::uint64_t> cpu_ns{0};                 ///< once it has ended
  std::atomic<std::uint64_t> ended_ns{0};               ///< 0: it runs
  std::atomic<bool> leaves{false};
  std::thread thread;

  [[nodiscard]] WorkerTimes times() noexcept {
    const std::uint64_t ended = ended_ns.load(std::memory_order_acquire);
    const std::uint64_t until = ended != 0 ? ended : now_ns();
    const std::uint64_t since = waits_since_ns.load(std::memory_order_relaxed);
    WorkerTimes times;
    times.alive_ns = until - began_ns;
    times.waiting_ns = waited_ns.load(std::memory_order_relaxed);
    if (since != 0 && since < until) times.waiting_ns += until - since;
    times.cpu_ns = ended != 0 ? cpu_ns.load(std::memory_order_relaxed) : cpu_ns_of(thread);
    times.maker = samples->times();
    return times;
  }
};

/// Marks the time that a worker waits.
class WorkerPool::Wait {
 public:
  explicit Wait(Worker& worker) noexcept : worker_(worker) {
    worker_.waits_since_ns.store(began_ns_, std::memory_order_relaxed);
  }
  ~Wait() {
    worker_.waits_since_ns.store(0, std::memory_order_relaxed);
    const std::uint64_t ended_ns = now_ns();
    worker_.waited_ns.fetch_add(ended_ns - began_ns_, std::memory_order_relaxed);
    worker_.spans->note(SpanKind::waiting, began_ns_, ended_ns);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  Worker& worker_;
  const std::uint64_t began_ns_ = now_ns();
};

WorkerPool::WorkerPool(Producer& producer, const SampleMaker& maker, std::uint64_t stash_bytes)
    : producer_(producer), maker_(maker) {
  const bool in_place = maker.fills_in_place();
  std::vector<std::uint64_t> arenas;
  for (const std::string& name : axes_of(maker.schema())) {
    arenas.push_back(producer.rows(name));
    axes_.push_back({name, arenas.back(), in_place ? maker.lengths(name) : nullptr});
  }
  if (!axes_.empty() && !in_place) stash_.emplace(maker.schema(), std::move(arenas), stash_bytes);
}

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
  worker->samples->note_in(*worker->spans);
  if (Substitutions* const known = producer_.substitutions()) worker->samples->follow(*known);
  worker->fields.resize(maker_.schema().size());
  workers_.reserve(workers_.size() + 1);
  const std::lock_guard lock(mutex_);
  if (over_) return;
  worker->thread = start_thread("batchcast-work", [this, &at = *worker] { work(at); });
  workers_.push_back(std::move(worker));
  ++running_;
  size_.fetch_add(1, std::memory_order_relaxed);
  producer_.add_spans(workers_.back()->spans);
}

void WorkerPool::reap() {
  std::erase_if(workers_, [this](const std::unique_ptr<Worker>& worker) {
    if (worker->ended_ns.load(std::memory_order_acquire) == 0) return false;
    worker->thread.join();
    batchcast::detail::add(worker->times(), gone_);
    return true;
  });
}

WorkerTimes WorkerPool::times(std::vector<WorkerSeconds>& each) {
  reap();
  WorkerTimes times = gone_;
  each.clear();
  for (const auto& worker : workers_) {
    const WorkerTimes one = worker->times();
    each.push_back(seconds_of(one));
    batchcast::detail::add(one, times);
  }
  return times;
}

void WorkerPool::work(Worker& worker) noexcept {
  bool over = true;
  try {
    over = (stash_ ? make_samples_apart(worker) : make_samples(worker)) == Why::over;
  } catch (...) {
    fail(std::current_exception());
  }
  std::unique_lock lock(mutex_);
  over_ = over_ || over;
  if (over_ && running_ == 1 && stash_) {
    // No thread delivers any more: what still waits there belongs to a stream that failed.
    lock.unlock();
    stash_->clear();
    lock.lock();
  }
  worker.cpu_ns.store(thread_cpu_ns(), std::memory_order_relaxed);
  worker.ended_ns.store(now_ns(), std::memory_order_release);
  if (--running_ == 0) ended_.notify_all();
}

std::optional<Loan> WorkerPool::ask(Worker& worker, std::uint64_t samples, int timeout_ms) {
  const Wait wait(worker);
  return producer_.try_loan(samples, timeout_ms);
}

WorkerPool::Why WorkerPool::make_samples(Worker& worker) {
  while (!worker.leaves.load(std::memory_order_relaxed)) {
    auto loan =
        ask(worker, worker.loan_size.samples(producer_.capacity(), std::max(1U, size())), look_ms);
    if (!loan) {
      if (producer_.over()) return Why::over;
      continue;
    }
    if (!axes_.empty() && !take_rows(worker, *loan)) continue;
    const std::uint64_t began_ns = now_ns();
    const std::size_t samples = loan->size();
    if (!fill(worker, *loan)) return Why::over;
    loan->publish();
    const std::uint64_t ended_ns = now_ns();
    worker.loan_size.took(samples, ended_ns - began_ns);
    worker.spans->note(SpanKind::making, began_ns, ended_ns, samples);
  }
  return Why::not_needed;
}

bool WorkerPool::fill(Worker& worker, const Loan& loan) {
  try {
    for (std::size_t i = 0; i < worker.fields.size(); ++i) {
      const bool has_rows = maker_.schema()[i].on_axis();
      const auto field = has_rows ? loan.rows<std::byte>(0, i) : loan.field<std::byte>(i);
      worker.fields[i] = {field.data(), field.sample_stride_bytes()};
    }
    worker.samples->make({loan.epoch(), loan.index_in_epoch(), worker.fields, loan.sample_ids()});
    return true;
  } catch (...) {
    // This comes before the loan is dropped: the stream's end should say what happened, not that a
    // loan is missing.
    fail(std::current_exception());
    return false;
  }
}

// ---- samples that have rows

/// Of known numbers, for all samples of the loan, which may become shorter. False where it has none
/// any more.
bool WorkerPool::take_rows(Worker& worker, Loan& loan) {
  const Wait wait(worker);
  const std::size_t samples = loan.size();
  worker.lengths.resize(samples * axes_.size());
  worker.by_axis.clear();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    worker.by_axis.push_back(std::span(worker.lengths).subspan(axis * samples, samples));
  }
  try {
    for (std::size_t i = 0; i < samples; ++i) {
      const std::uint64_t index = loan.index_in_epoch() + i;
      const std::uint64_t id = maker_.sample_id_at(loan.epoch(), index);
      for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
        const std::uint64_t rows = (*axes_[axis].lengths)[id];
        if (rows > axes_[axis].arena) throw_too_long(worker, loan.epoch(), index, axis, rows);
        worker.lengths[axis * samples + i] = rows;
      }
    }
    return loan.take_rows(worker.by_axis);
  } catch (...) {
    fail(std::current_exception());
    return false;
  }
}

/// A sample with more rows than the ring. The maker knows its name, and notes that it is bad.
void WorkerPool::throw_too_long(Worker& worker, std::uint64_t epoch, std::uint64_t index,
                                std::size_t axis, std::uint64_t rows) const {
  MadeSample made(maker_.schema());
  std::vector<std::uint64_t> arenas;
  for (const Axis& one : axes_) arenas.push_back(one.arena);
  made.limit_rows(std::move(arenas));
  try {
    worker.samples->make_apart(epoch, index, made);
  } catch (const BadSample&) {
    throw;
  } catch (const std::exception&) {  // it makes samples in place only
  }
  try {
    made.set_rows(axis, rows);
  } catch (const BadSample& bad) {
    throw BadSample(
        text("batchcast: sample {}: {}.", maker_.sample_id_at(epoch, index), bad.what()));
  }
}

/// Each sample has a loan: a longer one could lose samples that are made already.
WorkerPool::Why WorkerPool::make_samples_apart(Worker& worker) {
  while (!worker.leaves.load(std::memory_order_relaxed)) {
    const std::uint64_t seen = stash_->calls();
    if (!deliver_ready(worker)) return Why::over;
    auto loan = ask(worker, 1, stash_->is_empty() ? look_ms : look_at_stash_ms);
    if (!loan && producer_.over()) {
      // A thread that has a sample now delivers it itself.
      if (stash_->is_empty()) return Why::over;
      // The last loans are out. Finished samples of some wait for their turn.
      const Wait wait(worker);
      stash_->wait(seen, look_at_stash_ms);
    }
    if (!loan) continue;
    std::unique_ptr<MadeSample> made = stash_->blank();
    if (!make_apart(worker, *loan, *made)) return Why::over;
    if (!hand_over(worker, {std::move(*loan), std::move(made)})) return Why::over;
  }
  return Why::not_needed;
}

bool WorkerPool::make_apart(Worker& worker, const Loan& loan, MadeSample& made) {
  try {
    const std::uint64_t began_ns = now_ns();
    worker.samples->make_apart(loan.epoch(), loan.index_in_epoch(), made);
    worker.spans->note(SpanKind::making, began_ns, now_ns(), 1);
    return true;
  } catch (...) {
    fail(std::current_exception());
    return false;
  }
}

/// Puts the sample into the stash, and returns once it may stay there, or is in the ring. A thread
/// that finds the first sample there with its turn delivers it. So no thread that waits here keeps
/// one that has its turn. False where the stream failed.
bool WorkerPool::hand_over(Worker& worker, Finished sample) {
  const std::uint64_t position = sample.loan.position();
  stash_->put(std::move(sample));
  for (;;) {
    const std::uint64_t seen = stash_->calls();
    if (!deliver_ready(worker)) return false;
    if (!stash_->is_full_with(position)) return true;
    const Wait wait(worker);
    stash_->wait(seen, look_at_stash_ms);
  }
}

bool WorkerPool::deliver_ready(Worker& worker) {
  while (auto first = stash_->take_ready()) {
    try {
      deliver(worker, *first);
    } catch (...) {
      fail(std::current_exception());
      return false;
    }
    stash_->recycle(std::move(first->made));
  }
  return true;
}

void WorkerPool::deliver(Worker& worker, Finished& sample) {
  worker.by_axis.clear();
  for (const std::uint64_t& rows : sample.made->rows()) worker.by_axis.emplace_back(&rows, 1);
  {
    const Wait wait(worker);
    if (!sample.loan.take_rows(worker.by_axis)) return;
  }
  stash_->call();  // the next sample has its turn
  copy(*sample.made, sample.loan);
  sample.loan.publish();
}

void WorkerPool::copy(const MadeSample& made, const Loan& loan) const {
  const Schema& schema = maker_.schema();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const auto to = schema[i].on_axis() ? loan.rows<std::byte>(0, i) : loan.field<std::byte>(i);
    const std::span<const std::byte> from = made.field(i);
    const std::size_t count = schema[i].on_axis() ? to.size() : 1;
    BATCHCAST_ASSERT(from.size() == count * schema[i].byte_count());
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }
  loan.sample_ids()[0] = made.sample_id;
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

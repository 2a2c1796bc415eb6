// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pipeline/read_ahead.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <batchcast/core/named_thread.hpp>
#include "core/cpu_time.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t depth_at_first = 2;
constexpr auto idle_at_most = std::chrono::seconds(2);

/// How often this thread gave its processor away to wait. Interruptions for another thread do not
/// count, so neither load nor reads that compute pass for slow ones.
long waits_so_far() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

}  // namespace

ReadAhead::ReadAhead(const Source& source, const Order& order, const ReadAheadOptions& options)
    : source_(source),
      order_(order),
      options_(options),
      depth_max_(4 * std::uint64_t{options.threads}),
      never_(options.threads == 0 || source.in_memory()),
      pid_(::getpid()) {
  if (never_) return;
  // There are as many slots after the foremost position as before it. So two positions that share a
  // slot are never both wanted.
  slots_.resize(2 * depth_max_);
  readers_.resize(options.threads);
}

ReadAhead::~ReadAhead() {
  if (is_forked()) {
    // The threads are the parent's. The condition variables were copied with their waiters: a
    // destructor would wait for them here.
    for (Reader& reader : readers_) {
      if (reader.thread.joinable()) reader.thread.detach();
    }
    std::construct_at(&mutex_);
    std::construct_at(&work_);
    std::construct_at(&done_);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  work_.notify_all();
  for (Reader& reader : readers_) {
    if (reader.thread.joinable()) reader.thread.join();
  }
}

bool ReadAhead::is_forked() const noexcept { return ::getpid() != pid_; }

void ReadAhead::take(std::uint64_t epoch, std::uint64_t index, std::uint64_t sample_id,
                     SampleParts& parts) {
  if (never_ || is_forked()) return source_.read(sample_id, parts);
  if (!slow_.load(std::memory_order_relaxed)) return read_here(sample_id, parts);
  const std::uint64_t position = epoch * order_.samples_per_epoch() + index;
  Lock lock(mutex_);
  move_to(position);
  Slot& slot = slot_of(position);
  if (!holds(slot, position) || slot.state == State::reading) look_further();
  call_readers();
  ++slot.waiters;
  done_.wait(lock, [&] { return !holds(slot, position) || slot.state != State::reading; });
  --slot.waiters;
  if (!holds(slot, position)) {
    lock.unlock();
    return read_here(sample_id, parts);
  }
  const std::exception_ptr failure = std::exchange(slot.failure, nullptr);
  if (!failure) std::swap(slot.parts, parts);
  drop(slot);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void ReadAhead::read_here(std::uint64_t sample_id, SampleParts& parts) {
  const bool suspected = read_ns_.load(std::memory_order_relaxed) > options_.slow_ns / 2;
  const long waits = suspected ? waits_so_far() : 0;
  const std::uint64_t began_ns = now_ns();
  source_.read(sample_id, parts);
  const std::uint64_t took_ns = now_ns() - began_ns;
  observe(suspected && waits_so_far() == waits ? 0 : took_ns);
}

void ReadAhead::observe(std::uint64_t waited_ns) noexcept {
  // Threads that overwrite each other's average lose one observation, and nothing else.
  const std::uint64_t before = read_ns_.load(std::memory_order_relaxed);
  const std::uint64_t after = before - before / 16 + std::min(waited_ns, 4 * options_.slow_ns) / 16;
  read_ns_.store(after, std::memory_order_relaxed);
  const bool was_slow = slow_.load(std::memory_order_relaxed);
  const bool is_slow = was_slow ? after > options_.slow_ns / 2 : after > options_.slow_ns;
  if (is_slow == was_slow) return;
  const std::lock_guard lock(mutex_);
  slow_.store(is_slow, std::memory_order_relaxed);
  foremost_ = next_ = 0;
  depth_ = depth_at_first;
  for (Slot& slot : slots_) {
    if (slot.state != State::reading && slot.waiters == 0) drop(slot);
  }
}

void ReadAhead::move_to(std::uint64_t position) {
  const bool jumped = position >= foremost_ + depth_max_ || position + depth_max_ < foremost_;
  if (jumped) {
    foremost_ = next_ = 0;
    depth_ = depth_at_first;
  }
  foremost_ = std::max(foremost_, position + 1);
  next_ = std::max(next_, foremost_);
}

void ReadAhead::look_further() { depth_ = std::min(2 * depth_, depth_max_); }

bool ReadAhead::can_claim() {
  return slow_.load(std::memory_order_relaxed) && !ends_ && foremost_ != 0 &&
         next_ < foremost_ + depth_ && slot_of(next_).state != State::reading &&
         slot_of(next_).waiters == 0 && has_room();
}

bool ReadAhead::has_room() {
  const auto fits = [this] { return bytes_ + (reading_ + 1) * large_bytes_ <= options_.bytes_max; };
  if (fits()) return true;
  for (Slot& slot : slots_) {
    const bool wanted = slot.position + depth_max_ >= foremost_ && slot.position < next_;
    const bool has_sample = slot.state == State::ready || slot.state == State::failed;
    if (slot.state != State::reading && slot.waiters == 0 && !(has_sample && wanted)) drop(slot);
  }
  return fits();
}

void ReadAhead::call_readers() {
  if (!can_claim()) return;
  if (idle_ != 0) {
    work_.notify_one();
  } else if (running_ < readers_.size()) {
    start_reader();
  }
}

void ReadAhead::start_reader() {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    Reader& reader = readers_[i];
    if (reader.thread.joinable() && !reader.ended) continue;
    if (reader.thread.joinable()) reader.thread.join();
    try {
      reader.thread = start_thread("bc-read", [this, i] { read_until_idle(i); });
    } catch (const SystemError&) {
      return;  // no more threads can start; the present ones, and the takers, read
    }
    reader.ended = false;
    ++running_;
    return;
  }
}

void ReadAhead::change_bytes(Slot& slot, std::size_t bytes) {
  bytes_ = bytes_ - slot.bytes + bytes;
  slot.bytes = bytes;
}

void ReadAhead::drop(Slot& slot) {
  slot.state = State::empty;
  slot.failure = nullptr;
  // Buffers are kept for the next sample while there is plenty of room.
  if (!slow_.load(std::memory_order_relaxed) || bytes_ > options_.bytes_max / 2) {
    slot.parts = SampleParts();
  }
  change_bytes(slot, slot.parts.buffer_bytes());
}

void ReadAhead::read_until_idle(std::size_t reader) {
  Lock lock(mutex_);
  for (;;) {
    while (can_claim()) read_claimed(lock);
    ++idle_;
    const bool called = work_.wait_for(lock, idle_at_most, [this] { return ends_ || can_claim(); });
    --idle_;
    if (ends_ || !called) break;
  }
  readers_[reader].ended = true;
  ended_cpu_ns_ += thread_cpu_ns();
  --running_;
}

std::uint64_t ReadAhead::cpu_ns() {
  if (is_forked()) return 0;
  const Lock lock(mutex_);
  std::uint64_t sum_ns = ended_cpu_ns_;
  for (Reader& reader : readers_) {
    if (reader.thread.joinable() && !reader.ended) sum_ns += cpu_ns_of(reader.thread);
  }
  return sum_ns;
}

void ReadAhead::read_claimed(Lock& lock) {
  const std::uint64_t position = next_++;
  Slot& slot = slot_of(position);
  slot.position = position;
  slot.state = State::reading;
  slot.failure = nullptr;
  ++reading_;
  call_readers();
  SampleParts parts = std::move(slot.parts);
  lock.unlock();
  std::exception_ptr failure;
  const std::uint64_t epoch = position / order_.samples_per_epoch();
  const long waits = waits_so_far();
  const std::uint64_t began_ns = now_ns();
  try {
    source_.read(order_.sample_id_at(epoch, position % order_.samples_per_epoch()), parts);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::uint64_t took_ns = now_ns() - began_ns;
  if (!failure) observe(waits_so_far() == waits ? 0 : took_ns);
  lock.lock();
  --reading_;
  slot.parts = std::move(parts);
  slot.failure = failure;
  slot.state = failure ? State::failed : State::ready;
  change_bytes(slot, slot.parts.buffer_bytes());
  large_bytes_ = std::max(slot.bytes, large_bytes_ - large_bytes_ / 16);
  if (slot.waiters != 0) {
    done_.notify_all();
  } else if (!slow_.load(std::memory_order_relaxed)) {
    drop(slot);
  }
}

unsigned ReadAhead::threads() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

std::size_t ReadAhead::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace batchcast::inline v0_1::detail

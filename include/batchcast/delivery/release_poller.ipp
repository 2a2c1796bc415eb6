// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/delivery/release_poller.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/named_thread.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace release_poller {

inline constexpr std::size_t tickets_at_first = 8;
inline constexpr std::size_t points_at_first = 2;

// A stream that works on small batches passes the next within this time.
inline constexpr std::uint64_t spin_ns = 20'000;
// A ticket that has waited long can wait a little longer: a sixteenth of it, within these bounds.
inline constexpr std::uint64_t sleep_ns_min = 20'000;
inline constexpr std::uint64_t sleep_ns_max = 500'000;
inline constexpr std::uint64_t share_of_quiet = 16;
// What is dropped as the process exits still takes its leave, unless its streams are this slow.
inline constexpr std::uint64_t at_exit_ns = 100'000'000;

inline void sleep_for(std::uint64_t ns) noexcept {
  const timespec time{0, static_cast<long>(ns)};
  ::nanosleep(&time, nullptr);
}

}  // namespace release_poller

// ---- tickets

BATCHCAST_INLINE Ticket::Ticket(TicketPool& home, std::shared_ptr<detail::cuda::Device> device)
    : home_(home), device_(std::move(device)) {}

BATCHCAST_INLINE void Ticket::make_events() {
  points_.resize(release_poller::points_at_first);
  for (Point& point : points_) point.event.emplace(device_);
}

BATCHCAST_INLINE void Ticket::begin(void* context, void (*done)(void* context) noexcept) noexcept {
  context_ = context;
  done_ = done;
  used_ = looked_at_ = 0;
}

BATCHCAST_INLINE void Ticket::add(void* stream) noexcept {
  if (used_ == points_.size()) points_.emplace_back();
  Point& point = points_[used_++];
  point.stream = stream;
  point.state = State::unmarked;
  mark(point);
}

/// Leaves it unmarked where a capture, or an error that is not the end of all, is in the way.
BATCHCAST_INLINE void Ticket::mark(Point& point) noexcept {
  detail::cuda::Reply reply{detail::cuda::Answer::captured, {}};
  if (!detail::cuda::is_capturing(*device_, point.stream)) {
    reply = record(point);
    if (reply.answer == detail::cuda::Answer::done) {
      point.state = State::marked;
      return;
    }
    // A stream of another context, such as a second GPU's, cannot record this one's events.
    if (reply.answer == detail::cuda::Answer::refused) {
      reply = detail::cuda::wait_for_stream(*device_, point.stream);
      if (reply.answer == detail::cuda::Answer::done) point.state = State::passed;
    }
    if (reply.answer == detail::cuda::Answer::lost) point.state = State::passed;
  }
  if (point.state == State::passed) return;
  // It is marked on another thread then. The legacy stream waits for all threads' own.
  if (detail::cuda::is_of_thread(point.stream)) point.stream = nullptr;
  home_.note(reply);
}

BATCHCAST_INLINE detail::cuda::Reply Ticket::record(Point& point) noexcept {
  try {
    if (!point.event) point.event.emplace(device_);
  } catch (const Error&) {
    return {detail::cuda::Answer::refused, {}};  // the wait then says why
  }
  return point.event->try_record(point.stream);
}

BATCHCAST_INLINE void Ticket::ask(Point& point) noexcept {
  const detail::cuda::Reply reply = point.event->ask();
  switch (reply.answer) {
    case detail::cuda::Answer::done:
    case detail::cuda::Answer::lost:
      point.state = State::passed;
      return;
    case detail::cuda::Answer::pending:
      return;
    case detail::cuda::Answer::captured:
      // A capture began before the event was recorded, which is a point of the graph now. A later
      // one of the stream's own takes its place.
      point.state = State::unmarked;
      if (detail::cuda::is_of_thread(point.stream)) point.stream = nullptr;
      break;
    case detail::cuda::Answer::refused:
      break;
  }
  home_.note(reply);
}

BATCHCAST_INLINE bool Ticket::passed() noexcept {
  for (; looked_at_ < used_; ++looked_at_) {
    Point& point = points_[looked_at_];
    if (point.state == State::unmarked) mark(point);
    if (point.state == State::marked) ask(point);
    if (point.state != State::passed) return false;
  }
  return true;
}

BATCHCAST_INLINE void Ticket::finish() noexcept {
  void* const context = context_;
  const auto done = done_;
  home_.put(*this);
  done(context);
}

BATCHCAST_INLINE TicketPool::TicketPool(std::shared_ptr<detail::cuda::Device> device,
                                        LogCallback log)
    : device_(std::move(device)), log_(std::move(log)) {
  for (std::size_t i = 0; i < release_poller::tickets_at_first; ++i) {
    tickets_.push_back(std::make_unique<Ticket>(*this, device_));
    tickets_.back()->make_events();
    idle_.push_back(tickets_.back().get());
  }
}

BATCHCAST_INLINE Ticket& TicketPool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    // Events come with the streams. Where the GPU gives none any more, this thread must not throw.
    tickets_.push_back(std::make_unique<Ticket>(*this, device_));
    idle_.reserve(tickets_.size());  // so that putting one back cannot throw
    return *tickets_.back();
  }
  Ticket& ticket = *idle_.back();
  idle_.pop_back();
  return ticket;
}

BATCHCAST_INLINE void TicketPool::put(Ticket& ticket) noexcept {
  const std::lock_guard lock(mutex_);
  idle_.push_back(&ticket);
}

BATCHCAST_INLINE void TicketPool::note(const detail::cuda::Reply& reply) noexcept {
  const bool capture = reply.answer == detail::cuda::Answer::captured;
  if ((capture ? noted_capture_ : noted_refusal_).exchange(true)) return;
  try {
    report(
        log_, LogLevel::warning,
        capture
            ? "a batch was dropped while a CUDA graph was captured on a stream that reads it. "
              "Its samples are kept until the capture has ended and the stream has come "
              "further. Copy batches to the graph's static input outside of the capture."
            : text("{} does not say whether a stream has read a batch: {}. Its samples are kept. "
                   "A stream has to exist until it has passed the batches that it reads.",
                   detail::cuda::name_of(device_->info()),
                   detail::cuda::reason_of(*device_, reply)));
  } catch (const std::exception&) {
    // There is no memory left for words.
  }
}

// ---- the thread

BATCHCAST_INLINE ReleasePoller& ReleasePoller::of_process() {
  static ReleasePoller* const poller = new ReleasePoller;
  // It is made after the driver's statics, so that it goes before them.
  static const struct Stop {
    ReleasePoller& poller;
    ~Stop() { poller.stop(); }
  } stop{*poller};
  return *poller;
}

BATCHCAST_INLINE ReleasePoller::ReleasePoller()
    : thread_(start_thread("bc-release", [this] { run(); })) {}

BATCHCAST_INLINE void ReleasePoller::stop() noexcept {
  if (guard_.in_child()) return;  // the thread is the parent's
  {
    const std::lock_guard lock(mutex_);
    give_up_ns_ = now_ns() + release_poller::at_exit_ns;
    stopped_ = true;
  }
  submitted_.notify_one();
  thread_.join();
  stop_endings();
}

BATCHCAST_INLINE void ReleasePoller::end_apart(void* context,
                                               void (*end)(void* context) noexcept) noexcept {
  if (std::this_thread::get_id() != polling_.load(std::memory_order_relaxed)) return end(context);
  try {
    if (!endings_thread_.joinable()) {
      endings_thread_ = start_thread("bc-end", [this] { run_endings(); });
    }
    const std::lock_guard lock(endings_mutex_);
    endings_.push_back({context, end});
  } catch (const std::exception&) {
    return end(context);  // no thread, or no memory: later is better than never
  }
  endings_changed_.notify_all();
}

BATCHCAST_INLINE void ReleasePoller::run_endings() noexcept {
  std::unique_lock lock(endings_mutex_);
  for (;;) {
    endings_changed_.wait(lock, [this] { return !endings_.empty() || endings_stop_; });
    if (endings_stop_) return;
    const Ending ending = endings_.front();
    lock.unlock();
    ending.end(ending.context);
    lock.lock();
    endings_.erase(endings_.begin());
    endings_changed_.notify_all();
  }
}

/// Called once the polling thread has ended. It does not wait for an ending that waits for the
/// driver.
BATCHCAST_INLINE void ReleasePoller::stop_endings() noexcept {
  if (!endings_thread_.joinable()) return;
  std::unique_lock lock(endings_mutex_);
  const bool done =
      endings_changed_.wait_for(lock, std::chrono::nanoseconds(release_poller::at_exit_ns),
                                [this] { return endings_.empty(); });
  endings_stop_ = true;
  lock.unlock();
  endings_changed_.notify_all();
  done ? endings_thread_.join() : endings_thread_.detach();
}

BATCHCAST_INLINE void ReleasePoller::submit(Ticket& ticket) noexcept {
  ticket.next_ = nullptr;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = first_submitted_ == nullptr;
    *last_submitted_ = &ticket;
    last_submitted_ = &ticket.next_;
  }
  if (first) submitted_.notify_one();
}

BATCHCAST_INLINE void ReleasePoller::run() noexcept {
  polling_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  ::prctl(PR_SET_TIMERSLACK, 1'000UL);  // else each short sleep lasts 50 µs longer
  std::uint64_t changed_ns = 0;
  for (;;) {
    const bool stopped = stopped_.load();  // before what was submitted until then is taken
    const bool more = take_submitted();
    const bool passed = look();
    const std::uint64_t now = now_ns();
    if (stopped && (first_pending_ == nullptr || now >= give_up_ns_)) return;
    if (more || passed) changed_ns = now;
    const std::uint64_t quiet_ns = now - changed_ns;
    if (first_pending_ == nullptr) continue;
    if (quiet_ns < release_poller::spin_ns) {
      std::this_thread::yield();
      continue;
    }
    release_poller::sleep_for(std::clamp(quiet_ns / release_poller::share_of_quiet,
                                         release_poller::sleep_ns_min,
                                         release_poller::sleep_ns_max));
  }
}

/// Sleeps until there is something, unless something is pending.
BATCHCAST_INLINE bool ReleasePoller::take_submitted() noexcept {
  std::unique_lock lock(mutex_);
  if (first_pending_ == nullptr) {
    submitted_.wait(lock, [this] { return first_submitted_ != nullptr || stopped_; });
  }
  if (first_submitted_ == nullptr) return false;
  *last_pending_ = std::exchange(first_submitted_, nullptr);
  last_pending_ = std::exchange(last_submitted_, &first_submitted_);
  return true;
}

BATCHCAST_INLINE bool ReleasePoller::look() noexcept {
  bool any = false;
  for (Ticket** at = &first_pending_; *at != nullptr;) {
    Ticket& ticket = **at;
    if (!ticket.passed()) {
      at = &ticket.next_;
      continue;
    }
    any = true;
    *at = ticket.next_;
    if (*at == nullptr) last_pending_ = at;
    ticket.finish();
  }
  return any;
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror_thread.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>

#include <sys/prctl.h>
#include <time.h>

#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// While copies are on their way the thread looks this long without a break, and then this often. So
// what has arrived is published soon, and a long copy costs little.
constexpr std::uint64_t look_without_break_ns = 20'000;
constexpr long look_every_ns = 10'000;
// A wait for space in the device ring looks at its orders this often.
constexpr int wait_for_space_ms = 20;

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

MirrorThread::MirrorThread(const Parts& parts)
    : device_(parts.device),
      place_(parts.place),
      writer_(parts.writer),
      pins_(parts.pins),
      log_(parts.log),
      copier_(parts.copier),
      seat_(parts.seat),
      source_(parts.source),
      orders_(parts.orders),
      thread_(start_thread("bc-mirror", [this] { run(); })) {}

MirrorThread::~MirrorThread() {
  {
    const std::lock_guard lock(orders_.mutex);
    orders_.ending = true;
  }
  source_.ring();
  thread_.join();
}

void MirrorThread::run() noexcept {
  // Otherwise each short sleep would take the kernel's usual 50 microseconds longer.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  try {
    const detail::cuda::Device::Current current(*device_);
    pins_->pin(device_, copier_.copied_from(), log_);
    while (work()) {
    }
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("its device stage threw what is no std::exception");
  }
}

bool MirrorThread::work() {
  publish_arrived();
  const Orders orders = take_orders();
  if (source_.revoked()) throw Error("it was evicted from the host ring");
  if (orders.state == State::resting) return rest(orders.end);
  bool goes_on = true;
  if (orders.rest) {
    if (copier_.in_flight() == 0) {
      lie_down();
      return true;
    }
  } else if (copier_.has_room() && copy_more(orders, goes_on)) {
    return goes_on;
  }
  look_again_soon();
  return true;
}

MirrorThread::Orders MirrorThread::take_orders() {
  const std::lock_guard lock(orders_.mutex);
  if (orders_.start) source_.start(*std::exchange(orders_.start, std::nullopt));
  return {orders_.state, orders_.rest_wanted, orders_.ending};
}

void MirrorThread::publish_arrived() {
  while (copier_.in_flight() > 0 && copier_.oldest_arrived()) {
    const MirrorCopier::Piece piece = copier_.pop_oldest();
    if (source_.revoked()) throw Error("it was evicted from the host ring");
    writer_.publish(piece.ticket, piece.receipt);
    source_.give_back_oldest();
    progress_ns_ = now_ns();
  }
}

/// False: all that is left is to wait for what is in flight.
bool MirrorThread::copy_more(const Orders& orders, bool& goes_on) {
  const bool idle = copier_.in_flight() == 0;
  const auto polled = source_.poll(copier_.samples_max(source_.position()));
  switch (polled.found) {
    case MirrorSource::Found::samples:
      return copy_piece(polled.samples, orders.end, goes_on);
    case MirrorSource::Found::end_of_epoch:
      if (!idle) return false;  // the writer ends an epoch once all its samples are published
      writer_.end_epoch();
      source_.next_epoch();
      return true;
    case MirrorSource::Found::end_of_stream:
      if (!idle) return false;
      end_ring(true);
      goes_on = false;
      return true;
    case MirrorSource::Found::nothing:
      break;
  }
  if (!idle) return false;
  if (orders.end) {
    end_ring(false);
    goes_on = false;
  } else {
    source_.wait();
  }
  return true;
}

bool MirrorThread::copy_piece(std::uint64_t samples, bool ending, bool& goes_on) {
  const bool idle = copier_.in_flight() == 0;
  Ticket ticket;
  switch (writer_.claim(samples, idle && !ending ? wait_for_space_ms : 0, ticket)) {
    case Claim::granted:
      BATCHCAST_ASSERT(ticket.position == source_.position());
      copier_.enqueue(ticket);
      source_.take(ticket.size);
      progress_ns_ = now_ns();
      return true;
    case Claim::timed_out:
      if (!idle || !ending) return idle;
      end_ring(false);
      break;
    case Claim::ended:  // the device ring alone was ended
      if (!idle) return false;
      leave();
      break;
  }
  goes_on = false;
  return true;
}

void MirrorThread::look_again_soon() const {
  if (now_ns() - progress_ns_ < look_without_break_ns) {
    relax();
  } else {
    const timespec pause{0, look_every_ns};
    ::nanosleep(&pause, nullptr);
  }
}

void MirrorThread::lie_down() {
  const std::lock_guard lock(orders_.mutex);
  if (!std::exchange(orders_.rest_wanted, false)) return;  // a trainer came meanwhile
  seat_.rest();
  orders_.set_state(State::resting);
}

bool MirrorThread::rest(bool ending) {
  const StreamState state = source_.see_state();
  if (state == StreamState::finished) {
    // A trainer between its loops sees the stream finished, wherever the mirror was.
    if (!skip_to_end()) return true;
    end_ring(true);
    return false;
  }
  if (ending || state == StreamState::stopped || state == StreamState::failed) {
    end_ring(false);
    return false;
  }
  source_.rest();
  return true;
}

/// False if a trainer came meanwhile.
bool MirrorThread::skip_to_end() {
  const MirrorStart end = source_.end();
  const std::lock_guard lock(orders_.mutex);
  if (orders_.state != State::resting) return false;
  if (end.position >= writer_.status().published) {
    writer_.restart_at(end.position, end.epoch, end.epoch_start);
  }
  return true;
}

/// Ends it as the host ring's stream ended. `complete`: the device ring has everything.
void MirrorThread::end_ring(bool complete) {
  const StreamState state = source_.see_state();
  if (state == StreamState::failed) {
    writer_.fail(source_.state_text());
  } else if (state == StreamState::stopped) {
    writer_.stop(source_.state_text());
  } else if (!complete || !finish()) {
    writer_.stop("its producer ended");
  }
  leave();
}

/// False for a ring that began at a position to come, in an epoch that never came.
bool MirrorThread::finish() {
  try {
    writer_.finish();
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

void MirrorThread::fail(const std::string& what) noexcept {
  const std::string failure = text("the mirror on {} failed: {}", place_, what);
  log(LogLevel::error, text("{}. Consumers in host memory go on.", failure));
  writer_.fail(failure);
  copier_.give_up();  // before the producer may write where copies read
  leave();
}

void MirrorThread::leave() noexcept {
  seat_.leave();
  const std::lock_guard lock(orders_.mutex);
  orders_.set_state(State::over);
}

void MirrorThread::log(LogLevel level, const std::string& text) const {
  if (log_) log_(level, text);
}

}  // namespace batchcast::inline v0_1::detail

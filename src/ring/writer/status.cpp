// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/writer.hpp"

#include <batchcast/core/clock.hpp>

#include <utility>

// Who holds the stream up, and what is told of everybody.
namespace batchcast::inline v0_1 {
namespace {

// Of the stall time-out: from then on a list says so of a consumer that holds the stream up. The
// report comes when all of it is over.
constexpr std::uint64_t shown_as_stalled_share = 12;

}  // namespace

void RingWriter::set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) noexcept {
  Lock lock(mutex_);
  options_.stall_timeout_ms = timeout_ms;
  options_.on_stall = on_stall;
}

std::size_t RingWriter::slowest_to_name() const {
  std::size_t slowest = none;
  std::uint64_t lowest = limits::position_max;
  for (std::size_t i = 0; i < attached_.size(); ++i) {
    const Attached& one = attached_[i];
    if (one.paused || one.mirrors || one.pace != Pace::lockstep) continue;
    const auto position = position_of(one);
    if (position && *position < lowest) lowest = *position, slowest = i;
  }
  return slowest;
}

void RingWriter::look_for_stall() {
  refresh_limit();
  // Whom a mirror waits for, its own ring says.
  const std::size_t slowest = slowest_to_name();
  const bool fills_ring =
      slowest != none && saturating_add(attached_[slowest].floor, capacity_) <= next_;
  // Of several, one that stands behind keeps no other from the samples that are made already.
  const bool alone_at_bound = slowest != none && far_ahead_ && next_ >= limit_ && trainers() == 1;
  if (over() || !(fills_ring || alone_at_bound)) {
    stall_ = {};
    return;
  }
  const Attached& consumer = attached_[slowest];
  const std::uint64_t now = now_ns();
  const std::uint64_t stands = fills_ring ? consumer.floor : ordered::get(consumer.desk->cursor);
  if (stall_.consumer_id != consumer.consumer_id || stall_.stands != stands) {
    stall_ = {consumer.consumer_id, stands, now, now};
    return;
  }
  if (now - stall_.reported_ns < options_.stall_timeout_ms * 1'000'000) return;
  stall_.reported_ns = now;
  const auto stalled_s = static_cast<std::uint64_t>(seconds_from_ns(now - stall_.since_ns));
  const Desk& desk = *consumer.desk;
  std::string text = "consumer `" + consumer.name + "` (pid " + std::to_string(consumer.pid) +
                     ") has held the stream up for " + std::to_string(stalled_s) + " s: it ";
  if (ordered::get(desk.leases_held) != 0) {
    const std::uint64_t since = ordered::get(desk.oldest_lease_since_ns);
    text +=
        "holds a batch from position " + std::to_string(consumer.floor) + " since " +
        std::to_string(static_cast<std::uint64_t>(seconds_from_ns(now > since ? now - since : 0))) +
        " s";
  } else {
    text += "does not ask for its next batch, at position " + std::to_string(consumer.floor);
  }
  if (options_.on_stall == OnStall::evict) {
    log(LogLevel::warning, text + ". It is evicted.");
    evict_at(slowest, text);
  } else {
    log(LogLevel::warning, text + ". `batchcast evict` lets the others go on without it.");
  }
}

std::uint64_t RingWriter::samples_published() const {
  Lock lock(mutex_);
  return published_ - options_.start - left_out_;
}

WriterStatus RingWriter::status() const {
  WriterStatus status;
  Lock lock(mutex_);
  const BoardProgress& board = static_cast<const BoardView&>(board_).progress();
  status.state = ordered::load_state(board);
  // Nobody waits any more for those who still drain.
  if (drain_cancelled_ && status.state == StreamState::draining) {
    status.state = StreamState::stopped;
  }
  status.published = published_;
  status.claimed = claimed_;
  status.epoch = ledger_.epoch_of(published_);
  status.late_wakeups = ordered::get(board.late_wakeups);
  status.space_waits = ordered::get(board.space_waits);
  status.space_wait_ns = ordered::get(board.space_wait_ns);
  if (claimer_waits_ && next_ >= limit_) {
    status.waits_for = far_ahead_ ? WaitsFor::demand : WaitsFor::space;
  }
  const std::uint64_t now = now_ns();
  const std::uint64_t shown_after_ns =
      options_.stall_timeout_ms * 1'000'000 / shown_as_stalled_share;
  for (const Attached& consumer : attached_) {
    const Desk& desk = *consumer.desk;
    ConsumerStatus row;
    row.name = consumer.name;
    row.index = consumer.index;
    row.consumer_id = consumer.consumer_id;
    row.pid = consumer.pid;
    row.batch_size = ordered::get(desk.batch_size);
    row.pace = consumer.pace;
    // Who observes stands nowhere, and is behind nobody. Where one that is paused stands is
    // settled: what its desk says now was not looked at, and others are placed by it.
    row.position = consumer.observes ? published_
                   : consumer.paused ? consumer.floor
                                     : ordered::load_released(desk);
    row.lag = saturating_sub(published_, row.position);
    row.samples = ordered::get(desk.samples);
    row.wait_ns = ordered::get(desk.wait_ns);
    row.leases_held = ordered::get(desk.leases_held);
    const bool stalled = stall_.consumer_id == consumer.consumer_id &&
                         (stall_.reported_ns != stall_.since_ns ||
                          saturating_sub(now, stall_.since_ns) >= shown_after_ns);
    row.mirrors = consumer.mirrors;
    row.fresh = consumer.fresh;
    row.state = consumer.observes                     ? ConsumerState::observing
                : consumer.mirrors && consumer.paused ? ConsumerState::resting
                : consumer.paused                     ? ConsumerState::paused
                : ordered::load_skipping(desk) != 0   ? ConsumerState::skipping
                : stalled                             ? ConsumerState::stalled
                                                      : ConsumerState::running;
    status.consumers.push_back(std::move(row));
  }
  return status;
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/status.hpp"

#include "ring/writer/stall_watch.hpp"
#include "ring/writer/writer_state.hpp"

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

std::uint64_t position_shown(const ConsumerRecord& consumer, std::uint64_t published) noexcept {
  if (consumer.observes) return published;  // it has no place, and so no lag
  // A paused consumer's position is settled, and others are placed by it. What its desk says now
  // was not validated.
  if (consumer.paused) return consumer.released_min;
  return ordered::load_released(*consumer.desk);
}

ConsumerState state_shown(const ConsumerRecord& consumer, const StallWatch& stalls) noexcept {
  if (consumer.observes) return ConsumerState::observing;
  if (consumer.paused) return consumer.mirrors ? ConsumerState::resting : ConsumerState::paused;
  if (ordered::load_skipping(*consumer.desk) != 0) return ConsumerState::skipping;
  return stalls.shows(consumer) ? ConsumerState::stalled : ConsumerState::running;
}

ConsumerStatus row_of(const ConsumerRecord& consumer, std::uint64_t published,
                      const StallWatch& stalls) {
  const Desk& desk = *consumer.desk;
  ConsumerStatus row;
  row.name = consumer.name;
  row.index = consumer.index;
  row.consumer_id = consumer.consumer_id;
  row.pid = consumer.pid;
  row.batch_size = ordered::get(desk.batch_size);
  row.pace = consumer.pace;
  row.mirrors = consumer.mirrors;
  row.fresh = consumer.fresh;
  row.state = state_shown(consumer, stalls);
  row.position = position_shown(consumer, published);
  row.lag = saturating_sub(published, row.position);
  row.samples = ordered::get(desk.samples);
  row.wait_ns = ordered::get(desk.wait_ns);
  row.waited_for_ns = consumer.waited_for_ns;
  row.leases_held = ordered::get(desk.leases_held);
  row.group = consumer.group;
  return row;
}

/// The lowest position that the ring holds for a consumer. Without one it is the oldest.
std::uint64_t lowest_held(const WriterState& state) {
  const std::uint64_t published = state.tickets.published();
  const std::uint64_t oldest = std::min(state.tickets.oldest_held(), published);
  std::uint64_t lowest = published;
  bool any = false;
  for (const ConsumerRecord& consumer : state.consumers.records()) {
    if (consumer.paused || consumer.pace == Pace::free) continue;
    any = true;
    lowest = std::min(lowest, position_shown(consumer, published));
  }
  return any ? std::max(lowest, oldest) : oldest;
}

void add_use(const WriterState& state, WriterStatus& status) {
  const std::uint64_t lowest = lowest_held(state);
  status.used = status.published - lowest;
  for (std::size_t axis = 0; axis < state.rows.size(); ++axis) {
    const BoardView& board = state.board;
    const std::uint64_t first = state.rows.first_row(axis, lowest);
    status.axes.push_back({board.axis(axis).name.data(), state.rows.arena(axis),
                           saturating_sub(state.rows.next_row(axis), first)});
  }
}

}  // namespace

WriterStatus status_of(const WriterState& state, const StallWatch& stalls) {
  WriterStatus status;
  const BoardView& board = state.board;
  status.state = state.outcome.state();
  status.published = state.tickets.published();
  status.claimed = state.tickets.claimed();
  status.samples_published = state.tickets.samples_published();
  status.run_start = state.tickets.run_start();
  status.read_to = state.attendance.read_to();
  status.unread_before_jump = state.attendance.unread_before_jump();
  status.epoch = state.ledger.epoch_of(status.published);
  status.late_wakeups = ordered::get(board.progress().late_wakeups);
  status.space_waits = ordered::get(board.progress().space_waits);
  status.space_wait_ns = ordered::get(board.progress().space_wait_ns);
  if (status.state == StreamState::starting) status.consumers_to_come = state.attendance.to_come();
  if (status.consumers_to_come != 0) {
    status.waits_for = WaitsFor::consumers;
  } else if (state.wake.claimer_sleeps() && !state.gate.is_open()) {
    status.waits_for = state.gate.is_limited_by_demand() ? WaitsFor::demand : WaitsFor::space;
  } else if (state.wake.waits_for_rows()) {
    status.waits_for = state.gate.slowest() != nullptr ? WaitsFor::space : WaitsFor::demand;
  }
  status.delivered = state.consumers.delivered();
  add_use(state, status);
  for (const ConsumerRecord& consumer : state.consumers.records()) {
    status.consumers.push_back(row_of(consumer, status.published, stalls));
  }
  return status;
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/statistics.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/process_state.hpp>

#include <algorithm>

namespace batchcast::inline v0_1::detail {
namespace {

/// A consumer that would run if the kernel had not stopped its process is shown as stopped.
ConsumerState state_of(const ConsumerStatus& row) {
  const bool goes_on = row.state == ConsumerState::running ||
                       row.state == ConsumerState::skipping || row.state == ConsumerState::stalled;
  return goes_on && is_stopped(row.pid) ? ConsumerState::stopped : row.state;
}

/// host, cuda:0, or a head's name.
std::string place_of(const ServedRing& ring) {
  return ring.placement().is_host() ? ring.id() : ring.placement().text();
}

ConsumerInfo info_of(const ConsumerStatus& row, const std::string& place) {
  ConsumerInfo info;
  info.id = row.consumer_id;
  info.name = row.name;
  info.placement = place;
  info.pid = row.pid;
  info.batch_size = row.batch_size;
  info.pace = row.pace;
  info.state = state_of(row);
  info.position = row.position;
  info.lag = row.lag;
  info.samples = row.samples;
  info.wait_seconds = seconds_from_ns(row.wait_ns);
  info.waited_for_seconds = seconds_from_ns(row.waited_for_ns);
  info.group = row.group;
  return info;
}

RingInfo info_of(ServedRing& ring, const WriterStatus& status) {
  RingInfo info;
  info.placement = place_of(ring);
  info.id = ring.id();
  info.capacity = ring.capacity();
  info.memory = ring.memory();
  info.published = status.published;
  info.state = status.state;
  info.rests = !has_ended(status.state) && ring.rests();
  info.used = status.used;
  for (const AxisStatus& axis : status.axes) info.axes.push_back({axis.name, axis.rows, axis.used});
  return info;
}

/// The host ring may have drained while a trainer still reads another ring.
bool is_read(ServedRing& ring, StreamState state) {
  const bool ended = has_ended(state) && state != StreamState::draining;
  return !ended && ring.writer().trainers_here() != 0;
}

/// The host's state, where another ring of the stream has not ended.
StreamState state_while_read(bool stopped) noexcept {
  return stopped ? StreamState::stopped : StreamState::draining;
}

}  // namespace

StreamState state_of(const ServedRings& rings, bool stopped) {
  const StreamState state = rings.host().writer().state();
  if (state != StreamState::finished) return state;
  for (ServedRing* const ring : rings.all()) {
    if (ring != &rings.host() && is_read(*ring, ring->writer().state())) {
      return state_while_read(stopped);
    }
  }
  return state;
}

ProducerStats statistics_of(const ServedRings& rings, double samples_per_second, bool stopped) {
  ProducerStats stats;
  std::uint64_t read_to = 0;
  std::uint64_t run_start = 0;
  std::uint64_t unread_before_jump = 0;
  stats.samples_per_second = samples_per_second;
  const bool has_heads = !rings.heads().list().empty();
  const Heads::Totals closed = rings.heads().of_closed();
  stats.delivered = closed.delivered;
  for (ServedRing* const ring : rings.all()) {
    const WriterStatus status = ring->writer().status();
    if (ring == &rings.host()) {
      stats.state = status.state;
      stats.epoch = status.epoch;
      stats.published = status.published;
      stats.samples = rings.samples_published();
      stats.late_wakeups = status.late_wakeups;
      stats.space_waits = status.space_waits;
      stats.space_wait_seconds = seconds_from_ns(status.space_wait_ns);
      stats.waits_for = status.waits_for;
      stats.consumers_to_come = status.consumers_to_come;
      run_start = status.run_start;
      unread_before_jump = status.unread_before_jump;
    } else if (stats.state == StreamState::finished && is_read(*ring, status.state)) {
      stats.state = state_while_read(stopped);
    }
    read_to = std::max(read_to, status.read_to);
    stats.delivered += status.delivered;
    RingInfo& info = stats.rings.emplace_back(info_of(*ring, status));
    info.trainers = ring->writer().trainers_here();
    if (has_heads && ring->placement().is_host()) info.work_share = rings.heads().share(*ring);
    for (const ConsumerStatus& row : status.consumers) {
      if (!row.mirrors) stats.consumers.push_back(info_of(row, place_of(*ring)));
    }
  }
  // Samples left out by the jump are the last ones only if no trainer received any after it.
  stats.unread = read_to > run_start ? stats.published - std::min(read_to, stats.published)
                                     : stats.published - run_start + unread_before_jump;
  return stats;
}

}  // namespace batchcast::inline v0_1::detail

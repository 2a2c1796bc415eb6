// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/core.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/process_state.hpp>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cmath>

// What `batchcast ls`, `top`, `evict` and `stop` ask: docs/protocol.md lists the commands.
namespace batchcast::inline v0_1::detail {
namespace {

using nlohmann::json;

std::string_view text_of(StreamState state) noexcept {
  switch (state) {
    case StreamState::starting:
      return "starting";
    case StreamState::running:
      return "running";
    case StreamState::draining:
      return "draining";
    case StreamState::finished:
      return "finished";
    case StreamState::stopped:
      return "stopped";
    case StreamState::failed:
      return "failed";
  }
  return "?";
}

json consumer_json(const ConsumerInfo& consumer) {
  return {{"name", consumer.name},
          {"placement", consumer.placement},
          {"pid", consumer.pid},
          {"batch_size", consumer.batch_size},
          {"pace", std::string(name_of(consumer.pace))},
          {"lag", consumer.lag},
          {"state", consumer.state},
          {"position", consumer.position},
          {"samples", consumer.samples},
          {"wait_seconds", consumer.wait_seconds}};
}

json ring_json(const RingInfo& ring) {
  return {{"placement", ring.placement}, {"id", ring.id},
          {"capacity", ring.capacity},   {"memory", ring.memory},
          {"published", ring.published}, {"state", ring.state}};
}

RingInfo ring_info_of(ServedRing& ring) {
  const WriterStatus status = ring.writer().status();
  const bool goes_on =
      status.state == StreamState::starting || status.state == StreamState::running;
  return {ring.placement().text(),
          ring.id(),
          ring.capacity(),
          ring.memory(),
          status.published,
          std::string(goes_on && !ring.writer().has_demand() ? "resting" : text_of(status.state))};
}

/// As the kernel knows it of a process that would go on if it could.
std::string state_of(const ConsumerStatus& row) {
  const bool gates = row.state == "running" || row.state == "skipping" || row.state == "stalled";
  return gates && is_stopped(row.pid) ? "stopped" : row.state;
}

/// The host ring may have drained while somebody still reads another.
bool is_read(ServedRing& ring) {
  const StreamState state = ring.writer().status().state;
  const bool ended = state == StreamState::finished || state == StreamState::stopped ||
                     state == StreamState::failed;
  return !ended && ring.writer().trainers_here() != 0;
}

std::string string_of(const json& command, const char* key, const std::string& otherwise) {
  const auto found = command.find(key);
  if (found == command.end()) return otherwise;
  if (!found->is_string()) throw InvalidArgument(std::string("`") + key + "` must be a string");
  return found->get<std::string>();
}

std::uint64_t stall_timeout_in(const json& command, std::uint64_t otherwise_ms) {
  const auto found = command.find("stall_timeout_s");
  if (found == command.end()) return otherwise_ms;
  const double milliseconds = found->is_number() ? found->get<double>() * 1000 : 0;
  constexpr auto most = static_cast<double>(limits::stall_timeout_ms_max);
  if (!(milliseconds > 0 && milliseconds <= most)) {
    throw InvalidArgument("`stall_timeout_s` must be a number above 0, and at most " +
                          std::to_string(limits::stall_timeout_ms_max / 1000));
  }
  return static_cast<std::uint64_t>(std::ceil(milliseconds));
}

/// Consumers and terminals are shown it.
std::string reason_in(const json& command, const std::string& otherwise) {
  return printable(string_of(command, "reason", otherwise));
}

}  // namespace

ProducerStats ProducerCore::stats() const {
  const WriterStatus status = writer_->status();
  ProducerStats stats;
  stats.state = text_of(status.state);
  stats.epoch = status.epoch;
  stats.published = status.published;
  stats.late_wakeups = status.late_wakeups;
  stats.space_waits = status.space_waits;
  stats.space_wait_seconds = seconds_from_ns(status.space_wait_ns);
  stats.samples_per_second = samples_per_second_.load(std::memory_order_relaxed);
  stats.waits_for = status.waits_for;
  stats.rings.push_back({Placement().text(), Placement().text(), plan_.capacity,
                         plan_.total_bytes(), status.published, stats.state});
  for (const auto& ring : further_) {
    stats.rings.push_back(ring_info_of(*ring));
    if (status.state == StreamState::finished && is_read(*ring)) {
      stats.state = text_of(stopped_.load() ? StreamState::stopped : StreamState::draining);
    }
  }
  static_cast<void>(visit_consumers([&](ServedRing* ring, const ConsumerStatus& row) {
    const Placement placement = ring != nullptr ? ring->placement() : Placement();
    const std::string state = state_of(row);
    stats.consumers.push_back({row.name, placement.text(), row.pid, row.batch_size, row.pace, state,
                               row.position, row.lag, row.samples, seconds_from_ns(row.wait_ns)});
    return false;
  }));
  return stats;
}

std::string ProducerCore::statistics() const {
  const ProducerStats now = stats();
  json consumers = json::array();
  for (const ConsumerInfo& consumer : now.consumers) consumers.push_back(consumer_json(consumer));
  json rings = json::array();
  for (const RingInfo& ring : now.rings) rings.push_back(ring_json(ring));
  std::uint64_t position = now.published;  // where the slowest is
  for (const ConsumerInfo& consumer : now.consumers) {
    const bool stands = consumer.state != "paused" && consumer.state != "observing";
    if (stands) position = std::min(position, consumer.position);
  }
  return json{{"event", "statistics"},
              {"stream", options_.stream},
              {"pid", ::getpid()},
              {"state", now.state},
              {"epoch", now.epoch},
              {"position", position},
              {"published", now.published},
              {"samples_per_second", now.samples_per_second},
              {"capacity", plan_.capacity},
              {"memory", plan_.total_bytes()},
              {"samples_per_epoch", options_.samples_per_epoch},
              {"placement", "host"},
              {"late_wakeups", now.late_wakeups},
              {"space_wait_seconds", now.space_wait_seconds},
              {"waits_for", std::string(name_of(now.waits_for))},
              {"rings", std::move(rings)},
              {"consumers", std::move(consumers)}}
      .dump();
}

std::string ProducerCore::set(std::string_view text) {
  const json command = json::parse(text, nullptr, false);
  const std::string on_stall =
      string_of(command, "on_stall", std::string(name_of(options_.on_stall)));
  if (on_stall != "report" && on_stall != "evict") {
    throw InvalidArgument("`on_stall` is `report` or `evict`");
  }
  const std::uint64_t timeout_ms = stall_timeout_in(command, options_.stall_timeout_ms);
  const OnStall what = on_stall == "evict" ? OnStall::evict : OnStall::report;
  writer_->set_stall_policy(timeout_ms, what);
  for (const auto& ring : further_) ring->writer().set_stall_policy(timeout_ms, what);
  return json{{"ok", true}}.dump();
}

std::string ProducerCore::answer(std::string_view text) {
  const json command = json::parse(text, nullptr, false);
  if (!command.is_object()) throw InvalidArgument("a command is a JSON object");
  const std::string name = string_of(command, "command", "");
  if (name == "stats" || name == "list") return statistics();
  if (name == "evict") {
    const std::string consumer = string_of(command, "consumer", "");
    const std::string reason = reason_in(command, "it was evicted on request");
    if (!evict(consumer, reason)) {
      std::string known;
      static_cast<void>(visit_consumers([&](ServedRing*, const ConsumerStatus& row) {
        known += (known.empty() ? "" : ", ") + row.name;
        return false;
      }));
      throw InvalidArgument("stream `" + options_.stream + "` has no consumer `" +
                            printable(consumer) + "`; it has " + (known.empty() ? "none" : known));
    }
    return json{{"ok", true}, {"evicted", consumer}}.dump();
  }
  if (name == "stop") {
    stop(reason_in(command, "it was stopped on request"));
    over_.store(true, std::memory_order_relaxed);
    return json{{"ok", true}}.dump();
  }
  if (name == "set") return set(text);
  throw InvalidArgument("no command `" + printable(name) +
                        "`; there are stats, list, evict, set, stop");
}

}  // namespace batchcast::inline v0_1::detail

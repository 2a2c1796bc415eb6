// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/commands.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include "producer/producer_core.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

using nlohmann::json;

json consumer_json(const ConsumerInfo& consumer) {
  json row = {{"name", consumer.name},
              {"placement", consumer.placement},
              {"pid", consumer.pid},
              {"batch_size", consumer.batch_size},
              {"pace", std::string(name_of(consumer.pace))},
              {"lag", consumer.lag},
              {"state", std::string(name_of(consumer.state))},
              {"position", consumer.position},
              {"samples", consumer.samples},
              {"wait_seconds", consumer.wait_seconds}};
  if (consumer.group.world != 0) {
    row["group"] = consumer.group.name;
    row["rank"] = consumer.group.rank;
    row["world"] = consumer.group.world;
  }
  return row;
}

json forming_json(const FormingGroup& group) {
  constexpr std::size_t named_max = 64;
  const std::size_t named = std::min(group.missing.size(), named_max);
  const auto end = group.missing.begin() + static_cast<std::ptrdiff_t>(named);
  json row = {{"group", group.name},
              {"world", group.world},
              {"missing", std::vector<std::uint32_t>(group.missing.begin(), end)}};
  if (named < group.missing.size()) row["missing_left_out"] = group.missing.size() - named;
  return row;
}

/// As many ranks may wait as there are places, and each may belong to another large group.
json forming_rows(const std::vector<FormingGroup>& groups) {
  constexpr std::size_t bytes_max = limits::message_bytes_max / 4;
  json rows = json::array();
  std::size_t bytes = 0;
  for (const FormingGroup& group : groups) {
    json row = forming_json(group);
    bytes += row.dump().size() + 1;
    if (bytes > bytes_max) break;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Whether it asks for samples, or holds some.
bool stands(const ConsumerInfo& consumer) noexcept {
  return consumer.state != ConsumerState::paused && consumer.state != ConsumerState::observing;
}

/// As many rows as fit into an answer, in their order. Those left out are ahead of the others.
json consumer_rows(const std::vector<ConsumerInfo>& consumers) {
  constexpr std::size_t bytes_max = limits::message_bytes_max / 8 * 5;
  std::vector<std::size_t> order(consumers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto urgency = [&](std::size_t at) {
    return std::pair(stands(consumers[at]), consumers[at].lag);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return urgency(a) > urgency(b); });
  std::map<std::size_t, json> rows;
  std::size_t bytes = 0;
  for (const std::size_t at : order) {
    json row = consumer_json(consumers[at]);
    bytes += row.dump().size() + 1;
    if (bytes > bytes_max) break;
    rows.emplace(at, std::move(row));
  }
  json list = json::array();
  for (auto& [at, row] : rows) list.push_back(std::move(row));
  return list;
}

json ring_json(const RingInfo& ring) {
  return {{"placement", ring.placement},
          {"id", ring.id},
          {"capacity", ring.capacity},
          {"memory", ring.memory},
          {"published", ring.published},
          {"state", ring.rests ? "resting" : std::string(name_of(ring.state))}};
}

std::string string_of(const json& command, const char* key, const std::string& otherwise) {
  const auto found = command.find(key);
  if (found == command.end()) return otherwise;
  if (!found->is_string()) throw InvalidArgument(text("`{}` must be a string", key));
  return found->get<std::string>();
}

std::uint64_t stall_timeout_in(const json& command, std::uint64_t otherwise_ms) {
  const auto found = command.find("stall_timeout_s");
  if (found == command.end()) return otherwise_ms;
  const double milliseconds = found->is_number() ? found->get<double>() * 1000 : 0;
  constexpr auto most = static_cast<double>(limits::stall_timeout_ms_max);
  if (!(milliseconds > 0 && milliseconds <= most)) {
    throw InvalidArgument(text("`stall_timeout_s` must be a number above 0, and at most {}",
                               limits::stall_timeout_ms_max / 1000));
  }
  return static_cast<std::uint64_t>(std::ceil(milliseconds));
}

/// The reason in a command; consumers and terminals show it.
std::string reason_in(const json& command, const std::string& otherwise) {
  return printable(string_of(command, "reason", otherwise));
}

/// Where the slowest consumer stands.
std::uint64_t lowest_position(const ProducerStats& stats) {
  std::uint64_t position = stats.published;
  for (const ConsumerInfo& consumer : stats.consumers) {
    if (stands(consumer)) position = std::min(position, consumer.position);
  }
  return position;
}

std::string evict(ProducerCore& core, const json& command) {
  const std::string consumer = string_of(command, "consumer", "");
  if (core.evict(consumer, reason_in(command, "it was evicted on request"))) {
    return json{{"ok", true}, {"evicted", consumer}}.dump();
  }
  constexpr std::size_t named_max = 64;
  const std::vector<std::string> names = core.rings().consumer_names();
  std::string known;
  for (std::size_t i = 0; i < std::min(names.size(), named_max); ++i) {
    known += (known.empty() ? "" : ", ") + names[i];
  }
  if (names.size() > named_max) known += text(" and {} more", names.size() - named_max);
  throw InvalidArgument(text("stream `{}` has no consumer `{}`; it has {}", core.options().stream,
                             printable(consumer), known.empty() ? "none" : known));
}

std::string stop(ProducerCore& core, const json& command) {
  core.stop(reason_in(command, "it was stopped on request"));
  return json{{"ok", true}}.dump();
}

std::string set(ProducerCore& core, const json& command) {
  const std::string on_stall =
      string_of(command, "on_stall", std::string(name_of(core.options().on_stall)));
  if (on_stall != "report" && on_stall != "evict") {
    throw InvalidArgument("`on_stall` is `report` or `evict`");
  }
  const std::uint64_t timeout_ms = stall_timeout_in(command, core.options().stall_timeout_ms);
  core.rings().set_stall_policy(timeout_ms, on_stall == "evict" ? OnStall::evict : OnStall::report);
  return json{{"ok", true}}.dump();
}

}  // namespace

std::string ProducerCommands::statistics() const {
  const ProducerStats now = core_.stats();
  const HostRing& host = core_.rings().host();
  json consumers = consumer_rows(now.consumers);
  const std::size_t consumers_left_out = now.consumers.size() - consumers.size();
  json forming = forming_rows(now.forming);
  const std::size_t forming_left_out = now.forming.size() - forming.size();
  json rings = json::array();
  for (const RingInfo& ring : now.rings) rings.push_back(ring_json(ring));
  json told = {{"event", "statistics"},
               {"stream", core_.options().stream},
               {"pid", ::getpid()},
               {"state", std::string(name_of(now.state))},
               {"epoch", now.epoch},
               {"position", lowest_position(now)},
               {"published", now.published},
               {"samples_per_second", now.samples_per_second},
               {"capacity", host.capacity()},
               {"memory", host.memory()},
               {"samples_per_epoch", core_.options().samples_per_epoch},
               {"placement", "host"},
               {"late_wakeups", now.late_wakeups},
               {"space_wait_seconds", now.space_wait_seconds},
               {"waits_for", std::string(name_of(now.waits_for))},
               {"consumers_to_come", now.consumers_to_come},
               {"rings", std::move(rings)},
               {"consumers", std::move(consumers)},
               {"forming", std::move(forming)}};
  if (consumers_left_out != 0) told["consumers_left_out"] = consumers_left_out;
  if (forming_left_out != 0) told["forming_left_out"] = forming_left_out;
  return told.dump();
}

std::string ProducerCommands::answer(std::string_view words) {
  const json command = json::parse(words, nullptr, false);
  if (!command.is_object()) throw InvalidArgument("a command is a JSON object");
  const std::string name = string_of(command, "command", "");
  if (name == "stats" || name == "list") return statistics();
  if (name == "evict") return evict(core_, command);
  if (name == "stop") return stop(core_, command);
  if (name == "set") return set(core_, command);
  throw InvalidArgument(
      text("no command `{}`; there are stats, list, evict, set, stop", printable(name)));
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/commands.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>
#include "core/cpu_time.hpp"
#include "core/usable_processors.hpp"
#include "observe/stream_json.hpp"
#include "producer/producer_core.hpp"
#include "producer/setting_values.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

using nlohmann::json;

observe::Trainer trainer_of(const ConsumerInfo& info) {
  observe::Trainer trainer;
  trainer.id = info.id;
  trainer.name = info.name;
  trainer.placement = info.placement;
  trainer.pid = info.pid;
  trainer.batch_size = info.batch_size;
  trainer.pace = name_of(info.pace);
  trainer.state = name_of(info.state);
  trainer.position = info.position;
  trainer.lag = info.lag;
  trainer.samples = info.samples;
  trainer.wait_seconds = info.wait_seconds;
  trainer.waited_for_seconds = info.waited_for_seconds;
  trainer.group = info.group.name;
  trainer.rank = info.group.rank;
  trainer.world = info.group.world;
  return trainer;
}

observe::Ring ring_of(const RingInfo& info) {
  observe::Ring ring;
  ring.placement = info.placement;
  ring.id = info.id;
  ring.capacity = info.capacity;
  ring.memory = info.memory;
  ring.published = info.published;
  ring.used = info.used;
  ring.state = info.rests ? "resting" : name_of(info.state);
  ring.trainers = info.trainers;
  ring.work_share = info.work_share;
  for (const AxisInfo& axis : info.axes) ring.axes.push_back({axis.name, axis.rows, axis.used});
  return ring;
}

observe::Making making_of(const MakingStats& stats) {
  observe::Making making;
  making.workers = stats.workers;
  making.workers_auto = stats.workers_auto;
  making.bottleneck = stats.bottleneck;
  making.reading_seconds = stats.all.reading;
  making.making_seconds = stats.all.making;
  making.waiting_seconds = stats.all.waiting;
  making.cpu_seconds = stats.all.cpu + stats.helper_cpu;
  if (stats.decoding_share >= 0) {
    making.decoding_seconds = stats.decoding_share * stats.all.making;
  }
  for (const WorkerSeconds& one : stats.each) {
    making.each.push_back({one.reading, one.making, one.waiting, one.cpu});
  }
  making.bad_samples = stats.bad_samples;
  making.stand_ins = stats.stand_ins;
  making.stand_in_times = stats.stand_in_times;
  making.has_cache = stats.cache.exists;
  making.cache_hits = stats.cache.hits;
  making.cache_misses = stats.cache.misses;
  making.cache_bytes = stats.cache.bytes;
  return making;
}

/// Where the slowest consumer stands.
std::uint64_t lowest_position(const ProducerStats& stats) {
  std::uint64_t position = stats.published;
  for (const ConsumerInfo& consumer : stats.consumers) {
    const bool stands =
        consumer.state != ConsumerState::paused && consumer.state != ConsumerState::observing;
    if (stands) position = std::min(position, consumer.position);
  }
  return position;
}

std::string string_of(const json& command, const char* key, const std::string& otherwise) {
  const auto found = command.find(key);
  if (found == command.end()) return otherwise;
  if (!found->is_string()) throw InvalidArgument(text("`{}` must be a string", key));
  return found->get<std::string>();
}

std::uint64_t stall_timeout_in(const json& command) {
  const auto found = command.find("stall_timeout_s");
  const double milliseconds = found->is_number() ? found->get<double>() * 1000 : 0;
  constexpr auto most = static_cast<double>(limits::stall_timeout_ms_max);
  if (!(milliseconds > 0 && milliseconds <= most)) {
    throw InvalidArgument(text("`stall_timeout_s` must be a number above 0, and at most {}",
                               limits::stall_timeout_ms_max / 1000));
  }
  return static_cast<std::uint64_t>(std::ceil(milliseconds));
}

std::uint64_t count_in(const json& command, const char* key, std::uint64_t otherwise,
                       std::uint64_t least) {
  const auto found = command.find(key);
  if (found == command.end()) return otherwise;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < least) {
    throw InvalidArgument(text("`{}` must be a whole number, at least {}", key, least));
  }
  return found->get<std::uint64_t>();
}

/// None where the command asks for no part of the consumers.
std::optional<observe::Page> page_in(const json& command) {
  if (!command.contains("from") && !command.contains("count")) return std::nullopt;
  const observe::Page all;
  return observe::Page{count_in(command, "from", all.from, 0),
                       count_in(command, "count", all.count, 1)};
}

/// The reason in a command; consumers and terminals show it.
std::string reason_in(const json& command, const std::string& otherwise) {
  return printable(string_of(command, "reason", otherwise));
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

/// As the command line writes it.
std::string value_text(const std::string& name, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  throw InvalidArgument(
      text("the value of `{}` must be a text, a number, true or false", printable(name)));
}

/// `values`, and the names that commands of version 0.1 have.
std::vector<std::pair<std::string, std::string>> values_in(const json& command) {
  std::vector<std::pair<std::string, std::string>> values;
  if (command.contains("stall_timeout_s")) {
    const double seconds = static_cast<double>(stall_timeout_in(command)) / 1000;
    values.emplace_back("stall_timeout", seconds_text(seconds));
  }
  if (command.contains("on_stall")) {
    values.emplace_back("on_stall", string_of(command, "on_stall", ""));
  }
  const auto named = command.find("values");
  if (named == command.end()) return values;
  if (!named->is_object()) throw InvalidArgument("`values` must be an object");
  for (const auto& [name, value] : named->items()) {
    values.emplace_back(name, value_text(name, value));
  }
  return values;
}

std::string set(ProducerCore& core, const json& command) {
  json changed = json::array();
  for (const Settings::Changed& one : core.settings().set(values_in(command))) {
    changed.push_back({{"name", one.name}, {"before", one.before}, {"after", one.after}});
  }
  return json{{"ok", true}, {"set", std::move(changed)}}.dump();
}

bool flag_in(const json& command, const char* key) {
  const auto found = command.find(key);
  if (found == command.end()) return false;
  if (!found->is_boolean()) throw InvalidArgument(text("`{}` must be true or false", key));
  return found->get<bool>();
}

std::string trace(ProducerCore& core, const json& command) {
  constexpr std::size_t session_bytes_max = 64;
  const std::string session = string_of(command, "session", "");
  if (session.empty() || session.size() > session_bytes_max) {
    throw InvalidArgument(text("`session` must have 1 to {} bytes", session_bytes_max));
  }
  const bool ends = flag_in(command, "end");
  const bool begins = flag_in(command, "begin");
  return core.tracing().page(session, ends     ? Tracing::Ask::end
                                      : begins ? Tracing::Ask::begin
                                               : Tracing::Ask::next);
}

}  // namespace

ProducerCommands::ProducerCommands(ProducerCore& core)
    : core_(core), processors_(usable_processors()) {}

observe::Stream ProducerCommands::look() const {
  const ProducerStats now = core_.stats();
  const HostRing& host = core_.rings().host();
  observe::Stream stream;
  stream.name = core_.options().stream;
  stream.pid = static_cast<std::uint64_t>(::getpid());
  stream.state = name_of(now.state);
  stream.uptime_seconds = now.uptime_seconds;
  stream.epoch = now.epoch;
  stream.position = lowest_position(now);
  stream.published = now.published;
  stream.samples = now.samples;
  stream.delivered = now.delivered;
  stream.samples_per_second = now.samples_per_second;
  stream.samples_per_epoch = core_.options().samples_per_epoch;
  stream.capacity = host.capacity();
  stream.memory = host.memory();
  stream.late_wakeups = now.late_wakeups;
  stream.space_wait_seconds = now.space_wait_seconds;
  stream.waits_for = name_of(now.waits_for);
  stream.consumers_to_come = now.consumers_to_come;
  stream.process_cpu_seconds = seconds_from_ns(process_cpu_ns());
  stream.processors = processors_;
  for (const RingInfo& ring : now.rings) stream.rings.push_back(ring_of(ring));
  const std::set<std::string> missing = core_.missing_members();
  for (const ConsumerInfo& one : now.consumers) {
    stream.trainers.push_back(trainer_of(one));
    if (missing.contains(one.name)) stream.trainers.back().state = "missing";
  }
  for (const FormingGroup& group : now.forming) {
    stream.forming.push_back({group.name, group.world, group.missing});
  }
  if (now.making) stream.making = making_of(*now.making);
  if (const auto& cache = core_.options().cache_statistics; cache) stream.cache_json = cache();
  stream.settings = core_.settings().values();
  return stream;
}

std::string ProducerCommands::statistics() const { return observe::to_json(look()).dump(); }

std::string ProducerCommands::answer(std::string_view words) {
  const json command = json::parse(words, nullptr, false);
  if (!command.is_object()) throw InvalidArgument("a command is a JSON object");
  const std::string name = string_of(command, "command", "");
  if (name == "stats" || name == "list") return observe::to_json(look(), page_in(command)).dump();
  if (name == "evict") return evict(core_, command);
  if (name == "stop") return stop(core_, command);
  if (name == "set") return set(core_, command);
  if (name == "trace") return trace(core_, command);
  throw InvalidArgument(
      text("no command `{}`; there are stats, list, evict, set, trace, stop", printable(name)));
}

}  // namespace batchcast::inline v0_1::detail

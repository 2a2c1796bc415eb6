// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/stream_json.hpp"

#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

namespace batchcast::inline v0_1::observe {
namespace {

using nlohmann::json;

constexpr std::size_t workers_shown_max = 64;

// ---- Writing.

/// Microseconds are enough, and take less room.
double rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

json json_of(const Trainer& trainer) {
  json row = {{"id", trainer.id},
              {"name", trainer.name},
              {"placement", trainer.placement},
              {"pid", trainer.pid},
              {"batch_size", trainer.batch_size},
              {"pace", trainer.pace},
              {"lag", trainer.lag},
              {"state", trainer.state},
              {"position", trainer.position},
              {"samples", trainer.samples},
              {"wait_seconds", rounded(trainer.wait_seconds)},
              {"waited_for_seconds", rounded(trainer.waited_for_seconds)}};
  if (trainer.world != 0) {
    row["group"] = trainer.group;
    row["rank"] = trainer.rank;
    row["world"] = trainer.world;
  }
  return row;
}

json json_of(const Forming& group) {
  constexpr std::size_t named_max = 64;
  const std::size_t named = std::min(group.missing.size(), named_max);
  const auto end = group.missing.begin() + static_cast<std::ptrdiff_t>(named);
  json row = {{"group", group.group},
              {"world", group.world},
              {"missing", std::vector<std::uint32_t>(group.missing.begin(), end)}};
  if (named < group.missing.size()) row["missing_left_out"] = group.missing.size() - named;
  return row;
}

/// As many ranks may wait as there are places, and each may belong to another large group.
json forming_rows(const std::vector<Forming>& groups) {
  constexpr std::size_t bytes_max = limits::message_bytes_max / 4;
  json rows = json::array();
  std::size_t bytes = 0;
  for (const Forming& group : groups) {
    json row = json_of(group);
    bytes += row.dump().size() + 1;
    if (bytes > bytes_max) break;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Whether it asks for samples, or holds some.
bool stands(const Trainer& trainer) noexcept {
  return trainer.state != "paused" && trainer.state != "observing";
}

/// The rows of trainers that fit into an answer.
class TrainerRows {
 public:
  [[nodiscard]] bool add(std::size_t at, const Trainer& trainer) {
    constexpr std::size_t bytes_max = limits::message_bytes_max / 8 * 5;
    json row = json_of(trainer);
    bytes_ += row.dump().size() + 1;
    if (bytes_ > bytes_max) return false;
    rows_.emplace(at, std::move(row));
    return true;
  }
  [[nodiscard]] json take() {
    json list = json::array();
    for (auto& [at, row] : rows_) list.push_back(std::move(row));
    return list;
  }

 private:
  std::map<std::size_t, json> rows_;
  std::size_t bytes_ = 0;
};

std::vector<std::size_t> indices_of(const std::vector<Trainer>& trainers) {
  std::vector<std::size_t> order(trainers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// In their order. Those left out are ahead of the others.
json urgent_rows(const std::vector<Trainer>& trainers) {
  std::vector<std::size_t> order = indices_of(trainers);
  const auto urgency = [&](std::size_t at) {
    return std::pair(stands(trainers[at]), trainers[at].lag);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return urgency(a) > urgency(b); });
  TrainerRows rows;
  for (const std::size_t at : order) {
    if (!rows.add(at, trainers[at])) break;
  }
  return rows.take();
}

void add_rows_of(const Page& page, const std::vector<Trainer>& trainers, json& told) {
  std::vector<std::size_t> order = indices_of(trainers);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return trainers[a].id < trainers[b].id; });
  TrainerRows rows;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Trainer& trainer = trainers[order[i]];
    if (trainer.id < page.from) continue;
    if (count == page.count || !rows.add(i, trainer)) {
      told["next"] = trainer.id;
      break;
    }
    ++count;
  }
  told["from"] = page.from;
  told["consumers"] = rows.take();
}

json json_of(const Ring& ring) {
  json row = {{"placement", ring.placement}, {"id", ring.id},
              {"capacity", ring.capacity},   {"memory", ring.memory},
              {"published", ring.published}, {"used", ring.used},
              {"state", ring.state}};
  if (ring.work_share >= 0) {
    row["trainers"] = ring.trainers;
    row["work_share"] = std::round(ring.work_share * 1e3) / 1e3;
  }
  if (ring.axes.empty()) return row;
  json axes = json::array();
  for (const Axis& axis : ring.axes) {
    axes.push_back({{"name", axis.name}, {"rows", axis.rows}, {"used", axis.used}});
  }
  row["axes"] = std::move(axes);
  return row;
}

/// Each worker as [reading, making, waiting, processor]: there may be hundreds.
void add_workers(const std::vector<Worker>& each, json& told) {
  const auto milliseconds = [](double seconds) { return std::round(seconds * 1e3) / 1e3; };
  json rows = json::array();
  for (std::size_t i = 0; i < std::min(each.size(), workers_shown_max); ++i) {
    const Worker& one = each[i];
    rows.push_back({milliseconds(one.reading_seconds), milliseconds(one.making_seconds),
                    milliseconds(one.waiting_seconds), milliseconds(one.cpu_seconds)});
  }
  told["worker_seconds"] = std::move(rows);
  if (each.size() > workers_shown_max) told["workers_left_out"] = each.size() - workers_shown_max;
}

void add_making(const Making& making, json& told) {
  told["workers"] = making.workers;
  told["workers_auto"] = making.workers_auto;
  told["bottleneck"] = making.bottleneck;
  told["reading_seconds"] = rounded(making.reading_seconds);
  told["making_seconds"] = rounded(making.making_seconds);
  told["waiting_seconds"] = rounded(making.waiting_seconds);
  told["cpu_seconds"] = rounded(making.cpu_seconds);
  if (making.decoding_seconds)
    told["decoding_seconds_estimate"] = rounded(*making.decoding_seconds);
  told["bad_samples"] = making.bad_samples;
  told["stand_ins"] = making.stand_ins;
  told["stand_in_times"] = making.stand_in_times;
  if (making.has_cache) {
    told["cache"] = {{"hits", making.cache_hits},
                     {"misses", making.cache_misses},
                     {"bytes", making.cache_bytes}};
  }
  add_workers(making.each, told);
}

// ---- Reading.

/// What an answer may have at a key.
const json& at(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::uint64_t count_of(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_number_float()) return 0;
  const double number = value.get<double>();
  return number >= 0 && number < 9e18 ? static_cast<std::uint64_t>(number) : 0;
}
std::uint64_t count_at(const json& object, const char* key) { return count_of(at(object, key)); }

double number_of(const json& value) {
  if (!value.is_number()) return 0;
  const double number = value.get<double>();
  return number >= 0 && number < 1e18 ? number : 0;
}
double number_at(const json& object, const char* key) { return number_of(at(object, key)); }

std::string text_at(const json& object, const char* key) {
  constexpr std::size_t bytes_max = 256;
  const json& value = at(object, key);
  if (!value.is_string()) return {};
  std::string text = value.get<std::string>();
  if (text.size() > bytes_max) text.resize(bytes_max);
  return printable(text);
}

std::map<std::string, std::string> texts_at(const json& object, const char* key) {
  constexpr std::size_t texts_max = 64;
  std::map<std::string, std::string> texts;
  const json& all = at(object, key);
  if (!all.is_object()) return texts;
  for (const auto& [name, value] : all.items()) {
    if (texts.size() < texts_max) texts.emplace(printable(name), text_at(all, name.c_str()));
  }
  return texts;
}

template <class Row>
std::vector<Row> rows_at(const json& object, const char* key, Row (*row_of)(const json&)) {
  std::vector<Row> rows;
  const json& list = at(object, key);
  if (!list.is_array()) return rows;
  for (const json& one : list) rows.push_back(row_of(one));
  return rows;
}

Trainer trainer_of(const json& row) {
  Trainer trainer;
  trainer.id = count_at(row, "id");
  trainer.name = text_at(row, "name");
  trainer.placement = text_at(row, "placement");
  trainer.pid = count_at(row, "pid");
  trainer.batch_size = count_at(row, "batch_size");
  trainer.pace = text_at(row, "pace");
  trainer.state = text_at(row, "state");
  trainer.position = count_at(row, "position");
  trainer.lag = count_at(row, "lag");
  trainer.samples = count_at(row, "samples");
  trainer.wait_seconds = number_at(row, "wait_seconds");
  trainer.waited_for_seconds = number_at(row, "waited_for_seconds");
  trainer.group = text_at(row, "group");
  trainer.rank = count_at(row, "rank");
  trainer.world = count_at(row, "world");
  return trainer;
}

Axis axis_of(const json& row) {
  return {text_at(row, "name"), count_at(row, "rows"), count_at(row, "used")};
}

Ring ring_of(const json& row) {
  return {text_at(row, "placement"),
          text_at(row, "id"),
          count_at(row, "capacity"),
          count_at(row, "memory"),
          count_at(row, "published"),
          count_at(row, "used"),
          text_at(row, "state"),
          rows_at(row, "axes", axis_of),
          count_at(row, "trainers"),
          at(row, "work_share").is_number() ? number_at(row, "work_share") : -1};
}

Worker worker_of(const json& row) {
  const auto seconds = [&](std::size_t i) {
    return row.is_array() && i < row.size() ? number_of(row[i]) : 0.0;
  };
  return {seconds(0), seconds(1), seconds(2), seconds(3)};
}

Forming forming_of(const json& row) {
  Forming group{text_at(row, "group"), count_at(row, "world"), {}};
  const json& missing = at(row, "missing");
  if (!missing.is_array()) return group;
  for (const json& rank : missing) {
    group.missing.push_back(static_cast<std::uint32_t>(count_of(rank)));
  }
  return group;
}

std::optional<Making> making_of(const json& answer) {
  if (!at(answer, "workers").is_number()) return std::nullopt;
  Making making;
  making.workers = count_at(answer, "workers");
  making.workers_auto = at(answer, "workers_auto") == json(true);
  making.bottleneck = text_at(answer, "bottleneck");
  making.reading_seconds = number_at(answer, "reading_seconds");
  making.making_seconds = number_at(answer, "making_seconds");
  making.waiting_seconds = number_at(answer, "waiting_seconds");
  making.cpu_seconds = number_at(answer, "cpu_seconds");
  if (const json& decoding = at(answer, "decoding_seconds_estimate"); decoding.is_number()) {
    making.decoding_seconds = number_of(decoding);
  }
  making.each = rows_at(answer, "worker_seconds", worker_of);
  making.bad_samples = count_at(answer, "bad_samples");
  making.stand_ins = count_at(answer, "stand_ins");
  making.stand_in_times = count_at(answer, "stand_in_times");
  const json& cache = at(answer, "cache");
  making.has_cache = cache.is_object();
  making.cache_hits = count_at(cache, "hits");
  making.cache_misses = count_at(cache, "misses");
  making.cache_bytes = count_at(cache, "bytes");
  return making;
}

}  // namespace

json to_json(const Stream& stream, const std::optional<Page>& page) {
  json forming = forming_rows(stream.forming);
  const std::size_t forming_left_out = stream.forming.size() - forming.size();
  json rings = json::array();
  for (const Ring& ring : stream.rings) rings.push_back(json_of(ring));
  json told = {{"event", "statistics"},
               {"stream", stream.name},
               {"pid", stream.pid},
               {"state", stream.state},
               {"uptime_seconds", rounded(stream.uptime_seconds)},
               {"epoch", stream.epoch},
               {"position", stream.position},
               {"published", stream.published},
               {"samples", stream.samples},
               {"delivered", stream.delivered},
               {"samples_per_second", stream.samples_per_second},
               {"capacity", stream.capacity},
               {"memory", stream.memory},
               {"samples_per_epoch", stream.samples_per_epoch},
               {"placement", "host"},
               {"late_wakeups", stream.late_wakeups},
               {"space_wait_seconds", rounded(stream.space_wait_seconds)},
               {"waits_for", stream.waits_for},
               {"consumers_to_come", stream.consumers_to_come},
               {"consumers_total", stream.trainers.size()},
               {"process_cpu_seconds", rounded(stream.process_cpu_seconds)},
               {"processors", stream.processors},
               {"rings", std::move(rings)},
               {"forming", std::move(forming)}};
  if (stream.making) add_making(*stream.making, told);
  if (!stream.cache_json.empty()) told["cache"] = json::parse(stream.cache_json, nullptr, false);
  if (!stream.settings.empty()) told["settings"] = stream.settings;
  if (forming_left_out != 0) told["forming_left_out"] = forming_left_out;
  if (page) {
    add_rows_of(*page, stream.trainers, told);
    return told;
  }
  json rows = urgent_rows(stream.trainers);
  const std::size_t left_out = stream.trainers.size() - rows.size();
  if (left_out != 0) told["consumers_left_out"] = left_out;
  told["consumers"] = std::move(rows);
  return told;
}

Stream stream_of(const json& answer) {
  Stream stream;
  stream.name = text_at(answer, "stream");
  stream.pid = count_at(answer, "pid");
  stream.state = text_at(answer, "state");
  stream.uptime_seconds = number_at(answer, "uptime_seconds");
  stream.epoch = count_at(answer, "epoch");
  stream.position = count_at(answer, "position");
  stream.published = count_at(answer, "published");
  stream.samples = count_at(answer, "samples");
  stream.delivered = count_at(answer, "delivered");
  stream.samples_per_second = number_at(answer, "samples_per_second");
  stream.samples_per_epoch = count_at(answer, "samples_per_epoch");
  stream.capacity = count_at(answer, "capacity");
  stream.memory = count_at(answer, "memory");
  stream.late_wakeups = count_at(answer, "late_wakeups");
  stream.space_wait_seconds = number_at(answer, "space_wait_seconds");
  stream.waits_for = text_at(answer, "waits_for");
  stream.consumers_to_come = count_at(answer, "consumers_to_come");
  stream.process_cpu_seconds = number_at(answer, "process_cpu_seconds");
  stream.processors = count_at(answer, "processors");
  stream.rings = rows_at(answer, "rings", ring_of);
  stream.trainers = rows_at(answer, "consumers", trainer_of);
  stream.trainers_left_out = count_at(answer, "consumers_left_out");
  stream.forming = rows_at(answer, "forming", forming_of);
  stream.forming_left_out = count_at(answer, "forming_left_out");
  stream.making = making_of(answer);
  stream.settings = texts_at(answer, "settings");
  return stream;
}

void add_page(json& answer, const json& page) {
  const auto found = answer.find("consumers");
  const json& added = at(page, "consumers");
  if (found == answer.end() || !found->is_array() || !added.is_array()) return;
  const std::uint64_t from = count_at(page, "from");
  std::erase_if(found->get_ref<json::array_t&>(),
                [&](const json& row) { return count_at(row, "id") >= from; });
  for (const json& row : added) found->push_back(row);
}

}  // namespace batchcast::inline v0_1::observe

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/page_data.hpp"

#include <batchcast/version.hpp>

#include <cmath>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::metrics {
namespace {

using nlohmann::json;
using observe::SeenStream;

double rounded(double value, double steps) { return std::round(value * steps) / steps; }
/// Enough for a pixel, and a third of the characters.
double share(double value) { return rounded(value, 1000); }

json json_of(const observe::TrainerRow& row) {
  const observe::Trainer& trainer = *row.trainer;
  json told = {{"id", trainer.id},
               {"name", trainer.name},
               {"placement", trainer.placement},
               {"pid", trainer.pid},
               {"state", trainer.state},
               {"batch_size", trainer.batch_size},
               {"pace", trainer.pace},
               {"samples", trainer.samples},
               {"lag", trainer.lag},
               {"lag_share", share(row.lag_share)},
               {"wait_share", share(row.wait_share)},
               {"waited_for_share", share(row.waited_for_share)}};
  if (row.rate) told["rate"] = rounded(*row.rate, 10);
  if (row.limits) told["limits"] = true;
  if (!trainer.group.empty()) {
    told["group"] = trainer.group;
    told["rank"] = trainer.rank;
    told["world"] = trainer.world;
  }
  return told;
}

json rings_of(const observe::Stream& stream) {
  json rings = json::array();
  for (const observe::Ring& ring : stream.rings) {
    json axes = json::array();
    for (const observe::Axis& axis : ring.axes) {
      axes.push_back({{"name", axis.name}, {"rows", axis.rows}, {"used", axis.used}});
    }
    rings.push_back({{"placement", ring.placement},
                     {"capacity", ring.capacity},
                     {"memory", ring.memory},
                     {"used", ring.used},
                     {"state", ring.state},
                     {"axes", std::move(axes)}});
  }
  return rings;
}

json history_of(const std::deque<HistoryPoint>& points, double at_s) {
  json ages = json::array();
  json rates = json::array();
  json limiters = json::array();
  for (const HistoryPoint& point : points) {
    ages.push_back(rounded(at_s - point.at_s, 10));
    rates.push_back(rounded(point.rate, 10));
    limiters.push_back(observe::name_of(point.limiter));
  }
  return {{"age", std::move(ages)}, {"rate", std::move(rates)}, {"limiter", std::move(limiters)}};
}

void add_answer(json& told, const SeenStream& seen) {
  const observe::Stream& now = seen.now;
  told["rate"] = rounded(observe::stream_rate(seen), 10);
  told["epoch"] = now.epoch;
  told["samples"] = now.samples;
  told["delivered"] = now.delivered;
  told["uptime_seconds"] = rounded(now.uptime_seconds, 10);
  told["processors"] = now.processors;
  told["limiter"] = observe::name_of(seen.limit.by);
  told["limiter_text"] = seen.limit.text;
  told["work_text"] = observe::work_text(seen);
  told["sums_text"] = observe::sums_text(seen);
  if (const auto saved = observe::saved_cpu_seconds(now)) {
    told["saved_cpu_seconds"] = rounded(*saved, 10);
    told["saved_text"] = observe::time_text(*saved);
  }
  if (now.making) told["bad_samples"] = now.making->bad_samples;
  told["rings"] = rings_of(now);
  told["consumers_left_out"] = now.trainers_left_out;
  json rows = json::array();
  for (const auto& row : observe::trainer_rows(seen, observe::SortKey::name, false, "")) {
    rows.push_back(json_of(row));
  }
  told["consumers"] = std::move(rows);
}

}  // namespace

json page_data(const observe::Overview& overview, const History& history, double at_s) {
  json streams = json::array();
  for (const SeenStream& seen : overview.streams) {
    json told = {{"stream", seen.name},
                 {"owner", seen.owner},
                 {"state", seen.state},
                 {"pid", seen.pid},
                 {"answers", seen.answers}};
    if (seen.answers) add_answer(told, seen);
    told["history"] = history_of(history.of(seen), at_s);
    streams.push_back(std::move(told));
  }
  return {{"version", version},
          {"time", overview.clock},
          {"at_s", at_s},
          {"history_seconds", History::kept_s},
          {"processors", overview.processors},
          {"idle_processors", rounded(overview.idle_processors, 10)},
          {"pressure", share(overview.pressure)},
          {"streams", std::move(streams)}};
}

}  // namespace batchcast::inline v0_1::metrics

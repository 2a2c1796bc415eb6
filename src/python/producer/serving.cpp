// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/serving.hpp"

#include "serving/console.hpp"
#include "serving/token_report.hpp"

#include <batchcast/core/error.hpp>

#include <nanobind/stl/string.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace nb = nanobind;

namespace batchcast::inline v0_1::python {
namespace {

[[nodiscard]] nb::dict consumer_dict(const ConsumerInfo& consumer) {
  nb::dict told;
  told["name"] = consumer.name.c_str();
  told["placement"] = consumer.placement.c_str();
  told["pid"] = consumer.pid;
  told["batch_size"] = consumer.batch_size;
  told["state"] = std::string(name_of(consumer.state)).c_str();
  told["position"] = consumer.position;
  told["lag"] = consumer.lag;
  told["samples"] = consumer.samples;
  told["wait_seconds"] = consumer.wait_seconds;
  told["waited_for_seconds"] = consumer.waited_for_seconds;
  return told;
}

[[nodiscard]] nb::dict ring_dict(const RingInfo& ring) {
  nb::dict told;
  told["placement"] = ring.placement.c_str();
  told["capacity"] = ring.capacity;
  told["memory"] = ring.memory;
  told["published"] = ring.published;
  told["used"] = ring.used;
  const std::string state(name_of(ring.state));
  told["state"] = ring.rests ? "resting" : state.c_str();
  if (ring.work_share < 0) return told;
  told["trainers"] = ring.trainers;
  told["work_share"] = ring.work_share;
  return told;
}

/// None where there is no cache.
nb::object cache_value(const CacheStats& cache) {
  if (!cache.exists) return nb::none();
  nb::dict told;
  told["bytes_max"] = cache.bytes_max;
  told["bytes"] = cache.bytes;
  told["entries"] = cache.entries;
  told["images"] = cache.images;
  told["kept"] = cache.kept;
  told["file_bytes"] = cache.file_bytes;
  told["kept_bytes"] = cache.kept_bytes;
  told["hits"] = cache.hits;
  told["misses"] = cache.misses;
  told["unclean"] = cache.unclean;
  told["passed_by"] = cache.passed_by;
  told["damaged"] = cache.damaged;
  told["cpu_seconds_saved"] = cache.cpu_seconds_saved;
  told["stopped"] = cache.stopped.c_str();
  return told;
}

void add_making(const MakingStats& making, nb::dict& told) {
  told["cpu_seconds"] = making.all.cpu + making.helper_cpu;
  if (making.decoding_share >= 0) {
    told["decoding_seconds_estimate"] = making.decoding_share * making.all.making;
  }
  nb::list workers;
  for (const WorkerSeconds& one : making.each) {
    workers.append(nb::make_tuple(one.reading, one.making, one.waiting, one.cpu));
  }
  told["worker_seconds"] = workers;
}

}  // namespace

LogCallback serving_log(const serving::ServeOptions& options, bool talks) {
  LogCallback all = serving::console_log(options.verbose);
  if (talks || options.verbose) return all;
  return [all = std::move(all)](LogLevel level, std::string_view text) {
    if (level >= LogLevel::warning) all(level, text);
  };
}

nb::dict stats_dict(const ProducerStats& stream, const FeederStats& feeder,
                    std::uint64_t bad_samples, const StandIns& stand_ins, const CacheStats& cache) {
  nb::dict told;
  told["state"] = std::string(batchcast::name_of(stream.state)).c_str();
  told["epoch"] = stream.epoch;
  told["published"] = stream.published;
  told["unread"] = stream.unread;
  told["samples_per_second"] = stream.samples_per_second;
  told["space_wait_seconds"] = stream.space_wait_seconds;
  told["consumers_to_come"] = stream.consumers_to_come;
  told["bad_samples"] = bad_samples;
  told["stand_ins"] = stand_ins.samples;
  told["stand_in_times"] = stand_ins.times;
  told["cache"] = cache_value(cache);
  told["workers"] = feeder.workers;
  told["bottleneck"] = std::string(batchcast::name_of(feeder.bottleneck)).c_str();
  told["reading_seconds"] = feeder.reading_seconds;
  told["making_seconds"] = feeder.making_seconds;
  told["waiting_seconds"] = feeder.waiting_seconds;
  told["uptime_seconds"] = stream.uptime_seconds;
  told["samples"] = stream.samples;
  told["delivered"] = stream.delivered;
  if (stream.making) add_making(*stream.making, told);
  nb::list rings;
  for (const RingInfo& ring : stream.rings) rings.append(ring_dict(ring));
  told["rings"] = rings;
  nb::list consumers;
  for (const ConsumerInfo& consumer : stream.consumers) consumers.append(consumer_dict(consumer));
  told["consumers"] = consumers;
  return told;
}

nb::object tokens_value(const std::optional<TokenAccount>& account, const MadeTokens& made) {
  if (!account) return nb::none();
  nlohmann::json told = serving::json_of(made);
  told["epoch"] = serving::json_of(*account);
  return nb::module_::import_("json").attr("loads")(told.dump());
}

}  // namespace batchcast::inline v0_1::python

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/serving.hpp"

#include "serving/console.hpp"

#include <batchcast/core/error.hpp>

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
  return told;
}

[[nodiscard]] const char* name_of(Bottleneck bottleneck) noexcept {
  switch (bottleneck) {
    case Bottleneck::reading:
      return "reading";
    case Bottleneck::making:
      return "making";
    case Bottleneck::consumers:
      return "consumers";
    case Bottleneck::none:
      break;
  }
  return "none";
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
                    std::uint64_t bad_samples) {
  nb::dict told;
  told["state"] = std::string(batchcast::name_of(stream.state)).c_str();
  told["epoch"] = stream.epoch;
  told["published"] = stream.published;
  told["unread"] = stream.unread;
  told["samples_per_second"] = stream.samples_per_second;
  told["space_wait_seconds"] = stream.space_wait_seconds;
  told["consumers_to_come"] = stream.consumers_to_come;
  told["bad_samples"] = bad_samples;
  told["workers"] = feeder.workers;
  told["bottleneck"] = name_of(feeder.bottleneck);
  told["reading_seconds"] = feeder.reading_seconds;
  told["making_seconds"] = feeder.making_seconds;
  nb::list consumers;
  for (const ConsumerInfo& consumer : stream.consumers) consumers.append(consumer_dict(consumer));
  told["consumers"] = consumers;
  return told;
}

}  // namespace batchcast::inline v0_1::python

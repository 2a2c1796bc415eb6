// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/stream_series.hpp"

#include <batchcast/version.hpp>

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

namespace batchcast::inline v0_1::metrics {
namespace {

using observe::Making;
using observe::Ring;
using observe::Stream;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

ClientMetric metric_of(MetricType type, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return metric;
}

/// The families in the order in which they were first named; those without a series are left out.
class Families {
 public:
  MetricFamily& family(const char* name, const char* help, MetricType type) {
    for (MetricFamily& one : all_) {
      if (one.name == name) return one;
    }
    all_.push_back({name, help, type, {}});
    return all_.back();
  }
  void add(const char* name, const char* help, MetricType type, Labels labels, double value) {
    family(name, help, type).metric.push_back(metric_of(type, std::move(labels), value));
  }
  void counter(const char* name, const char* help, Labels labels, double value) {
    add(name, help, MetricType::Counter, std::move(labels), value);
  }
  void gauge(const char* name, const char* help, Labels labels, double value) {
    add(name, help, MetricType::Gauge, std::move(labels), value);
  }
  [[nodiscard]] std::vector<MetricFamily> take() { return std::move(all_); }

 private:
  std::vector<MetricFamily> all_;
};

Labels with(Labels labels, std::initializer_list<ClientMetric::Label> more) {
  labels.insert(labels.end(), more);
  return labels;
}

double number(std::uint64_t count) { return static_cast<double>(count); }

void add_stream(Families& to, const Labels& labels, const Stream& stream) {
  to.gauge("batchcast_uptime_seconds", "Since the producer began.", labels, stream.uptime_seconds);
  to.gauge("batchcast_stream_state", "1 for the state that the stream is in.",
           with(labels, {{"state", stream.state}}), 1);
  to.gauge("batchcast_epoch", "The epoch that is being made.", labels, number(stream.epoch));
  to.counter("batchcast_samples_total", "Samples made and published.", labels,
             number(stream.samples));
  to.counter("batchcast_delivered_samples_total",
             "Samples that consumers had, all together, those too that have left.", labels,
             number(stream.delivered));
  to.counter("batchcast_space_wait_seconds_total",
             "What loans waited for room in the ring, or for demand.", labels,
             stream.space_wait_seconds);
  to.counter("batchcast_process_cpu_seconds_total", "Processor time of the producer's process.",
             labels, stream.process_cpu_seconds);
  to.gauge("batchcast_usable_processors", "Processors that the producer's process may use.", labels,
           number(stream.processors));
  to.gauge("batchcast_awaited_consumers",
           "Consumers that --wait-for counts and that have not come.", labels,
           number(stream.consumers_to_come));
}

void add_making(Families& to, const Labels& labels, const Making& making) {
  const char* const stages = "Time of the workers that make samples, by what they did.";
  for (const auto& [stage, seconds] :
       {std::pair{"reading", making.reading_seconds}, std::pair{"making", making.making_seconds},
        std::pair{"waiting", making.waiting_seconds}}) {
    to.counter("batchcast_stage_seconds_total", stages, with(labels, {{"stage", stage}}), seconds);
  }
  if (making.decoding_seconds) {
    to.counter("batchcast_decoding_estimate_seconds_total",
               "The part of making that was decoding: an estimate, from 1 sample in 64.", labels,
               *making.decoding_seconds);
  }
  to.counter("batchcast_cpu_seconds_total", "Processor time of the threads that read and make.",
             labels, making.cpu_seconds);
  to.gauge("batchcast_workers", "Threads that make samples.", labels, number(making.workers));
  to.counter("batchcast_bad_samples_total", "Samples that could not be made.", labels,
             number(making.bad_samples));
  to.counter("batchcast_stand_in_samples_total", "Samples that others were made for.", labels,
             number(making.stand_ins));
  if (!making.has_cache) return;
  to.counter("batchcast_cache_hits_total", "Samples that the cache had.", labels,
             number(making.cache_hits));
  to.counter("batchcast_cache_misses_total", "Samples that the cache lacked.", labels,
             number(making.cache_misses));
  to.gauge("batchcast_cache_bytes", "Memory or disk that the cache takes.", labels,
           number(making.cache_bytes));
}

/// `cuda:3` gets the labels `gpu` and `UUID`, as those of NVIDIA's exporter.
Labels labels_of(const Labels& labels, const Ring& ring) {
  Labels all = with(labels, {{"placement", ring.placement}});
  constexpr std::string_view on_gpu = "cuda:";
  if (!ring.placement.starts_with(on_gpu)) return all;
  return with(std::move(all), {{"gpu", ring.placement.substr(on_gpu.size())}, {"UUID", ring.id}});
}

void add_ring(Families& to, const Labels& labels, const Ring& ring) {
  to.gauge("batchcast_ring_bytes", "Memory of a ring.", labels, number(ring.memory));
  to.gauge("batchcast_ring_samples", "Samples that a ring has room for.", labels,
           number(ring.capacity));
  to.gauge("batchcast_ring_used_samples",
           "Samples of a ring that its slowest consumer has not released.", labels,
           number(ring.used));
  for (const observe::Axis& axis : ring.axes) {
    const Labels of_axis = with(labels, {{"axis", axis.name}});
    to.gauge("batchcast_ring_rows", "Rows of an axis that a ring has room for.", of_axis,
             number(axis.rows));
    to.gauge("batchcast_ring_used_rows",
             "Rows of an axis that the slowest consumer has not released.", of_axis,
             number(axis.used));
  }
}

void add_rings(Families& to, const Labels& labels, const Stream& stream) {
  // Two series of the same labels would spoil the whole answer.
  std::set<std::string> seen;
  for (const Ring& ring : stream.rings) {
    if (!seen.insert(ring.placement).second) continue;
    Ring once = ring;
    std::set<std::string> axes;
    std::erase_if(once.axes, [&](const auto& axis) { return !axes.insert(axis.name).second; });
    add_ring(to, labels_of(labels, ring), once);
  }
}

void add_consumer(Families& to, const Labels& labels, const std::string& name,
                  const ConsumerSums& sums) {
  const Labels all = with(labels, {{"consumer", name}});
  to.counter("batchcast_consumer_samples_total", "Samples that a consumer had.", all, sums.samples);
  to.counter("batchcast_consumer_wait_seconds_total", "What a consumer waited for samples.", all,
             sums.wait_seconds);
  to.counter("batchcast_consumer_waited_for_seconds_total",
             "What the full ring waited for a consumer, and so the others.", all,
             sums.waited_for_seconds);
  to.gauge("batchcast_consumer_lag_samples",
           "Published samples that a consumer has not released; of several the most.", all,
           number(sums.lag));
}

void add_consumers(Families& to, const Labels& labels, const ConsumerSeries& series) {
  std::size_t attached = series.other().attached;
  for (const auto& [name, sums] : series.named()) {
    add_consumer(to, labels, name, sums);
    attached += sums.attached;
  }
  if (series.has_other()) add_consumer(to, labels, ConsumerSeries::other_name, series.other());
  to.gauge("batchcast_consumers", "Consumers that are attached.", labels, number(attached));
}

/// Another producer, or another run of it.
bool begins_again(const Stream& before, const Stream& now) noexcept {
  return before.pid != now.pid || now.uptime_seconds < before.uptime_seconds;
}

}  // namespace

void StreamSeries::take(Kept& kept, const observe::SeenStream& seen) const {
  if (!seen.answers) {
    // What it had is kept, for a producer that is silent only for a while.
    kept.seen.state = seen.state;
    kept.seen.answers = false;
    return;
  }
  bool is_first = kept.seen.now.pid == 0;
  if (!is_first && begins_again(kept.seen.now, seen.now)) {
    kept = Kept(options_.consumers);
    is_first = true;
  }
  if (!is_first) {
    kept.limited_seconds[static_cast<std::size_t>(seen.limit.by)] +=
        seen.now.uptime_seconds - kept.seen.now.uptime_seconds;
  }
  kept.saved_cpu_seconds =
      std::max(kept.saved_cpu_seconds, observe::saved_cpu_seconds(seen.now).value_or(0));
  kept.consumers.look(seen.now);
  kept.seen = seen;
}

void StreamSeries::look(const observe::Overview& overview) {
  std::set<Key> here;
  for (const observe::SeenStream& seen : overview.streams) {
    Key key{seen.owner, seen.name};
    const auto [kept, is_new] = kept_.try_emplace(key, options_.consumers);
    // Of two directories with a stream of this name the first counts that answers.
    const bool is_second = here.contains(key) && (kept->second.seen.answers || !seen.answers);
    if (!is_second) take(kept->second, seen);
    here.insert(std::move(key));
  }
  std::erase_if(kept_, [&](const auto& one) { return !here.contains(one.first); });
}

std::vector<MetricFamily> StreamSeries::Collect() const {
  Families families;
  families.gauge("batchcast_build_info", "The version of this exporter.",
                 {{"version", std::string(version)}}, 1);
  for (const auto& [key, kept] : kept_) {
    const auto& [owner, name] = key;
    Labels labels = {{"stream", name}};
    if (!options_.user.empty()) {
      labels.push_back({"user", owner.empty() ? options_.user : owner});
    }
    families.gauge("batchcast_stream_up", "1 if the stream's producer answers, 0 if it does not.",
                   labels, kept.seen.answers ? 1 : 0);
    if (!kept.seen.answers) continue;
    const Stream& stream = kept.seen.now;
    add_stream(families, labels, stream);
    if (stream.making) {
      add_making(families, labels, *stream.making);
      families.counter("batchcast_saved_cpu_seconds_total",
                       "Processor time that a producer for each consumer would have taken more.",
                       labels, kept.saved_cpu_seconds);
    }
    for (std::size_t i = 1; i < observe::limiters; ++i) {
      const auto by = std::string(observe::name_of(static_cast<observe::Limiter>(i)));
      families.counter("batchcast_limited_seconds_total", "Time by what limited the stream.",
                       with(labels, {{"by", by}}), kept.limited_seconds[i]);
    }
    add_rings(families, labels, stream);
    add_consumers(families, labels, kept.consumers);
  }
  return families.take();
}

}  // namespace batchcast::inline v0_1::metrics

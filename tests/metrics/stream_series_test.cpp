// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/stream_series.hpp"

#include <prometheus/text_serializer.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::metrics;

namespace {

observe::Trainer trainer(std::uint64_t id, std::string name, std::uint64_t samples) {
  observe::Trainer made;
  made.id = id;
  made.name = std::move(name);
  made.state = "running";
  made.samples = samples;
  made.wait_seconds = static_cast<double>(samples) / 100;
  made.lag = id;
  return made;
}

observe::SeenStream seen_stream(double uptime_s, std::vector<observe::Trainer> trainers) {
  observe::SeenStream seen;
  seen.name = "images";
  seen.state = "running";
  seen.answers = true;
  seen.now.pid = 7;
  seen.now.state = "running";
  seen.now.uptime_seconds = uptime_s;
  seen.now.samples = static_cast<std::uint64_t>(uptime_s * 10);
  seen.now.trainers = std::move(trainers);
  return seen;
}

observe::Overview overview_of(observe::SeenStream seen) {
  observe::Overview overview;
  overview.streams.push_back(std::move(seen));
  return overview;
}

std::string text_of(const StreamSeries& series) {
  return prometheus::TextSerializer().Serialize(series.Collect());
}

/// The value of the one series of that name and those labels; `absent` where there is none.
std::string value_of(const StreamSeries& series, const std::string& name) {
  std::istringstream lines(text_of(series));
  std::string found = "absent";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + " ")) continue;
    REQUIRE(found == "absent");
    found = line.substr(name.size() + 1);
  }
  return found;
}

std::string samples_of(const StreamSeries& series, const std::string& consumer) {
  return value_of(
      series, "batchcast_consumer_samples_total{stream=\"images\",consumer=\"" + consumer + "\"}");
}

}  // namespace

TEST_CASE("consumers beyond the places count under other, which never falls", "[metrics]") {
  StreamSeries series({.consumers = 2});
  series.look(
      overview_of(seen_stream(1, {trainer(1, "a", 10), trainer(2, "b", 20), trainer(3, "c", 30)})));
  CHECK(samples_of(series, "a") == "10");
  CHECK(samples_of(series, "b") == "20");
  CHECK(samples_of(series, "c") == "absent");
  CHECK(samples_of(series, "other") == "30");
  // One of `other` leaves, and one with a place: its series goes, the sum of `other` stays.
  series.look(overview_of(seen_stream(2, {trainer(1, "a", 15), trainer(4, "d", 5)})));
  CHECK(samples_of(series, "a") == "15");
  CHECK(samples_of(series, "b") == "absent");
  CHECK(samples_of(series, "d") == "5");
  CHECK(samples_of(series, "other") == "30");
  CHECK(value_of(series, "batchcast_consumers{stream=\"images\"}") == "2");
}

TEST_CASE("who counts under other stays there, also when a place is free", "[metrics]") {
  StreamSeries series({.consumers = 1});
  series.look(overview_of(seen_stream(1, {trainer(1, "a", 10), trainer(2, "b", 20)})));
  series.look(overview_of(seen_stream(2, {trainer(2, "b", 25)})));
  CHECK(samples_of(series, "b") == "absent");
  CHECK(samples_of(series, "other") == "25");
  series.look(overview_of(seen_stream(3, {trainer(2, "b", 25), trainer(3, "b", 1)})));
  CHECK(samples_of(series, "b") == "1");
  CHECK(samples_of(series, "other") == "25");
}

TEST_CASE("consumers of one name are one series", "[metrics]") {
  StreamSeries series({.consumers = 4});
  series.look(overview_of(seen_stream(1, {trainer(1, "rank", 10), trainer(2, "rank", 20)})));
  CHECK(samples_of(series, "rank") == "30");
  CHECK(value_of(series, "batchcast_consumer_lag_samples{stream=\"images\",consumer=\"rank\"}") ==
        "2");
  series.look(overview_of(seen_stream(2, {trainer(2, "rank", 21)})));
  CHECK(samples_of(series, "rank") == "31");
}

TEST_CASE("a consumer that is named other has no place", "[metrics]") {
  StreamSeries series({.consumers = 1});
  series.look(overview_of(seen_stream(1, {trainer(1, "other", 10), trainer(2, "b", 20)})));
  CHECK(samples_of(series, "other") == "10");
  CHECK(samples_of(series, "b") == "20");
}

TEST_CASE("counters of consumers do not fall while their stream lives", "[metrics]") {
  StreamSeries series({.consumers = 1});
  series.look(overview_of(seen_stream(1, {trainer(1, "a", 10), trainer(2, "b", 20)})));
  series.look(overview_of(seen_stream(2, {trainer(1, "a", 4), trainer(2, "b", 3)})));
  CHECK(samples_of(series, "a") == "10");
  CHECK(samples_of(series, "other") == "20");
}

TEST_CASE("who only looks is no consumer", "[metrics]") {
  StreamSeries series({.consumers = 4});
  observe::Trainer peek = trainer(1, "peek", 0);
  peek.state = "observing";
  series.look(overview_of(seen_stream(1, {peek})));
  CHECK(samples_of(series, "peek") == "absent");
  CHECK(value_of(series, "batchcast_consumers{stream=\"images\"}") == "0");
}

TEST_CASE("time counts for what limited it", "[metrics]") {
  const std::string decoding = "batchcast_limited_seconds_total{stream=\"images\",by=\"decoding\"}";
  StreamSeries series({});
  observe::SeenStream seen = seen_stream(10, {});
  seen.limit.by = observe::Limiter::decoding;
  series.look(overview_of(seen));
  CHECK(value_of(series, decoding) == "0");
  seen.now.uptime_seconds = 13;
  series.look(overview_of(seen));
  CHECK(value_of(series, decoding) == "3");
  // Another run of the producer begins again.
  seen.now.uptime_seconds = 2;
  series.look(overview_of(seen));
  CHECK(value_of(series, decoding) == "0");
}

TEST_CASE("a stream that does not answer is down, and goes on counting later", "[metrics]") {
  StreamSeries series({.consumers = 0});
  series.look(overview_of(seen_stream(1, {trainer(1, "a", 10)})));
  observe::SeenStream silent = seen_stream(1, {});
  silent.answers = false;
  silent.now = {};
  silent.state = "silent";
  series.look(overview_of(silent));
  CHECK(value_of(series, "batchcast_stream_up{stream=\"images\"}") == "0");
  CHECK(samples_of(series, "other") == "absent");
  series.look(overview_of(seen_stream(2, {trainer(1, "a", 12)})));
  CHECK(value_of(series, "batchcast_stream_up{stream=\"images\"}") == "1");
  CHECK(samples_of(series, "other") == "12");
  series.look({});
  CHECK(value_of(series, "batchcast_stream_up{stream=\"images\"}") == "absent");
}

TEST_CASE("what sharing saved never falls", "[metrics]") {
  const std::string saved = "batchcast_saved_cpu_seconds_total{stream=\"images\"}";
  StreamSeries series({});
  observe::SeenStream seen = seen_stream(10, {});
  seen.now.making = observe::Making{};
  seen.now.making->cpu_seconds = 5;
  seen.now.samples = 100;
  seen.now.delivered = 300;
  series.look(overview_of(seen));
  CHECK(value_of(series, saved) == "10");
  seen.now.samples = 300;
  series.look(overview_of(seen));
  CHECK(value_of(series, saved) == "10");
}

TEST_CASE("each series is there once, whatever streams and rings are called", "[metrics]") {
  StreamSeries series({.consumers = 4, .user = "root"});
  observe::SeenStream seen = seen_stream(1, {trainer(1, "\"\\<script>", 10)});
  seen.now.rings.push_back({"cuda:1", "GPU-1", 64, 4096, 10, 5, "running", {}});
  seen.now.rings.push_back({"cuda:1", "GPU-2", 64, 4096, 10, 5, "running", {}});
  seen.now.rings.push_back(
      {"host", "host", 64, 4096, 10, 5, "running", {{"t", 9, 1}, {"t", 9, 2}}});
  observe::Overview overview = overview_of(seen);
  overview.streams.push_back(seen);
  overview.streams.back().owner = "ann";
  overview.streams.push_back(seen);  // in another directory
  series.look(overview);
  CHECK(value_of(series,
                 "batchcast_consumer_samples_total{stream=\"images\",user=\"ann\",consumer=\""
                 "\\\"\\\\<script>\"}") == "10");
  CHECK(value_of(series,
                 "batchcast_ring_used_samples{stream=\"images\",user=\"root\",placement=\"cuda:1\","
                 "gpu=\"1\",UUID=\"GPU-1\"}") == "5");
  std::set<std::string> names;
  std::istringstream lines(text_of(series));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    CHECK(names.insert(line.substr(0, line.rfind(' '))).second);
  }
}

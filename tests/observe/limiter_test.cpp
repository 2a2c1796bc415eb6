// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/limiter.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::observe;
using Catch::Contains;

namespace {

/// A trainer after 10 s that had `samples`, and waited this long of them.
Trainer trainer(std::uint64_t id, const std::string& name, std::uint64_t samples, double waited,
                double waited_for = 0) {
  Trainer made;
  made.id = id;
  made.name = name;
  made.state = "running";
  made.batch_size = 10;
  made.lag = 100;
  made.samples = samples;
  made.wait_seconds = waited;
  made.waited_for_seconds = waited_for;
  return made;
}

Stream stream_with(std::vector<Trainer> trainers) {
  Stream stream;
  stream.name = "s";
  stream.pid = 7;
  stream.state = "running";
  stream.uptime_seconds = 10;
  stream.processors = 8;
  stream.samples = 1000;
  stream.trainers = std::move(trainers);
  Making making;
  making.workers = 2;
  making.making_seconds = 18;
  making.reading_seconds = 1;
  making.cpu_seconds = 20;
  making.decoding_seconds = 12;
  stream.making = making;
  return stream;
}

}  // namespace

TEST_CASE("decoding limits where all trainers wait", "[observe]") {
  const Stream stream = stream_with({trainer(1, "a", 900, 5), trainer(2, "b", 900, 6)});
  const Limit limit = limit_of({}, stream, 2.1);
  CHECK(limit.by == Limiter::decoding);
  CHECK(limit.text == "decoding limits; 2 of 8 processors are idle: `batchcast set s workers=4`");
  CHECK(
      limit_of({}, stream, 0.2).text ==
      "decoding limits; no processor is idle: `--cache` spares decoding, `--finish-on-gpu` leaves "
      "the end of each image to a GPU");
  CHECK(limit_of({}, stream, -1).text == "decoding limits");
}

TEST_CASE("the limiter advises nothing that does not help", "[observe]") {
  Stream stream = stream_with({trainer(1, "a", 900, 5)});
  stream.making->has_cache = true;
  CHECK_THAT(limit_of({}, stream, 0.2).text, !Contains("--cache"));
  CHECK_THAT(limit_of({}, stream, 0.2).text, Contains("--finish-on-gpu"));
  stream.making->has_cache = false;
  stream.making->decoding_seconds = 1;  // the rest of the recipe takes longer
  CHECK_THAT(limit_of({}, stream, 0.2).text, !Contains("--cache"));
  stream.making->decoding_seconds.reset();  // texts and made up samples
  CHECK(limit_of({}, stream, 0.2).text == "making samples limits; no processor is idle");
}

TEST_CASE("workers that wait do not limit, nor is there advice to add some", "[observe]") {
  Stream stream = stream_with({trainer(1, "a", 900, 5)});
  stream.making->waiting_seconds = 57;
  Limit limit = limit_of({}, stream, 4);
  CHECK(limit.by == Limiter::room);
  CHECK(limit.text ==
        "workers wait for room 75% of their time, and trainers for samples: a larger ring "
        "(`--memory`) or smaller batches let both go on");
  limit = limit_of({}, stream, 0.1);
  CHECK(limit.by == Limiter::room);
  CHECK_THAT(limit.text, Contains("no processor is idle") && !Contains("--cache"));
  stream.waits_for = "demand";
  limit = limit_of({}, stream, 4);
  CHECK(limit.by == Limiter::demand);
  CHECK_THAT(limit.text, Contains("`batchcast set s ahead=N`"));
  // Workers whose numbers are not newer than the last look's say nothing.
  Stream soon = stream;
  soon.uptime_seconds = 10.1;
  soon.trainers[0].samples += 10;
  soon.trainers[0].wait_seconds += 0.05;
  CHECK(limit_of(stream, soon, 4).by == Limiter::nothing);
  // Only what they did since the last look counts.
  Stream later = stream;
  later.uptime_seconds = 11;
  later.making->making_seconds += 2;
  later.trainers[0].samples += 100;
  later.trainers[0].wait_seconds += 0.5;
  CHECK(limit_of(stream, later, 4).by == Limiter::making);
  later.making->decoding_seconds = 13.5;
  CHECK(limit_of(stream, later, 4).by == Limiter::decoding);
}

TEST_CASE("making limits where little of it is decoding, and reading where that takes longer",
          "[observe]") {
  Stream stream = stream_with({trainer(1, "a", 900, 5)});
  stream.making->decoding_seconds = 1;
  CHECK(limit_of({}, stream, -1).by == Limiter::making);
  stream.making->reading_seconds = 54;
  const Limit limit = limit_of({}, stream, -1);
  CHECK(limit.by == Limiter::reading);
  CHECK_THAT(limit.text, Contains("75%"));
}

TEST_CASE("one trainer that takes longer limits those who wait for it", "[observe]") {
  const Stream stream = stream_with({trainer(1, "fast", 1000, 2.5), trainer(2, "quick", 1000, 2.5),
                                     trainer(3, "lr-0.1", 1000, 0, 8)});
  const Limit limit = limit_of({}, stream, 4);
  CHECK(limit.by == Limiter::trainer);
  CHECK(limit.trainer == "lr-0.1");
  CHECK(limit.text == "`lr-0.1` takes 33% longer than the others, who wait for it");
}

TEST_CASE("trainers of one pace limit together, and one alone by itself", "[observe]") {
  const Stream two = stream_with({trainer(1, "a", 1000, 0.1, 4), trainer(2, "b", 1000, 0.1, 4)});
  CHECK(limit_of({}, two, 4).by == Limiter::trainers);
  const Stream one = stream_with({trainer(1, "a", 1000, 0.1, 8)});
  CHECK_THAT(limit_of({}, one, 4).text, Contains("`a` limits"));
}

TEST_CASE("only the time between two looks counts", "[observe]") {
  const Stream before = stream_with({trainer(1, "a", 1000, 9)});
  Stream now = stream_with({trainer(1, "a", 3000, 9, 1)});
  now.uptime_seconds = 12;
  CHECK(rate_of(before, now, now.trainers[0]) == 1000.0);
  CHECK(wait_share_of(before, now, now.trainers[0]) == 0);
  CHECK(waited_for_share_of(before, now, now.trainers[0]) == 0.5);
  CHECK(limit_of(before, now, 4).by == Limiter::trainers);
  now.pid = 8;  // another producer: what the first one counted says nothing
  now.uptime_seconds = 10;
  CHECK(rate_of(before, now, now.trainers[0]) == 300.0);
  CHECK(wait_share_of(before, now, now.trainers[0]) == 0.9);
}

TEST_CASE("a wait that goes on is seen before it is counted", "[observe]") {
  const Stream before = stream_with({trainer(1, "a", 1000, 2)});
  Stream now = before;
  now.uptime_seconds = 11;
  now.trainers[0].lag = 3;
  CHECK(wait_share_of(before, now, now.trainers[0]) == 1);
  now.trainers[0].lag = 30;  // it could go on
  CHECK(wait_share_of(before, now, now.trainers[0]) == 0);
}

TEST_CASE("streams that make nothing say why", "[observe]") {
  Stream stream = stream_with({});
  CHECK(limit_of({}, stream, 4).by == Limiter::demand);
  stream.consumers_to_come = 2;
  CHECK_THAT(limit_of({}, stream, 4).text, Contains("2 more trainers"));
  stream.state = "failed";
  CHECK(limit_of({}, stream, 4).by == Limiter::ended);
  Stream stopped = stream_with({trainer(1, "a", 1, 0)});
  stopped.trainers[0].state = "stopped";
  stopped.trainers[0].pid = 42;
  CHECK_THAT(limit_of({}, stopped, 4).text, Contains("kill -CONT 42"));
}

TEST_CASE("what sharing saved counts what each trainer had", "[observe]") {
  Stream stream = stream_with({});
  stream.delivered = 4000;
  CHECK(separate_cpu_seconds(stream) == 80.0);
  CHECK(saved_cpu_seconds(stream) == 60.0);
  stream.delivered = 500;
  CHECK(saved_cpu_seconds(stream) == 0.0);
  stream.making.reset();
  CHECK_FALSE(saved_cpu_seconds(stream));
}

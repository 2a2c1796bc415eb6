// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <batchcast/core/error.hpp>

using namespace batchcast;
using namespace batchcast::testing;

TEST_CASE("where consumers join") {
  HeapRing ring(30, epochs_of(10, 8));
  HeapConsumer slow(ring, joining(Join::rewind));
  ring.produce(64);
  SECTION("rewind: the epoch of the slowest, from its start") {
    take_and_return(slow, 4);
    CHECK(HeapConsumer(ring, joining(Join::rewind)).admitted.position == 0);
  }
  SECTION("rewind: the next one, where that start is gone") {
    take_and_return(slow, 4);
    while (ring.produce(64) != 0) {
    }  // claimed is 34 now: positions below 4 are gone
    CHECK(HeapConsumer(ring, joining(Join::rewind)).admitted.position == 10);
  }
  SECTION("next_epoch: the first start of which nothing was handed out") {
    while (ring.produce(64) != 0) {
    }
    CHECK(HeapConsumer(ring, joining(Join::next_epoch)).admitted.position == 30);
  }
  SECTION("now: the newest") {
    Ticket ticket;
    REQUIRE(ring.writer().claim(5, 0, ticket) == Claim::granted);
    CHECK(HeapConsumer(ring, joining(Join::now)).admitted.position == 10);
    ring.publish(ticket);
    CHECK(HeapConsumer(ring, joining(Join::now)).admitted.position == 15);
  }
  SECTION("at: what the ring still holds, or what is to come") {
    take_and_return(slow, 10);
    while (ring.produce(64) != 0) {
    }
    CHECK(HeapConsumer(ring, joining(Join::at, 10)).admitted.position == 10);
    CHECK(HeapConsumer(ring, joining(Join::at, 9)).refused() == NotAdmitted::Reason::cursor_gone);
    CHECK(HeapConsumer(ring, joining(Join::at, 75)).admitted.samples_to_come == 35);
    CHECK(HeapConsumer(ring, joining(Join::at, 80)).refused() == NotAdmitted::Reason::finished);
  }
}

TEST_CASE("who stands at the stream's end does not close its last epoch to those who come") {
  HeapRing ring(30, epochs_of(10, 1));
  HeapConsumer done(ring, joining(Join::rewind));
  ring.produce(64);
  take_and_return(done, 10);
  HeapConsumer late(ring, joining(Join::rewind));
  REQUIRE_FALSE(late.refused());
  CHECK(late.admitted.position == 0);
}

TEST_CASE("a full board refuses, and a place left is free again") {
  HeapRing ring(8, epochs_of(8), 2);
  HeapConsumer a(ring, joining(Join::rewind)), b(ring, joining(Join::rewind));
  CHECK(b.admitted.name == "c-2");
  CHECK(HeapConsumer(ring, joining(Join::rewind)).refused() == NotAdmitted::Reason::full);
  ring.writer().remove(a.admitted.index, a.admitted.consumer_id);
  CHECK_FALSE(HeapConsumer(ring, joining(Join::rewind)).refused());
}

TEST_CASE("wait_for holds back the first publication only") {
  auto options = epochs_of(100);
  options.wait_for = 2;
  HeapRing ring(10, options);
  HeapConsumer a(ring, joining(Join::rewind));
  CHECK(ring.produce(10) == 10);
  Run run;
  CHECK(a.reader->next(4, 0, run) == Next::timed_out);
  {
    HeapConsumer b(ring, joining(Join::rewind));
    CHECK(take(a, 4).position == 0);
    CHECK(take(b, 4).position == 0);
    ring.writer().remove(b.admitted.index, b.admitted.consumer_id);
  }
  CHECK(take(a, 4).position == 4);
}

TEST_CASE("eviction revokes, and the place can be another's") {
  HeapRing ring(10, epochs_of(100), 1);
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  const Run run = take(consumer, 4);
  CHECK_NOTHROW(consumer.reader->check());
  CHECK(ring.writer().evict(consumer.admitted.index, consumer.admitted.consumer_id));
  CHECK_THROWS_AS(consumer.reader->check(), Revoked);
  HeapConsumer other(ring, joining(Join::now));
  CHECK(other.admitted.index == consumer.admitted.index);
  CHECK_THROWS_AS(consumer.reader->check(), Revoked);
  CHECK_NOTHROW(other.reader->check());
  consumer.reader->give_back(run.lease);
  CHECK_FALSE(ring.writer().evict(consumer.admitted.index, consumer.admitted.consumer_id));
}

TEST_CASE("a desk that breaks the rules evicts its consumer and nobody else") {
  auto options = epochs_of(100);
  std::vector<std::string> reasons;
  options.on_evicted = [&](std::uint64_t, const std::string& reason) { reasons.push_back(reason); };
  HeapRing ring(10, options);
  HeapConsumer good(ring, joining(Join::rewind)), bad(ring, joining(Join::rewind));
  ring.produce(10);
  take_and_return(good, 10);
  SECTION("beyond the epoch of the last sample") { bad.desk().released = 101; }
  SECTION("huge") { bad.desk().released = ~std::uint64_t{0}; }
  SECTION("skipping where ends are known") { bad.desk().skipping = 1; }
  SECTION("falling") {
    take_and_return(bad, 5);
    ring.produce(1);
    take_and_return(good, 1);
    bad.desk().released = 4;
  }
  while (ring.produce(10) != 0) {
  }
  CHECK(reasons.size() == 1);
  CHECK_THROWS_AS(bad.reader->check(), Revoked);
  CHECK_NOTHROW(good.reader->check());
  CHECK(ring.writer().status().published >= 19);
}

TEST_CASE("one that comes back may have left the epoch that it comes to") {
  HeapRing ring(20, epochs_of(10, 8));  // so nothing of that epoch is published
  HeapConsumer slow(ring, joining(Join::rewind));
  const std::uint64_t begin = GENERATE(25, 30);
  AdmitRequest request = joining(Join::at, begin);
  request.in_loop = GENERATE(true, false);
  HeapConsumer comes(ring, request);
  ring.produce(4);
  ordered::set_release(comes.desk().released, begin == 25 ? 30 : 40);
  while (ring.produce(64) != 0) {
  }
  // At an epoch's beginning only one that says so is within that epoch.
  if (begin == 25 || request.in_loop) {
    CHECK_NOTHROW(comes.reader->check());
  } else {
    CHECK_THROWS_AS(comes.reader->check(), Revoked);
  }
}

TEST_CASE("a stall is reported with what is held, and evicted if so chosen") {
  auto options = epochs_of(100);
  options.stall_timeout_ms = 150;
  std::vector<std::string> lines;
  options.log = [&](LogLevel, std::string_view text) { lines.emplace_back(text); };
  SECTION("report") {
    HeapRing ring(10, options);
    HeapConsumer consumer(ring, joining(Join::rewind));
    ring.produce(10);
    take(consumer, 4);
    Ticket ticket;
    CHECK(ring.writer().claim(1, 700, ticket) == Claim::timed_out);
    REQUIRE(!lines.empty());
    CHECK_THAT(lines[0],
               Catch::Contains("`c`") && Catch::Contains("holds a batch from position 0"));
    CHECK_NOTHROW(consumer.reader->check());
    CHECK(ring.writer().status().consumers[0].state == ConsumerState::stalled);
  }
  SECTION("of one that holds nothing") {
    HeapRing ring(10, options);
    HeapConsumer consumer(ring, joining(Join::rewind)), first(ring, joining(Join::rewind));
    ring.produce(10);
    take_and_return(first, 10);
    const bool had_one = GENERATE(false, true);
    if (had_one) {
      take_and_return(consumer, 4);
      ring.produce(4);
      consumer.desk().oldest_lease_since_ns = now_ns() - 75'000'000'000;
    }
    Ticket ticket;
    for (int looks = 0; lines.empty() && looks < 100; ++looks) {
      CHECK(ring.writer().claim(1, 60, ticket) == Claim::timed_out);
    }
    REQUIRE(!lines.empty());
    CHECK_THAT(lines[0], Catch::Contains(had_one ? "at position 4" : "at position 0"));
    if (had_one) {
      CHECK_THAT(lines[0], Catch::Matches(".*, and got its last one 7[5-9] s ago\\. .*"));
    } else {
      CHECK_THAT(lines[0], !Catch::Contains("last one"));
    }
  }
  SECTION("of one that is alone where no more is made ahead of it") {
    options.ahead = 1;
    HeapRing ring(1'000, options);
    HeapConsumer consumer(ring, joining(Join::rewind));
    while (ring.produce(64) != 0) {
    }
    take(consumer, 4);
    Ticket ticket;
    while (ring.writer().claim(64, 700, ticket) == Claim::granted) ring.publish(ticket);
    REQUIRE(!lines.empty());
    CHECK_THAT(lines[0], Catch::Contains("holds a batch from position 0"));
  }
  SECTION("listed before it is reported") {
    options.stall_timeout_ms = 3600;
    HeapRing ring(10, options);
    HeapConsumer consumer(ring, joining(Join::rewind));
    ring.produce(10);
    CHECK(ring.writer().status().consumers[0].state == ConsumerState::running);
    Ticket ticket;
    CHECK(ring.writer().claim(1, 700, ticket) == Claim::timed_out);
    CHECK(ring.writer().status().consumers[0].state == ConsumerState::stalled);
    CHECK(lines.empty());
  }
  SECTION("not while the stream waits for other consumers") {
    options.wait_for = 2;
    options.stall_timeout_ms = 50;
    HeapRing ring(10, options);
    HeapConsumer consumer(ring, joining(Join::rewind));
    ring.produce(10);
    Ticket ticket;
    CHECK(ring.writer().claim(1, 150, ticket) == Claim::timed_out);
    CHECK(ring.writer().status().waits_for == WaitsFor::consumers);
    CHECK(ring.writer().status().consumers[0].state == ConsumerState::running);
    CHECK(lines.empty());
  }
  SECTION("evict") {
    options.on_stall = OnStall::evict;
    HeapRing ring(10, options);
    HeapConsumer consumer(ring, joining(Join::rewind)), other(ring, joining(Join::rewind));
    ring.produce(10);
    take_and_return(other, 10);
    Ticket ticket;
    CHECK(ring.writer().claim(1, 3000, ticket) == Claim::granted);
    CHECK_NOTHROW(other.reader->check());
    CHECK_THROWS_AS(consumer.reader->check(), Revoked);
  }
}

TEST_CASE("how far trainers were given samples, of all that are there or were") {
  HeapRing ring(100, epochs_of(1000, 1));
  const auto read_to = [&] { return ring.writer().status().read_to; };
  const auto leave = [&](const HeapConsumer& consumer) {
    ring.writer().remove(consumer.admitted.index, consumer.admitted.consumer_id);
  };
  ring.produce(50);
  AdmitRequest observing;
  observing.observes = true;
  const HeapConsumer observer(ring, observing), idle(ring, joining(Join::rewind));
  CHECK(read_to() == 0);
  HeapConsumer far(ring, joining(Join::rewind)), near(ring, joining(Join::rewind));
  take(near, 10);
  take(far, 30);  // held until its end
  CHECK(read_to() == 30);
  leave(far);
  leave(idle);
  CHECK(read_to() == 30);
  take(near, 35);
  CHECK(read_to() == 45);
  near.desk().cursor = 1'000'000;  // it may say anything
  leave(near);
  CHECK(read_to() == 50);
  CHECK(ring.writer().status().samples_published == 50);
}

namespace {

AdmitRequest at_free_pace() {
  AdmitRequest request;
  request.pace = Pace::free;
  return request;
}

RingReader::Options on_a_miss(OnMiss on_miss) {
  RingReader::Options options;
  options.on_miss = on_miss;
  return options;
}

}  // namespace

TEST_CASE("free pace: demands, never gates, and misses what is gone") {
  for (const OnMiss on_miss : {OnMiss::skip, OnMiss::error}) {
    HeapRing ring(10, epochs_of(1000));
    HeapConsumer fast(ring, joining(Join::rewind));
    HeapConsumer slow(ring, at_free_pace(), on_a_miss(on_miss));
    ring.produce(10);
    Run run;
    REQUIRE(slow.reader->next(4, 0, run) == Next::batch);
    std::vector<std::uint64_t> ids(4);
    CHECK(slow.reader->copied(run, ids));
    REQUIRE(slow.reader->next(4, 0, run) == Next::batch);
    CHECK(run.position == 4);
    take_and_return(fast, 10);
    CHECK(ring.produce(10) == 10);
    CHECK_FALSE(slow.reader->copied(run, ids));  // overwritten while it was being copied
    if (on_miss == OnMiss::error) {
      CHECK_THROWS_AS(slow.reader->next(4, 0, run), Missed);
    }
    REQUIRE(slow.reader->next(4, 0, run) == Next::batch);
    CHECK(run.position == 15);
    CHECK(slow.reader->status().skipped == 11);
  }
}

TEST_CASE("free pace: the end of an epoch that was missed is told before the next one's samples") {
  for (const OnMiss on_miss : {OnMiss::skip, OnMiss::error}) {
    for (const bool leaves : {false, true}) {
      HeapRing ring(10, epochs_of(0));
      HeapConsumer fast(ring, joining(Join::rewind));
      HeapConsumer slow(ring, at_free_pace(), on_a_miss(on_miss));
      ring.produce(2);
      Run run;
      REQUIRE(slow.reader->next(1, 0, run) == Next::batch);
      CHECK(slow.reader->copied(run, std::vector<std::uint64_t>(1)));
      // More epochs than the board remembers, so that it does not say any more how this one ended.
      Run seen;
      for (std::uint64_t epoch = 0; epoch <= limits::epochs_on_board; ++epoch) {
        if (epoch != 0) REQUIRE(ring.produce(2) == 2);
        ring.writer().end_epoch();
        take_and_return(fast, 2);
        REQUIRE(fast.reader->next(1, 0, seen) == Next::end_of_epoch);
      }
      REQUIRE(ring.produce(2) == 2);
      if (on_miss == OnMiss::error) CHECK_THROWS_AS(slow.reader->next(1, 0, run), Missed);
      if (leaves && on_miss == OnMiss::error) {
        slow.reader->leave_epoch();
      } else {
        REQUIRE(slow.reader->next(1, 0, run) == Next::end_of_epoch);
      }
      CHECK(slow.reader->between_epochs());
      CHECK(slow.reader->status().epochs_unknown == 1);
      REQUIRE(slow.reader->next(1, 0, run) == Next::batch);
      CHECK(run.epoch > limits::epochs_on_board - 10);
    }
  }
}

TEST_CASE("with free consumers only, the producer stays at most C ahead of the foremost") {
  HeapRing ring(10, epochs_of(1000));
  HeapConsumer consumer(ring, at_free_pace());
  CHECK(ring.produce(20) == 10);
  CHECK(ring.produce(20) == 0);
  Run run;
  REQUIRE(consumer.reader->next(6, 0, run) == Next::batch);
  const std::vector<std::uint64_t> ids(6);
  CHECK(consumer.reader->copied(run, ids));
  CHECK(ring.produce(20) == 6);
}

TEST_CASE("let_go: gates only inside a loop, and every loop joins anew") {
  HeapRing ring(10, epochs_of(20));
  AdmitRequest request;
  request.between_epochs = BetweenEpochs::let_go;
  HeapConsumer a(ring, request), b(ring, request);
  auto& writer = ring.writer();
  const auto loop = [&](HeapConsumer& consumer) {
    const auto reply =
        writer.resume(consumer.admitted.index, consumer.admitted.consumer_id, Join::rewind, 0);
    const std::uint64_t start = std::get<std::uint64_t>(reply);
    consumer.reader->move_to(start);
    Run run;
    for (;;) {
      while (ring.produce(5) != 0) {
      }
      if (consumer.reader->next(5, 0, run) != Next::batch) break;
      consumer.reader->give_back(run.lease);
    }
    writer.pause(consumer.admitted.index, consumer.admitted.consumer_id);
    return start;
  };
  CHECK(loop(a) == 0);
  CHECK(loop(a) == 20);
  CHECK(loop(b) >= 40);
  CHECK(loop(a) > 40);
}

TEST_CASE(
    "let_go after an epoch of unknown length was left: the next loop begins where it is told") {
  HeapRing ring(10, epochs_of(0));
  AdmitRequest request;
  request.between_epochs = BetweenEpochs::let_go;
  HeapConsumer consumer(ring, request);
  auto& writer = ring.writer();
  const auto resume = [&] {
    const auto reply =
        writer.resume(consumer.admitted.index, consumer.admitted.consumer_id, Join::rewind, 0);
    const std::uint64_t start = std::get<std::uint64_t>(reply);
    consumer.reader->move_to(start);
    return start;
  };
  CHECK(resume() == 0);
  ring.produce(10);
  take_and_return(consumer, 2);
  consumer.reader->leave_epoch();  // its end is not known: the desk says that it is skipped
  writer.pause(consumer.admitted.index, consumer.admitted.consumer_id);
  writer.end_epoch();
  HeapConsumer other(ring, joining(Join::next_epoch));
  for (int epoch = 1; epoch < 3; ++epoch) {
    CHECK(ring.produce(10) == 10);
    take_and_return(other, 10);
    writer.end_epoch();
    Run run;
    CHECK(other.reader->next(10, 0, run) == Next::end_of_epoch);
  }
  CHECK(ring.produce(5) == 5);
  const std::uint64_t start = resume();
  CHECK(start == 30);
  ring.produce(1);  // which looks at every desk
  CHECK(take(consumer, 1).position == start);
  CHECK_NOTHROW(consumer.reader->check());
}

TEST_CASE("who was evicted does not read on when it leaves its loop") {
  HeapRing ring(10, epochs_of(1'000'000));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  take_and_return(consumer, 2);
  CHECK(ring.writer().evict(consumer.admitted.index, consumer.admitted.consumer_id));
  HeapConsumer far_ahead(ring, joining(Join::at, 2'000'000));
  CHECK(ring.produce(10) == 10);  // the stream jumps
  consumer.reader->leave_epoch();
  CHECK_THROWS_AS(consumer.reader->check(), Revoked);
  CHECK(consumer.reader->status().epochs_matched == 0);
}

TEST_CASE("a desk that breaks the rules while the stream drains is told of as well") {
  auto options = epochs_of(10, 1);
  int told = 0;
  options.on_evicted = [&](std::uint64_t, const std::string&) { ++told; };
  HeapRing ring(10, options);
  HeapConsumer bad(ring, joining(Join::rewind));
  CHECK(ring.produce(10) == 10);
  bad.desk().released = 11;
  CHECK(ring.writer().wait_drained(1'000));
  CHECK(told == 1);
}

TEST_CASE("a desk that breaks the rules at the stream's very end is told of as well") {
  auto options = epochs_of(10, 1);
  int told = 0;
  options.on_evicted = [&](std::uint64_t, const std::string&) { ++told; };
  HeapRing ring(10, options);
  HeapConsumer bad(ring, joining(Join::rewind));
  CHECK(ring.produce(10) == 10);
  bad.desk().released = 11;
  CHECK(ring.writer().close());
  CHECK(told == 1);
}

TEST_CASE("a stream that was read ends finished, although it waits for an announced trainer") {
  HeapRing ring(10, epochs_of(10, 1));
  AdmitRequest observing;
  observing.observes = true;
  const HeapConsumer observer(ring, observing);
  HeapConsumer trainer(ring, joining(Join::rewind));
  CHECK(ring.produce(10) == 10);
  const auto announced =
      ring.writer().resume(observer.admitted.index, observer.admitted.consumer_id, Join::rewind, 0);
  REQUIRE(std::get<std::uint64_t>(announced) == 0);
  const auto state = [&] { return ring.writer().status().state; };
  SECTION("once its samples were read") {
    take(trainer, 10);
    ring.writer().remove(trainer.admitted.index, trainer.admitted.consumer_id);
    CHECK_FALSE(ring.writer().wait_drained(0));
    CHECK(state() == StreamState::draining);
    ring.writer().stop("for the test");
    CHECK(state() == StreamState::finished);
    CHECK(ring.writer().wait_drained(0));
  }
  SECTION("but not before") {
    ring.writer().stop("for the test");
    CHECK(state() == StreamState::stopped);
  }
}

TEST_CASE("who stood far ahead and left has asked for nothing before") {
  HeapRing ring(10, epochs_of(10'000));
  Ticket ticket;
  REQUIRE(ring.writer().claim(5, 0, ticket) == Claim::granted);
  {
    HeapConsumer far_ahead(ring, joining(Join::at, 5'000));
    Ticket none;
    CHECK(ring.writer().claim(5, 0, none) == Claim::timed_out);  // the jump waits for the loan
    ring.writer().remove(far_ahead.admitted.index, far_ahead.admitted.consumer_id);
  }
  ring.publish(ticket);
  while (ring.produce(10) != 0) {
  }
  CHECK(ring.writer().status().published <= 15);
}

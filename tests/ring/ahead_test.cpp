// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <algorithm>
#include <string>
#include <thread>

using namespace batchcast;
using namespace batchcast::testing;

// How far a producer goes ahead of its consumers, and where the next consumer begins.
namespace {

RingWriter::Options ahead_of(std::uint64_t epochs, std::uint64_t samples) {
  RingWriter::Options options = epochs_of(samples);
  options.ahead = epochs;
  return options;
}

/// All that the producer makes now. Where it stands then.
std::uint64_t fill(HeapRing& ring) {
  while (ring.produce(64) != 0) {
  }
  return ring.writer().status().published;
}

/// Takes so many samples, across the ends of epochs, and lets go of them.
void read_on(HeapConsumer& consumer, std::uint64_t samples) {
  while (samples != 0) {
    Run run;
    const Next next = consumer.reader->next(samples, 0, run);
    REQUIRE(next != Next::timed_out);
    if (next != Next::batch) continue;
    samples -= run.size;
    consumer.reader->give_back(run.lease);
  }
}

void leave(HeapRing& ring, const HeapConsumer& consumer) {
  ring.writer().remove(consumer.admitted.index, consumer.admitted.consumer_id);
}

std::uint64_t joined_at(HeapRing& ring, Join join, std::uint64_t cursor = 0) {
  const HeapConsumer consumer(ring, joining(join, cursor));
  REQUIRE_FALSE(consumer.refused());
  leave(ring, consumer);
  return consumer.admitted.position;
}

}  // namespace

TEST_CASE("no consumer there: so many epochs are made, or what the ring holds") {
  HeapRing large(1'000, ahead_of(2, 10));
  CHECK(fill(large) == 20);
  HeapRing small(15, ahead_of(2, 10));
  CHECK(fill(small) == 15);
  HeapRing unbounded(1'000, ahead_of(0, 10));
  CHECK(fill(unbounded) == 1'000);
  RingWriter::Options options = ahead_of(2, 10);
  options.free_running = true;
  HeapRing running(1'000, options);
  for (int i = 0; i < 500; ++i) REQUIRE(running.produce(10) == 10);
}

TEST_CASE("the producer goes so far ahead of the foremost consumer") {
  HeapRing ring(40, ahead_of(2, 10));
  HeapConsumer slow(ring, joining(Join::rewind)), fast(ring, joining(Join::rewind));
  CHECK(fill(ring) == 20);
  take_and_return(fast, 7);
  CHECK(fill(ring) == 27);
  SECTION("and of no other") {
    take_and_return(slow, 5);
    CHECK(fill(ring) == 27);
  }
  SECTION("no further than the slowest lets it") {
    read_on(fast, 13);
    CHECK(fill(ring) == 40);
    read_on(fast, 5);
    CHECK(fill(ring) == 40);
  }
  SECTION("whatever its pace is") {
    AdmitRequest request = joining(Join::rewind);
    request.pace = Pace::free;
    HeapConsumer free(ring, request);
    const Run run = take(free, 9);
    REQUIRE(free.reader->copied(run, std::vector<std::uint64_t>(run.size)));
    CHECK(fill(ring) == 29);
  }
}

TEST_CASE("batches that are kept do not keep what follows them from being made") {
  HeapRing ring(100, ahead_of(1, 10));
  HeapConsumer consumer(ring, joining(Join::rewind));
  std::vector<std::uint64_t> leases;
  for (int epoch = 0; epoch < 9; ++epoch) {
    CHECK(fill(ring) == 10U * (epoch + 1));
    leases.push_back(take(consumer, 10).lease);
    Run run;
    CHECK(consumer.reader->next(10, 0, run) == Next::end_of_epoch);
  }
  SECTION("what a desk says of them moves nothing beyond the ring") {
    consumer.desk().cursor = ~std::uint64_t{0};
    CHECK(fill(ring) == 100);
  }
  SECTION("nor backwards") {
    consumer.desk().cursor = 0;
    for (const std::uint64_t lease : leases) consumer.reader->give_back(lease);
    CHECK(fill(ring) == 100);
  }
}

TEST_CASE("epochs of unknown length: whole ones are counted") {
  HeapRing ring(1'000, ahead_of(2, 0));
  const auto make_epoch = [&](std::uint64_t samples) {
    const std::uint64_t made = ring.produce(samples);
    if (made != 0) ring.writer().end_epoch();
    return made;
  };
  CHECK(make_epoch(5) == 5);
  CHECK(make_epoch(9) == 9);
  CHECK(make_epoch(3) == 0);
  HeapConsumer consumer(ring, joining(Join::rewind));
  CHECK(consumer.admitted.position == 0);
  take_and_return(consumer, 2);
  CHECK(make_epoch(3) == 3);  // the third, while the first is read
  CHECK(make_epoch(3) == 0);
  SECTION("from whoever asks for the one that is to come") {
    const HeapConsumer late(ring, joining(Join::next_epoch));
    CHECK(make_epoch(3) == 3);
    CHECK(make_epoch(3) == 3);
    CHECK(make_epoch(3) == 0);
  }
}

TEST_CASE("a producer that is far enough ahead is woken by the foremost consumer") {
  HeapRing ring(4'096, ahead_of(1, 4));
  HeapConsumer slow(ring, joining(Join::rewind)), fast(ring, joining(Join::rewind));
  constexpr std::uint64_t epochs = 200;
  std::thread producer([&] {
    for (std::uint64_t made = 0; made < 4 * epochs;) made += ring.produce(3, -1);
  });
  const auto read = [&](HeapConsumer& consumer, bool waits) {
    for (std::uint64_t taken = 0; taken < 4 * epochs;) {
      while (waits && taken % 4 == 0 && taken < 4 * epochs - 4 &&
             ring.writer().status().waits_for != WaitsFor::demand) {
        std::this_thread::yield();
      }
      const std::uint64_t waits_for = ordered::get(ring.board().progress().sleeping_on);
      if (waits_for != 0 && taken >= 8)
        REQUIRE(waits_for == fast.admitted.consumer_id);  // no tie now
      Run run;
      const Next next = consumer.reader->next(2, 5'000, run);
      REQUIRE(next != Next::timed_out);
      if (next != Next::batch) continue;
      taken += run.size;
      consumer.reader->give_back(run.lease);
    }
  };
  read(fast, true);
  producer.join();
  read(slow, false);
  CHECK(ring.writer().status().late_wakeups == 0);
}

TEST_CASE("what a producer waits for is told") {
  HeapRing ring(30, ahead_of(2, 10));
  const auto waits_for = [&] {
    WaitsFor seen = WaitsFor::nothing;
    std::thread producer([&] {
      Ticket ticket;
      while (ring.writer().claim(1, -1, ticket) == Claim::granted) ring.publish(ticket);
    });
    while (seen == WaitsFor::nothing) seen = ring.writer().status().waits_for;
    ring.writer().stop("seen");
    producer.join();
    return seen;
  };
  SECTION("no consumer is there") { CHECK(waits_for() == WaitsFor::demand); }
  SECTION("the foremost is far enough behind") {
    HeapConsumer consumer(ring, joining(Join::rewind));
    CHECK(waits_for() == WaitsFor::demand);
  }
  SECTION("the ring is full") {
    HeapConsumer slow(ring, joining(Join::rewind)), fast(ring, joining(Join::rewind));
    fill(ring);
    read_on(fast, 20);
    CHECK(waits_for() == WaitsFor::space);
  }
}

TEST_CASE("the first to join begins the epoch in which the last trainer stood") {
  HeapRing ring(1'000, ahead_of(2, 10));
  {
    HeapConsumer first(ring, joining(Join::rewind)), last(ring, joining(Join::rewind));
    for (int batch = 0; batch < 9; ++batch) {
      fill(ring);
      read_on(first, 5);
      if (batch < 7) read_on(last, 5);
    }
    leave(ring, first);
    CHECK(joined_at(ring, Join::rewind) == 30);  // of those who are there
    leave(ring, last);
  }
  CHECK(joined_at(ring, Join::rewind) == 30);
  CHECK(joined_at(ring, Join::rewind) == 30);  // who had no batch left nothing
  CHECK(joined_at(ring, Join::next_epoch) > 30);
  CHECK(joined_at(ring, Join::rewind) == 30);
  CHECK(joined_at(ring, Join::at, 10) == 10);
  const std::uint64_t published = fill(ring);
  CHECK(published >= 50);  // for the next one
  CHECK(fill(ring) == published);
}

TEST_CASE("where the epoch that was left is gone, the next one begins") {
  HeapRing ring(8, ahead_of(2, 10));
  HeapConsumer consumer(ring, joining(Join::rewind));
  for (int i = 0; i < 3; ++i) {
    fill(ring);
    read_on(consumer, 5);
  }
  SECTION("it is held, and kept from then on") {
    leave(ring, consumer);
    fill(ring);
    CHECK(joined_at(ring, Join::rewind) == 10);
  }
  SECTION("it is gone") {
    fill(ring);
    leave(ring, consumer);
    fill(ring);
    CHECK(joined_at(ring, Join::rewind) == 20);
  }
}

TEST_CASE("where all was read, what is held of it is there once more") {
  HeapRing ring(100, [] {
    RingWriter::Options options = ahead_of(2, 10);
    options.epochs = 3;
    return options;
  }());
  HeapConsumer consumer(ring, joining(Join::rewind));
  CHECK(fill(ring) == 20);
  read_on(consumer, 15);
  CHECK(fill(ring) == 30);
  read_on(consumer, 15);
  leave(ring, consumer);
  CHECK(joined_at(ring, Join::rewind) == 0);
}

TEST_CASE("where a trainer stood when it left is told to another ring once") {
  HeapRing ring(40, ahead_of(2, 10));
  HeapConsumer trainer(ring, joining(Join::rewind));
  fill(ring);
  take_and_return(trainer, 7);
  CHECK_FALSE(ring.writer().take_left_at());
  leave(ring, trainer);
  CHECK(ring.writer().take_left_at() == 7);
  CHECK(joined_at(ring, Join::now) == 20);  // who had no batch
  CHECK_FALSE(ring.writer().take_left_at());
}

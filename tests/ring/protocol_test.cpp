// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <batchcast/core/error.hpp>

using namespace batchcast;
using namespace batchcast::testing;

TEST_CASE("without anybody to consume, the ring is filled and no more") {
  HeapRing ring(10, epochs_of(100));
  CHECK(ring.produce(7) == 7);
  CHECK(ring.produce(7) == 3);
  CHECK(ring.produce(7) == 0);
}

TEST_CASE("free running does not wait for anybody") {
  auto options = epochs_of(100);
  options.free_running = true;
  HeapRing ring(10, options);
  for (int i = 0; i < 10; ++i) CHECK(ring.produce(10) == 10);
}

TEST_CASE("the first consumer of a fresh producer gets epoch 0") {
  HeapRing ring(10, epochs_of(100));
  while (ring.produce(10) != 0) {
  }
  HeapConsumer consumer(ring, joining(Join::rewind));
  CHECK(consumer.admitted.position == 0);
  CHECK(take(consumer, 4).position == 0);
}

TEST_CASE("batches never cross an epoch, and both tails work") {
  for (const Tail tail : {Tail::keep, Tail::drop}) {
    HeapRing ring(100, epochs_of(10));
    RingReader::Options options;
    options.tail = tail;
    HeapConsumer consumer(ring, joining(Join::rewind), options);
    while (ring.produce(64) != 0) {
    }
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::uint64_t> sizes;
      Run run;
      while (consumer.reader->next(4, 0, run) == Next::batch) {
        CHECK(run.epoch == epoch);
        sizes.push_back(run.size);
        consumer.reader->give_back(run.lease);
      }
      CHECK(sizes == (tail == Tail::keep ? std::vector<std::uint64_t>{4, 4, 2}
                                         : std::vector<std::uint64_t>{4, 4}));
    }
    CHECK(consumer.reader->status().epochs_matched == 3);
  }
}

TEST_CASE("a lockstep consumer gates, and leases come back in any order") {
  HeapRing ring(8, epochs_of(1000));
  HeapConsumer consumer(ring, joining(Join::rewind));
  while (ring.produce(8) != 0) {
  }
  const Run a = take(consumer, 2), b = take(consumer, 2), c = take(consumer, 2);
  consumer.reader->give_back(b.lease);
  CHECK(ring.produce(8) == 0);
  consumer.reader->give_back(a.lease);
  CHECK(ring.produce(8) == 4);
  consumer.reader->give_back(c.lease);
  CHECK(ring.produce(8) == 2);
}

TEST_CASE("holding more than the ring spans is an error at once") {
  HeapRing ring(8, epochs_of(1000));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(8);
  const Run a = take(consumer, 5);
  Run run;
  CHECK_THROWS_AS(consumer.reader->next(5, 0, run), RingTooSmall);
  CHECK(consumer.reader->next(3, 0, run) == Next::batch);
  consumer.reader->give_back(a.lease);
  CHECK(ring.produce(8) == 5);
  CHECK(consumer.reader->next(5, 0, run) == Next::batch);
}

TEST_CASE(
    "leaving an epoch early lets go of the rest, and the receipt still matches if all was there") {
  HeapRing ring(30, epochs_of(10));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  take_and_return(consumer, 3);
  consumer.reader->leave_epoch();
  CHECK(consumer.reader->position() == 10);
  CHECK(consumer.reader->status().epochs_matched == 1);
  ring.produce(10);
  CHECK(take(consumer, 3).epoch == 1);
  consumer.reader->leave_epoch();
  ring.produce(5);
  CHECK(take(consumer, 3).epoch == 2);
  consumer.reader->leave_epoch();  // of which half is still to come
  CHECK(consumer.reader->status().epochs_unknown == 1);
  CHECK(ordered::load_released(consumer.desk()) == 10);  // its lease of epoch 1 is still held
}

TEST_CASE("where everybody stands beyond what was made, the stream jumps") {
  HeapRing ring(10, epochs_of(100));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  take_and_return(consumer, 5);
  consumer.reader->leave_epoch();
  Ticket ticket;
  REQUIRE(ring.writer().claim(10, 0, ticket) == Claim::granted);
  CHECK(ticket.position == 100);
  ring.publish(ticket);
  CHECK(take(consumer, 5).position == 100);
  // What was jumped over is in nobody's ring.
  CHECK(HeapConsumer(ring, joining(Join::at, 99)).refused() == NotAdmitted::Reason::cursor_gone);
  CHECK(HeapConsumer(ring, joining(Join::at, 100)).admitted.position == 100);
}

TEST_CASE("the jump waits for the loans that are out") {
  HeapRing ring(10, epochs_of(100));
  HeapConsumer consumer(ring, joining(Join::rewind));
  Ticket first, second;
  REQUIRE(ring.writer().claim(5, 0, first) == Claim::granted);
  ring.publish(first);
  REQUIRE(ring.writer().claim(5, 0, second) == Claim::granted);
  take_and_return(consumer, 5);
  consumer.reader->leave_epoch();
  Ticket beyond;
  CHECK(ring.writer().claim(5, 20, beyond) == Claim::timed_out);
  ring.publish(second);
  REQUIRE(ring.writer().claim(5, 0, beyond) == Claim::granted);
  CHECK(beyond.position == 100);
}

TEST_CASE("epochs that end when they are announced to") {
  HeapRing ring(20, epochs_of(0));
  HeapConsumer consumer(ring, joining(Join::rewind));
  CHECK_THROWS_AS(ring.writer().end_epoch(), InvalidArgument);  // it has no sample
  ring.produce(7);
  Run run;
  take_and_return(consumer, 4);
  CHECK(consumer.reader->next(4, 0, run) ==
        Next::timed_out);  // 3 are there, and perhaps more to come
  ring.writer().end_epoch();
  REQUIRE(consumer.reader->next(4, 0, run) == Next::batch);
  CHECK(run.size == 3);
  consumer.reader->give_back(run.lease);
  CHECK(consumer.reader->next(4, 0, run) == Next::end_of_epoch);
  CHECK(consumer.reader->status().epochs_matched == 1);
  ring.produce(4);
  take_and_return(consumer, 4);
  ring.writer().end_epoch();
  CHECK(consumer.reader->next(4, 0, run) == Next::end_of_epoch);
  CHECK(consumer.reader->status().epochs_matched == 2);
  ring.produce(2);
  ring.writer().finish();
  CHECK(take(consumer, 4).size == 2);
  CHECK(consumer.reader->next(4, 0, run) == Next::end_of_epoch);
  CHECK_THROWS_AS(consumer.reader->next(4, 0, run), StreamFinished);
}

TEST_CASE("end_epoch needs every loan back") {
  HeapRing ring(20, epochs_of(0));
  Ticket ticket;
  REQUIRE(ring.writer().claim(4, 0, ticket) == Claim::granted);
  CHECK_THROWS_AS(ring.writer().end_epoch(), InvalidArgument);
  ring.publish(ticket);
  CHECK_NOTHROW(ring.writer().end_epoch());
}

TEST_CASE("leaving an epoch of unknown length: no gate until its end is announced, then at it") {
  HeapRing ring(10, epochs_of(0));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  take_and_return(consumer, 2);
  consumer.reader->leave_epoch();
  for (int i = 0; i < 5; ++i) CHECK(ring.produce(10) == 10);  // far past its place
  ring.writer().end_epoch();                                  // at 60
  CHECK(ring.produce(20) == 10);
  CHECK(ring.produce(20) == 0);
  CHECK(take(consumer, 4).position == 60);
}

TEST_CASE("joining the next epoch of a stream whose epochs end unforeseen") {
  HeapRing ring(10, epochs_of(0));
  HeapConsumer first(ring, joining(Join::rewind));
  ring.produce(10);
  take_and_return(first, 10);
  ring.produce(5);
  HeapConsumer second(ring, joining(Join::rewind));  // position 0 is gone
  Run run;
  CHECK(second.reader->next(3, 0, run) == Next::timed_out);
  ring.writer().end_epoch();
  ring.produce(5);
  CHECK(take(second, 3).position == 15);
  CHECK(second.reader->epoch() == 1);
}

TEST_CASE("a thousand tiny epochs in one ring, and more than the table holds") {
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}}) {
    HeapRing ring(3 * limits::epochs_on_board, epochs_of(length));
    HeapConsumer consumer(ring, joining(Join::rewind));
    std::uint64_t made = 0;
    while (ring.produce(1) == 1) {
      ++made;
      if (length == 0) ring.writer().end_epoch();
    }
    CHECK(made >= 1000);
    CHECK(made < limits::epochs_on_board);
    Run run;
    for (std::uint64_t epoch = 0; epoch < 3 * limits::epochs_on_board; ++epoch) {
      REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
      REQUIRE(run.epoch == epoch);
      consumer.reader->give_back(run.lease);
      REQUIRE(consumer.reader->next(1, 0, run) == Next::end_of_epoch);
      if (ring.produce(1) == 1 && length == 0) ring.writer().end_epoch();
    }
    CHECK(consumer.reader->status().epochs_matched == 3 * limits::epochs_on_board);
  }
}

TEST_CASE("the stream's end") {
  HeapRing ring(20, epochs_of(10, 2));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  Run run;
  SECTION("finished: the next loop throws") {
    CHECK(ring.produce(10) == 10);
    Ticket ticket;
    CHECK(ring.writer().claim(1, 0, ticket) == Claim::ended);
    for (int epoch = 0; epoch < 2; ++epoch) {
      take_and_return(consumer, 10);
      CHECK_FALSE(ring.writer().wait_drained(epoch == 0 ? 0 : -1) == (epoch == 0));
      CHECK(consumer.reader->next(10, 0, run) == Next::end_of_epoch);
      CHECK(consumer.reader->has_next_epoch(0) == (epoch == 0));
    }
    CHECK_THROWS_AS(consumer.reader->next(10, 0, run), StreamFinished);
    CHECK(consumer.reader->has_next_epoch(0) == false);  // one was begun, in vain
  }
  SECTION("stopped: what is published is drained, then said so") {
    ring.writer().stop("enough");
    CHECK(take(consumer, 6).size == 6);
    CHECK(take(consumer, 4).size == 4);
    CHECK(consumer.reader->next(6, 0, run) == Next::end_of_epoch);
    CHECK_THROWS_WITH(consumer.reader->next(6, 0, run), Catch::Contains("enough"));
  }
  SECTION("failed in mid-epoch: the rest comes as a short batch, then the producer's text") {
    ring.produce(3);
    ring.writer().fail("cat.jpg is broken");
    take_and_return(consumer, 10);
    CHECK(consumer.reader->next(10, 0, run) == Next::end_of_epoch);
    CHECK(take(consumer, 10).size == 3);
    CHECK_THROWS_AS(consumer.reader->next(6, 0, run), StreamFailed);
    CHECK_THROWS_WITH(consumer.reader->next(6, 0, run), Catch::Contains("cat.jpg is broken"));
    CHECK(HeapConsumer(ring, joining(Join::rewind)).refused() == NotAdmitted::Reason::failed);
  }
  SECTION("the producer died: drained, then said so") {
    consumer.dead = true;
    CHECK(take(consumer, 10).size == 10);
    CHECK(consumer.reader->next(10, 0, run) == Next::end_of_epoch);
    CHECK_THROWS_AS(consumer.reader->next(10, 300, run), ProducerGone);
  }
  SECTION("no epoch is left to join") {
    ring.produce(10);
    take_and_return(consumer, 10);
    CHECK(HeapConsumer(ring, joining(Join::next_epoch)).refused() == NotAdmitted::Reason::finished);
  }
}

TEST_CASE("a stream that came to its end waits for its first consumer") {
  HeapRing ring(20, epochs_of(10, 1));
  ring.produce(10);
  CHECK_FALSE(ring.writer().wait_drained(30));
  HeapConsumer consumer(ring, joining(Join::rewind));
  CHECK_FALSE(ring.writer().wait_drained(30));
  take_and_return(consumer, 10);
  CHECK(ring.writer().wait_drained(0));
}

TEST_CASE("loans in any order: the newest can be given back, another one is a hole") {
  HeapRing ring(20, epochs_of(100));
  HeapConsumer consumer(ring, joining(Join::rewind));
  Ticket a, b, c;
  REQUIRE(ring.writer().claim(4, 0, a) == Claim::granted);
  REQUIRE(ring.writer().claim(4, 0, b) == Claim::granted);
  ring.publish(b);
  Run run;
  CHECK(consumer.reader->next(4, 0, run) == Next::timed_out);
  REQUIRE(ring.writer().claim(4, 0, c) == Claim::granted);
  ring.writer().give_back(c);
  CHECK(ring.writer().status().claimed == 12);  // claimed never falls
  REQUIRE(ring.writer().claim(8, 0, c) == Claim::granted);
  CHECK(c.position == 8);
  ring.publish(a);
  take_and_return(consumer, 8);
  Ticket d;
  REQUIRE(ring.writer().claim(1, 0, d) == Claim::granted);
  ring.writer().give_back(c);
  CHECK_THROWS_AS(consumer.reader->next(4, 0, run), StreamFailed);
}

TEST_CASE("positions near 2^32 and 2^63") {
  for (const std::uint64_t start :
       {(std::uint64_t{1} << 32) - 7, (std::uint64_t{1} << 63) - 1000}) {
    RingWriter::Options options;
    options.samples_per_epoch = 11;
    options.start = start;
    HeapRing ring(8, options);
    HeapConsumer consumer(ring, joining(Join::now));
    std::uint64_t expected = start;
    Run run;
    for (int i = 0; i < 200 && expected < limits::position_max - 20; ++i) {
      while (ring.produce(3) != 0) {
      }
      const Next next = consumer.reader->next(3, 0, run);
      if (next == Next::end_of_epoch) continue;
      REQUIRE(next == Next::batch);
      REQUIRE(run.position == expected);
      expected += run.size;
      consumer.reader->give_back(run.lease);
    }
    CHECK(expected > start + 300);
    CHECK(consumer.reader->status().epochs_mismatched == 0);
  }
}

TEST_CASE("a receipt that does not match is an error, once") {
  HeapRing ring(20, epochs_of(10));
  HeapConsumer consumer(ring, joining(Join::rewind));
  ring.produce(10);
  ring.write(3, 99);  // what a torn sample would look like
  take_and_return(consumer, 10);
  Run run;
  CHECK_THROWS_AS(consumer.reader->next(10, 0, run), ReceiptMismatch);
  CHECK(consumer.reader->status().epochs_mismatched == 1);
  ring.produce(10);
  CHECK(take(consumer, 10).epoch == 1);
}

TEST_CASE("the epoch that a consumer comes to is known from joining on") {
  SECTION("where epochs have one length") {
    HeapRing ring(100, epochs_of(10));
    HeapConsumer first(ring, joining(Join::rewind));
    CHECK(first.reader->epoch() == 0);
    for (int i = 0; i < 5; ++i) ring.produce(10);
    CHECK(HeapConsumer(ring, joining(Join::at, 20)).reader->epoch() == 2);
    CHECK(HeapConsumer(ring, joining(Join::at, 29)).reader->epoch() == 2);
    CHECK(HeapConsumer(ring, joining(Join::now)).reader->epoch() == 5);
    HeapConsumer third(ring, joining(Join::at, 23));
    CHECK(take(third, 4).epoch == 2);
    CHECK(third.reader->epoch() == 2);
    AdmitRequest request;
    request.between_epochs = BetweenEpochs::let_go;
    HeapConsumer lets_go(ring, request);
    CHECK(lets_go.reader->epoch() == 5);  // where the stream is, until its loop begins
    const auto begins =
        ring.writer().resume(lets_go.admitted.index, lets_go.admitted.consumer_id, Join::at, 30);
    lets_go.reader->move_to(std::get<std::uint64_t>(begins));
    CHECK(lets_go.reader->epoch() == 3);
  }
  SECTION("where they have not") {
    HeapRing ring(100, epochs_of(0));
    HeapConsumer first(ring, joining(Join::rewind));
    CHECK(first.reader->epoch() == 0);
    for (const std::uint64_t samples : {5, 9, 2}) {
      ring.produce(samples);
      ring.writer().end_epoch();
    }
    ring.produce(4);
    CHECK(HeapConsumer(ring, joining(Join::at, 5)).reader->epoch() == 1);
    CHECK(HeapConsumer(ring, joining(Join::at, 15)).reader->epoch() == 2);
    CHECK(HeapConsumer(ring, joining(Join::now)).reader->epoch() == 3);
    HeapConsumer late(ring, joining(Join::next_epoch));  // where it begins is not known yet
    CHECK(late.reader->epoch() == 4);
    take_and_return(first, 5);
    first.reader->leave_epoch();
    ring.writer().end_epoch();
    ring.produce(4);
    CHECK(take(late, 2).epoch == 4);
  }
}

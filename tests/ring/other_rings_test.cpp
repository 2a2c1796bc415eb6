// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What a writer is asked where its stream has more host rings than one.
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <batchcast/core/clock.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

RingWriter::Options pure_epochs() {
  RingWriter::Options options = epochs_of(1'000);
  options.goes_back = true;
  return options;
}

void fill(HeapRing& ring) {
  while (ring.produce(16) != 0) {
  }
}

}  // namespace

TEST_CASE("a claim that waits for nothing finds room, or says that there is none") {
  HeapRing ring(100, pure_epochs());
  Ticket ticket;
  CHECK(ring.writer().try_claim(40, ticket) == Claim::granted);
  CHECK(ticket.size == 40);
  ring.publish(ticket);
  fill(ring);
  CHECK(ring.writer().try_claim(40, ticket) == Claim::timed_out);
  ring.writer().stop("over");
  CHECK(ring.writer().try_claim(40, ticket) == Claim::ended);
}

TEST_CASE("an interruption ends the waits for room") {
  HeapRing ring(100, pure_epochs());
  fill(ring);
  const std::uint64_t begun_ns = now_ns();
  std::thread waits([&] {
    Ticket ticket;
    CHECK(ring.writer().claim(1, -1, ticket) == Claim::timed_out);
  });
  // It may begin to wait after one of them.
  std::atomic<bool> over = false;
  std::thread interrupts([&] {
    while (!over) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ring.writer().interrupt_claims();
    }
  });
  waits.join();
  over = true;
  interrupts.join();
  CHECK(seconds_from_ns(now_ns() - begun_ns) < 20);
}

TEST_CASE("a claim that waits for nothing does not wait for a claimer that does") {
  HeapRing ring(100, pure_epochs());
  fill(ring);
  std::atomic<bool> over = false;
  std::thread waits([&] {
    Ticket ticket;
    while (!over) static_cast<void>(ring.writer().claim(1, 100, ticket));
  });
  for (int i = 0; i < 50; ++i) {
    Ticket ticket;
    CHECK(ring.writer().try_claim(1, ticket).value_or(Claim::timed_out) == Claim::timed_out);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  over = true;
  ring.writer().interrupt_claims();
  waits.join();
}

TEST_CASE("a ring without consumers goes to those of another ring, and no other does") {
  HeapRing ring(100, pure_epochs());
  {
    HeapConsumer consumer(ring, joining(Join::rewind));
    CHECK_FALSE(ring.writer().go_to(40));
    ring.writer().remove(consumer.admitted.index, consumer.admitted.consumer_id);
  }
  fill(ring);
  ring.writer().set_trainers_elsewhere(1);
  CHECK(ring.writer().go_to(5'500));
  CHECK(ring.writer().outlook(0).oldest == 5'500);
  CHECK(ring.writer().go_to(40));
  CHECK(ring.writer().outlook(0).published == 40);
  CHECK_FALSE(ring.writer().outlook(10).goes_back);  // there is a trainer elsewhere
  HeapConsumer comes(ring, joining(Join::at, 47));
  Run run;
  while (comes.reader->next(5, 0, run) != Next::batch) fill(ring);
  CHECK(run.position == 47);
}

TEST_CASE("an outlook says where a ring stands") {
  HeapRing ring(100, pure_epochs());
  HeapConsumer consumer(ring, joining(Join::rewind));
  for (Run run; consumer.reader->position() < 300;) {
    fill(ring);
    if (consumer.reader->next(10, 0, run) == Next::batch) consumer.reader->give_back(run.lease);
  }
  fill(ring);
  const RingOutlook outlook = ring.writer().outlook(10);
  CHECK(outlook.published == 400);
  CHECK(outlook.oldest == 300);
  CHECK(outlook.epoch_start == 0);
  CHECK(outlook.rewind == 1'000U);
  CHECK_FALSE(outlook.is_over);
}

TEST_CASE("a consumer is asked to move by its entry") {
  HeapRing ring(100, pure_epochs());
  HeapConsumer consumer(ring, joining(Join::rewind));
  const ConsumerEntry& entry = ring.board().consumer(consumer.admitted.index);
  CHECK(ordered::get(entry.moves) == 0);
  ring.writer().ask_to_move(consumer.admitted.index, consumer.admitted.consumer_id + 1);
  CHECK(ordered::get(entry.moves) == 0);
  ring.writer().ask_to_move(consumer.admitted.index, consumer.admitted.consumer_id);
  CHECK(ordered::get(entry.moves) == 1);
  ring.writer().remove(consumer.admitted.index, consumer.admitted.consumer_id);
  HeapConsumer next(ring, joining(Join::rewind));
  CHECK(ordered::get(ring.board().consumer(next.admitted.index).moves) == 0);
}

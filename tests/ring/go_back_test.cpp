// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <string>

using namespace batchcast;
using namespace batchcast::testing;

// A stream whose samples can be made again goes back to whoever is alone with it.
namespace {

RingWriter::Options pure_epochs_of(std::uint64_t samples, std::uint64_t epochs = 0) {
  RingWriter::Options options = epochs_of(samples, epochs);
  options.goes_back = true;
  return options;
}

void fill(HeapRing& ring) {
  while (ring.produce(64) != 0) {
  }
}

void leave(HeapRing& ring, const HeapConsumer& consumer) {
  ring.writer().remove(consumer.admitted.index, consumer.admitted.consumer_id);
}

/// Takes so many samples of it, and goes.
void pass_by(HeapRing& ring, std::uint64_t samples) {
  HeapConsumer consumer(ring, joining(Join::rewind));
  for (std::uint64_t taken = 0; taken < samples;) {
    fill(ring);
    Run run;
    const Next next = consumer.reader->next(5, 0, run);
    REQUIRE(next != Next::timed_out);
    if (next != Next::batch) continue;
    taken += run.size;
    consumer.reader->give_back(run.lease);
  }
  leave(ring, consumer);
  fill(ring);
}

/// This one takes all up to there.
void pass_by_with(HeapRing& ring, HeapConsumer& consumer, std::uint64_t position) {
  while (consumer.reader->position() < position) {
    fill(ring);
    Run run;
    if (consumer.reader->next(5, 0, run) == Next::batch) consumer.reader->give_back(run.lease);
  }
}

void check_reads_from(HeapRing& ring, HeapConsumer& consumer, std::uint64_t position) {
  for (std::uint64_t end = position + 35; position < end;) {
    fill(ring);
    Run run;
    if (consumer.reader->next(5, 0, run) != Next::batch) continue;
    REQUIRE(run.position == position);
    for (std::uint64_t i = 0; i < run.size; ++i) {
      std::uint64_t id = 0;
      std::memcpy(&id, ring.window().at(position + i), sizeof id);
      REQUIRE(id == position + i);
    }
    position += run.size;
    consumer.reader->give_back(run.lease);
  }
  CHECK(consumer.reader->status().epochs_mismatched == 0);
}

std::string why_not_at(HeapRing& ring, std::uint64_t cursor) {
  const auto reply = ring.writer().admit(joining(Join::at, cursor), std::make_shared<Desk>());
  const auto* refusal = std::get_if<NotAdmitted>(&reply);
  REQUIRE(refusal != nullptr);
  CHECK(refusal->reason == NotAdmitted::Reason::cursor_gone);
  return refusal->text;
}

}  // namespace

TEST_CASE("a checkpoint behind a stream without consumers is resumed") {
  HeapRing ring(20, pure_epochs_of(10));
  pass_by(ring, 100);
  REQUIRE(ring.writer().status().published >= 110);
  const std::uint64_t made = ring.writer().samples_published();
  const std::uint64_t cursor = GENERATE(0, 13, 40);
  HeapConsumer consumer(ring, joining(Join::at, cursor));
  REQUIRE_FALSE(consumer.refused());
  CHECK(consumer.admitted.position == cursor);
  CHECK(consumer.reader->epoch() == cursor / 10);
  Run run;
  CHECK(consumer.reader->next(1, 0, run) == Next::timed_out);  // nothing old is taken for it
  CHECK(ring.writer().samples_published() == made);
  check_reads_from(ring, consumer, cursor);
  CHECK(ring.writer().samples_published() >= made + 35);
}

TEST_CASE("samples that are being made when a stream goes back are not published") {
  HeapRing ring(20, pure_epochs_of(10));
  pass_by(ring, 95);
  HeapConsumer consumer(ring, joining(Join::rewind));
  take_and_return(consumer, 5);
  Ticket early, late;
  REQUIRE(ring.writer().claim(2, 0, early) == Claim::granted);
  REQUIRE(ring.writer().claim(2, 0, late) == Claim::granted);
  leave(ring, consumer);
  HeapConsumer back(ring, joining(Join::at, 13));
  REQUIRE_FALSE(back.refused());
  CHECK(ring.produce(1) == 0);  // they may be writing into any place still
  CHECK(ring.writer().status().published == 13);
  ring.publish(late);
  CHECK(ring.produce(1) == 0);
  SECTION("published") { ring.publish(early); }
  SECTION("or dropped") { ring.writer().give_back(early); }
  CHECK(ring.writer().status().published == 13);
  CHECK(ring.writer().status().state == StreamState::running);
  check_reads_from(ring, back, 13);
}

TEST_CASE("one cursor that is far off moves no stream for good") {
  HeapRing ring(20, pure_epochs_of(10));
  pass_by(ring, 30);
  HeapConsumer mistyped(ring, joining(Join::at, 5'700'000));
  fill(ring);
  REQUIRE(ring.writer().status().published >= 5'700'000);
  leave(ring, mistyped);
  fill(ring);
  HeapConsumer consumer(ring, joining(Join::at, 57));
  REQUIRE_FALSE(consumer.refused());
  check_reads_from(ring, consumer, 57);
}

TEST_CASE("a consumer that joins after the stream went back begins where it is") {
  HeapRing ring(20, pure_epochs_of(10));
  pass_by(ring, 100);
  HeapConsumer passing(ring, joining(Join::at, 57));
  fill(ring);
  leave(ring, passing);  // without a batch
  const HeapConsumer consumer(ring, joining(Join::rewind));
  CHECK(consumer.admitted.position == 60);
}

TEST_CASE("a loop that lets go of its stream resumes behind it as well") {
  HeapRing ring(20, pure_epochs_of(10));
  pass_by(ring, 100);
  AdmitRequest request = joining(Join::at, 13);
  request.between_epochs = BetweenEpochs::let_go;
  HeapConsumer consumer(ring, request);
  const auto begin = [&] {
    return ring.writer().resume(consumer.admitted.index, consumer.admitted.consumer_id, Join::at,
                                13);
  };
  auto reply = begin();
  REQUIRE(std::holds_alternative<std::uint64_t>(reply));
  consumer.reader->move_to(std::get<std::uint64_t>(reply));
  check_reads_from(ring, consumer, 13);
  ring.writer().pause(consumer.admitted.index, consumer.admitted.consumer_id);
  reply = begin();  // what it has had it does not get again
  CHECK(std::holds_alternative<NotAdmitted>(reply));
}

TEST_CASE("a stream does not go back where somebody looks at it, or cannot") {
  SECTION("somebody reads") {
    HeapRing ring(20, pure_epochs_of(10));
    pass_by(ring, 100);
    const HeapConsumer other(ring, joining(Join::rewind));
    CHECK_THAT(why_not_at(ring, 13), Catch::Contains("once no other consumer is attached") &&
                                         Catch::Contains("a separate stream"));
    leave(ring, other);
    CHECK_FALSE(HeapConsumer(ring, joining(Join::at, 13)).refused());
  }
  SECTION("somebody looks on") {
    HeapRing ring(20, pure_epochs_of(10));
    pass_by(ring, 100);
    AdmitRequest request;
    request.observes = true;
    const HeapConsumer observer(ring, request);
    CHECK_THAT(why_not_at(ring, 13), Catch::Contains("once no other consumer is attached"));
  }
  SECTION("somebody reads on a GPU") {
    HeapRing ring(20, pure_epochs_of(10));
    pass_by(ring, 100);
    CHECK(ring.writer().set_trainers_elsewhere(1));
    CHECK_THAT(why_not_at(ring, 13), Catch::Contains("once no other consumer is attached"));
  }
  SECTION("its samples cannot be made again") {
    HeapRing ring(20, epochs_of(10));
    pass_by(ring, 100);
    CHECK_THAT(why_not_at(ring, 13), Catch::Contains("cannot be made again"));
  }
  SECTION("it is all made") {
    HeapRing ring(20, pure_epochs_of(10, 6));
    pass_by(ring, 60);
    CHECK_THAT(why_not_at(ring, 13), Catch::Contains("it goes back no more"));
  }
}

TEST_CASE("a mirror's trainer takes the stream back where its own ring does not hold the place") {
  HeapRing ring(20, pure_epochs_of(10));
  AdmitRequest request;
  request.mirrors = true;
  HeapConsumer mirror(ring, request);
  pass_by(ring, 100);
  const auto begin = [&](std::uint64_t cursor, std::uint64_t oldest, std::uint64_t next) {
    const auto reply = ring.writer().resume_mirror(
        mirror.admitted.index, mirror.admitted.consumer_id, {Join::at, cursor, oldest, next});
    REQUIRE(std::holds_alternative<MirrorStart>(reply));
    ring.writer().pause(mirror.admitted.index, mirror.admitted.consumer_id);
    return std::get<MirrorStart>(reply);
  };
  CHECK(begin(13, 0, 0).position == 13);
  CHECK(ring.writer().status().published == 13);
  pass_by(ring, 100);
  const std::uint64_t published = ring.writer().status().published;
  const MirrorStart held = begin(published - 50, published - 60, published);
  CHECK(held.trainer == published - 50);
  CHECK(ring.writer().status().published == published);
  const MirrorStart apart = begin(25, 20, 30);  // the stream has gone on from there
  CHECK(apart.trainer == 25);
  CHECK(apart.position == 30);
  CHECK(ring.writer().status().published == 25);
}

// ---- a consumer that holds its place goes to another one

namespace {

auto move_of(HeapRing& ring, HeapConsumer& consumer, std::uint64_t cursor) {
  return ring.writer().resume(consumer.admitted.index, consumer.admitted.consumer_id, Join::at,
                              cursor);
}

void move(HeapRing& ring, HeapConsumer& consumer, std::uint64_t cursor) {
  const auto reply = move_of(ring, consumer, cursor);
  REQUIRE(std::holds_alternative<std::uint64_t>(reply));
  REQUIRE(std::get<std::uint64_t>(reply) == cursor);
  consumer.reader->move_to(cursor);
}

}  // namespace

TEST_CASE("a consumer goes to another place without leaving the stream") {
  HeapRing ring(20, pure_epochs_of(10));
  HeapConsumer consumer(ring, joining(Join::rewind));
  fill(ring);
  take_and_return(consumer, 5);
  take_and_return(consumer, 5);
  for (const std::uint64_t cursor : {3U, 0U, 8U, 700U, 13U}) {
    move(ring, consumer, cursor);
    CHECK(consumer.reader->position() == cursor);
    CHECK(consumer.reader->epoch() == cursor / 10);
    check_reads_from(ring, consumer, cursor);
  }
}

TEST_CASE("a stream that came to its end stays for a consumer that goes back in it") {
  HeapRing ring(20, epochs_of(10, 1));
  HeapConsumer consumer(ring, joining(Join::rewind));
  fill(ring);
  take_and_return(consumer, 5);
  for (int i = 0; i < 3; ++i) {
    move(ring, consumer, 2);
    CHECK_FALSE(ring.writer().wait_drained(0));
    take_and_return(consumer, 5);
  }
  const auto reply = move_of(ring, consumer, 10);
  REQUIRE(std::holds_alternative<NotAdmitted>(reply));
  CHECK(std::get<NotAdmitted>(reply).reason == NotAdmitted::Reason::finished);
  take_and_return(consumer, 3);
  CHECK(ring.writer().wait_drained(0));
}

TEST_CASE("a consumer that cannot go to a place stays where it is") {
  HeapRing ring(20, pure_epochs_of(10));
  HeapConsumer consumer(ring, joining(Join::rewind));
  const HeapConsumer other(ring, joining(Join::rewind));
  fill(ring);
  take_and_return(consumer, 5);
  move(ring, consumer, 0);
  leave(ring, other);
  pass_by_with(ring, consumer, 50);
  const HeapConsumer looker(ring, joining(Join::now));
  const auto reply = move_of(ring, consumer, 3);
  REQUIRE(std::holds_alternative<NotAdmitted>(reply));
  CHECK(std::get<NotAdmitted>(reply).reason == NotAdmitted::Reason::cursor_gone);
  leave(ring, looker);
  check_reads_from(ring, consumer, 50);
}

TEST_CASE("what a consumer was given counts as read wherever it goes") {
  HeapRing ring(20, pure_epochs_of(10, 2));
  HeapConsumer consumer(ring, joining(Join::rewind));
  fill(ring);
  pass_by_with(ring, consumer, 15);
  move(ring, consumer, 5);
  leave(ring, consumer);
  CHECK(ring.writer().status().read_to == 15);
}

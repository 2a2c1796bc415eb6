// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <random>
#include <set>

using namespace batchcast;
using namespace batchcast::testing;

// Where a consumer may ask to begin, and that the producer goes on whatever it asks for.
namespace {

constexpr std::uint64_t two_62 = std::uint64_t{1} << 62;
constexpr std::uint64_t two_63 = std::uint64_t{1} << 63;

enum class Kind { lockstep, free, let_go, observes };

AdmitRequest request_of(Kind kind, std::uint64_t cursor) {
  AdmitRequest request = joining(Join::at, cursor);
  request.pace = kind == Kind::free ? Pace::free : Pace::lockstep;
  request.between_epochs = kind == Kind::let_go ? BetweenEpochs::let_go : BetweenEpochs::hold;
  request.observes = kind == Kind::observes;
  return request;
}

/// A consumer of this kind comes, and where it lets go, begins its first loop. Why it may not.
std::optional<NotAdmitted::Reason> why_refused(HeapRing& ring, HeapConsumer& consumer, Kind kind,
                                               std::uint64_t cursor) {
  if (consumer.refused() || kind != Kind::let_go) return consumer.refused();
  const auto reply = ring.writer().resume(consumer.admitted.index, consumer.admitted.consumer_id,
                                          Join::at, cursor);
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) return refusal->reason;
  consumer.reader->move_to(std::get<std::uint64_t>(reply));
  return std::nullopt;
}

/// One sample, in the epoch that its position says. Where it lies; nothing if there is no room.
std::optional<std::uint64_t> make_one(HeapRing& ring, std::uint64_t length) {
  Ticket ticket;
  if (ring.writer().claim(1, 0, ticket) != Claim::granted) return std::nullopt;
  REQUIRE(ticket.epoch_start <= ticket.position);
  if (length != 0) {
    REQUIRE(ticket.position - ticket.epoch_start < length);
    REQUIRE(ticket.epoch_start == ticket.epoch * length);
  }
  ring.publish(ticket);
  return ticket.position;
}

void take_one(HeapConsumer& consumer, Kind kind, std::uint64_t position) {
  Run run;
  REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
  REQUIRE(run.position == position);
  if (kind == Kind::free) {
    REQUIRE(consumer.reader->copied(run, std::vector<std::uint64_t>(run.size)));
  } else {
    consumer.reader->give_back(run.lease);
  }
}

/// The positions around this one that may go wrong, and some at random.
std::set<std::uint64_t> around(std::uint64_t position, std::uint64_t length,
                               std::mt19937_64& random) {
  std::set<std::uint64_t> cursors;
  for (const std::uint64_t away : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2},
                                   std::uint64_t{7}, length, random() % 5'000, random() % two_62}) {
    cursors.insert(position - away);
    cursors.insert(position + away);
  }
  if (length != 0) cursors.insert(position / length * length);
  return cursors;
}

struct Stream {
  std::uint64_t length, epochs;
  [[nodiscard]] std::uint64_t end() const { return epochs == 0 ? two_63 : length * epochs; }
};

void come_and_go(const Stream& stream, Kind kind, std::uint64_t cursor) {
  INFO("epochs of " << stream.length << ", " << stream.epochs << " of them, consumer "
                    << static_cast<int>(kind) << ", cursor " << cursor);
  HeapRing ring(8, epochs_of(stream.length, stream.epochs));
  HeapConsumer consumer(ring, request_of(kind, cursor));
  const auto refused = why_refused(ring, consumer, kind, cursor);
  const bool far = cursor >= two_62 || cursor > stream.end();
  if (kind == Kind::observes) {
    REQUIRE_FALSE(refused);
    REQUIRE(make_one(ring, stream.length) == 0);
  } else if (far || cursor == stream.end()) {
    REQUIRE(refused == (cursor == stream.end() && stream.end() < two_62
                            ? NotAdmitted::Reason::finished
                            : NotAdmitted::Reason::cursor_gone));
    REQUIRE(make_one(ring, stream.length) == 0);  // nobody moved anything
  } else {
    REQUIRE_FALSE(refused);
    const std::uint64_t first = stream.length != 0 ? cursor : 0;  // ends unknown: no jump
    REQUIRE(make_one(ring, stream.length) == first);
    REQUIRE(ring.writer().samples_published() == 1);
    if (stream.length != 0) {
      take_one(consumer, kind, cursor);
      consumer.reader->leave_epoch();
    }
  }
  // Whatever it did, others come, and the stream goes on for them.
  for (const Join join : {Join::rewind, Join::next_epoch, Join::now}) {
    const HeapConsumer other(ring, joining(join));
    for (int i = 0; i < 3; ++i) static_cast<void>(make_one(ring, stream.length));
  }
  static_cast<void>(ring.writer().status());
}

}  // namespace

TEST_CASE("whatever cursor a consumer comes with, the stream goes on in whole epochs") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::uint64_t large = std::uint64_t{1} << 40;
  const Stream streams[] = {{0, 0},
                            {1, 0},
                            {7, 0},
                            {1'000, 0},
                            {large + 3, 0},
                            {two_62 / 2 + 1, 0},
                            {two_62 + 5, 0},
                            {two_63 - 1, 0},
                            {1'000, 20},
                            {large, 1 << 22},
                            {large + 1, 1 << 22}};
  for (const Stream& stream : streams) {
    std::set<std::uint64_t> cursors = around(two_62, stream.length, random);
    cursors.merge(around(two_63, stream.length, random));
    cursors.merge(around(stream.end(), stream.length, random));
    cursors.insert({two_63 - 808, two_63 - 1'808, ~std::uint64_t{0}});
    for (const std::uint64_t cursor : cursors) {
      for (const Kind kind : {Kind::lockstep, Kind::free, Kind::let_go, Kind::observes}) {
        if (cursor < 8 && kind != Kind::observes) continue;  // near, and tested elsewhere
        come_and_go(stream, kind, cursor);
      }
    }
  }
}

TEST_CASE("a cursor that cannot be had is refused with those that can") {
  const auto text_of = [](HeapRing& ring, std::uint64_t cursor) {
    const auto reply = ring.writer().admit(joining(Join::at, cursor), std::make_shared<Desk>());
    return std::get<NotAdmitted>(reply).text;
  };
  HeapRing endless(8, epochs_of(1'000));
  CHECK_THAT(text_of(endless, two_63 - 1),
             Catch::Contains("9223372036854775807") && Catch::Contains("2^62") &&
                 Catch::Contains("from 0 to " + std::to_string(two_62 - 1)));
  HeapRing finite(8, epochs_of(10, 8));
  CHECK_THAT(text_of(finite, 81), Catch::Contains("position 81") &&
                                      Catch::Contains("beyond the stream's end") &&
                                      Catch::Contains("from 0 to 79"));
  HeapRing empty(8, epochs_of(0));
  empty.writer().finish();
  CHECK_THAT(text_of(empty, 5), Catch::Contains("no position left"));
}

TEST_CASE("a stream that has come beyond 2^62 is joined where it stands") {
  auto options = epochs_of(1'000);
  options.start = two_62 + 500;
  HeapRing ring(8, options);
  CHECK(ring.produce(8) == 8);
  HeapConsumer consumer(ring, joining(Join::at, two_62 + 504));
  CHECK(consumer.admitted.position == two_62 + 504);
  CHECK(HeapConsumer(ring, joining(Join::at, two_62 + 509)).refused() ==
        NotAdmitted::Reason::cursor_gone);
  CHECK(ring.writer().samples_published() == 8);
}

TEST_CASE("epochs up to the last position are whole, and the last is what is left") {
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{11}, std::uint64_t{1'000}}) {
    auto options = epochs_of(length);
    options.start = two_63 - 2'500;
    HeapRing ring(64, options);
    HeapConsumer consumer(ring, joining(Join::now));
    std::uint64_t position = options.start;
    while (const auto made = make_one(ring, length)) {
      REQUIRE(made == position++);
      if (made == two_63 - 1) break;
      Run run;
      Next next = consumer.reader->next(1, 0, run);
      if (next == Next::end_of_epoch) next = consumer.reader->next(1, 0, run);
      REQUIRE(next == Next::batch);
      consumer.reader->give_back(run.lease);
    }
    CHECK(position == two_63);
    CHECK(ring.writer().status().state == StreamState::draining);
  }
}

TEST_CASE("what a desk says between its loops changes nothing") {
  HeapRing ring(10, epochs_of(0));
  CHECK(ring.produce(4) == 4);
  AdmitRequest request;
  request.between_epochs = BetweenEpochs::let_go;
  HeapConsumer consumer(ring, request);
  consumer.desk().skipping = 77;
  consumer.desk().batches = 1;  // which it never had: it may still begin before where it was
  const auto reply =
      ring.writer().resume(consumer.admitted.index, consumer.admitted.consumer_id, Join::rewind, 0);
  CHECK(std::get<std::uint64_t>(reply) == 0);
  CHECK(ordered::load_skipping(consumer.desk()) == 0);
}

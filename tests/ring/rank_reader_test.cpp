// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "row_ring.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/ring/reader_handover.hpp>

#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

AdmitRequest request_of(std::uint32_t rank, std::uint32_t world) {
  AdmitRequest request = joining(Join::rewind);
  request.group = {"ddp", rank, world};
  return request;
}

/// A rank's loop, which drops a batch once it has the next one. What it holds can become private.
class LoopOfRank final : public HeapConsumer {
 public:
  using HeapConsumer::HeapConsumer;

  [[nodiscard]] bool takes_next() {
    Run run;
    if (as_rank->next(4, 0, run) != Next::batch) return false;
    static_cast<void>(give_oldest_back());
    held_ = run.lease;
    return true;
  }
  bool give_oldest_back() noexcept override {
    if (held_) reader->give_back(*held_);
    return std::exchange(held_, std::nullopt).has_value();
  }

 private:
  std::optional<std::uint64_t> held_;
};

/// `next` has joined the ring of the next producer.
void take_over(HeapConsumer& next, HeapConsumer& last) {
  ReaderHandover::take_over(*next.reader, *last.reader);
  next.as_rank->take_over(*last.as_rank);
}

}  // namespace

TEST_CASE("the slowest rank gates, and a rank waits for the batch of all") {
  HeapRing ring(16, epochs_of(100));
  HeapConsumer first(ring, request_of(0, 2));
  HeapConsumer second(ring, request_of(1, 2));
  Run run;
  CHECK(ring.produce(7) == 7);
  CHECK(first.as_rank->next(4, 0, run) == Next::timed_out);  // its own four are there
  CHECK(ring.produce(9) == 9);
  CHECK(ring.produce(1) == 0);
  for (int batch = 0; batch < 2; ++batch) take_and_return(first, 4);
  CHECK(first.reader->position() == 16);
  CHECK(ring.produce(1) == 0);
  const Run held = take(second, 4);
  CHECK((held.position == 4 && held.size == 4));
  CHECK(ring.produce(16) == 4);  // what comes before its part is released
  second.reader->give_back(held.lease);
  CHECK(ring.produce(16) == 4);
  const Run tail = take(first, 4);
  take_and_return(second, 4);
  take_and_return(second, 4);
  CHECK(ring.produce(16) == 8);  // up to what the first one holds
  first.reader->give_back(tail.lease);
}

TEST_CASE("ranks that hold their last batch get the next one where the ring lacks room for both") {
  HeapRing ring(14, epochs_of(96));
  LoopOfRank first(ring, request_of(0, 2));
  LoopOfRank second(ring, request_of(1, 2));
  int batches = 0;
  for (int step = 0; step < 96; ++step) {
    while (ring.produce(4) != 0) continue;
    batches += first.takes_next() ? 1 : 0;
    batches += second.takes_next() ? 1 : 0;
  }
  CHECK(batches == 24);
}

TEST_CASE("between epochs a rank waits for the others, as its entry tells") {
  HeapRing ring(64, epochs_of(8));
  HeapConsumer rank(ring, request_of(0, 2));
  RingWriter& writer = ring.writer();
  while (ring.produce(8) != 0) continue;
  const auto tell = [&](const GroupNews& news) {
    return writer.tell_rank(rank.admitted.index, rank.admitted.consumer_id, news);
  };
  Run run;
  take_and_return(rank, 4);
  CHECK(tell({}) == 0U);  // it is in epoch 0
  CHECK(rank.as_rank->next(4, 0, run) == Next::end_of_epoch);
  CHECK_FALSE(tell({}));
  CHECK(rank.as_rank->next(4, 0, run) == Next::timed_out);
  CHECK(rank.as_rank->has_next_epoch(0) == std::nullopt);
  tell({.met = GroupNews::Met{1, GroupReceipt::matched}});
  CHECK(rank.as_rank->status().epochs_matched == 1);
  CHECK(rank.as_rank->has_next_epoch(0) == true);
  CHECK(rank.as_rank->status().epochs_matched == 1);
  CHECK(take(rank, 4).position == 8);
  CHECK(rank.as_rank->next(4, 0, run) == Next::end_of_epoch);
  tell({.met = GroupNews::Met{2, GroupReceipt::mismatched}});
  CHECK_THROWS_AS(rank.as_rank->next(4, 0, run), ReceiptMismatch);
  CHECK(rank.as_rank->status().epochs_mismatched == 1);
}

TEST_CASE("a rank that waits for an epoch's first sample is in none, whatever its length") {
  const std::uint64_t length = GENERATE(8, 0);
  HeapRing ring(64, epochs_of(length));
  HeapConsumer rank(ring, request_of(0, 2));
  RingWriter& writer = ring.writer();
  const auto tell = [&](const GroupNews& news) {
    return writer.tell_rank(rank.admitted.index, rank.admitted.consumer_id, news);
  };
  CHECK(ring.produce(8) == 8);
  if (length == 0) writer.end_epoch();
  Run run;
  take_and_return(rank, 4);
  CHECK(rank.as_rank->next(4, 0, run) == Next::end_of_epoch);
  tell({.met = GroupNews::Met{1, GroupReceipt::matched}});
  CHECK(rank.as_rank->next(4, 0, run) == Next::timed_out);
  CHECK(ordered::load_reading(rank.desk()) == 2);  // it has begun epoch 1
  CHECK_FALSE(tell({}));
  CHECK(ring.produce(1) == 1);
  CHECK(tell({}) == 1U);
}

TEST_CASE("a stall of a group is put down to the rank that the others wait for") {
  auto options = epochs_of(6);
  options.stall_timeout_ms = 50;
  std::vector<std::string> lines;
  options.log = [&](LogLevel, std::string_view text) { lines.emplace_back(text); };
  // Where the ring is full, and where no more is made ahead of the only trainers.
  const bool ahead = GENERATE(false, true);
  if (ahead) options.ahead = 1;
  HeapRing ring(ahead ? 1'000 : 16, options);
  std::vector<AdmitRequest> requests = {request_of(0, 3), request_of(1, 3), request_of(2, 3)};
  for (std::size_t rank = 0; rank < 3; ++rank) requests[rank].name = "r" + std::to_string(rank);
  HeapConsumer first(ring, requests[0]);
  HeapConsumer slow(ring, requests[1]);
  HeapConsumer last(ring, requests[2]);
  while (ring.produce(6) != 0) continue;
  const bool at_the_end = GENERATE(false, true);
  if (at_the_end) {
    Run run;
    for (HeapConsumer* rank : {&first, &slow, &last}) take_and_return(*rank, 2);
    for (HeapConsumer* rank : {&first, &last}) {
      CHECK(rank->as_rank->next(2, 0, run) == Next::end_of_epoch);
    }
  } else {
    take(first, 2);
    take(last, 2);
  }
  Ticket ticket;
  for (int looks = 0; lines.empty() && looks < 100; ++looks) {
    if (ring.writer().claim(6, 60, ticket) == Claim::granted) ring.publish(ticket);
  }
  REQUIRE(!lines.empty());
  CHECK_THAT(lines[0],
             Catch::Contains("`r1`") && Catch::Contains("does not ask for its next batch"));
}

TEST_CASE("a rank that leaves an epoch behind its last batch does not cut it short") {
  HeapRing ring(64, epochs_of(8));
  HeapConsumer rank(ring, request_of(0, 2));
  while (ring.produce(8) != 0) continue;
  take_and_return(rank, 4);
  rank.as_rank->leave_epoch();
  REQUIRE(rank.told);
  CHECK((!rank.told->early && rank.told->known && rank.told->place.position == 8));
  ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                          {.met = GroupNews::Met{1, GroupReceipt::matched}});
  take_and_return(rank, 2);
  rank.as_rank->leave_epoch();
  CHECK((rank.told->epoch == 1 && rank.told->early && rank.told->place.position == 12));
}

TEST_CASE("a look ahead of a rank is its part of the batch, and follows its group") {
  HeapRing ring(64, epochs_of(8));
  HeapConsumer rank(ring, request_of(1, 2));
  RingWriter& writer = ring.writer();
  const auto tell = [&](const GroupNews& news) {
    writer.tell_rank(rank.admitted.index, rank.admitted.consumer_id, news);
  };
  Run run;
  CHECK(ring.produce(3) == 3);
  CHECK_FALSE(rank.as_rank->peek(2, 0, run));  // its own two are not there, nor all of the batch
  while (ring.produce(8) != 0) continue;
  REQUIRE(rank.as_rank->peek(2, 0, run));
  CHECK((run.position == 2 && run.size == 2 && run.batch_size == 4));
  take_and_return(rank, 2);
  REQUIRE(rank.as_rank->peek(2, 0, run));
  CHECK((run.position == 6 && run.epoch == 0));
  SECTION("another rank left the epoch where this one stands") {
    tell({.ends = GroupNews::Ends{0, 4}});
    REQUIRE(rank.as_rank->peek(2, 0, run));
    CHECK((run.position == 10 && run.epoch == 1));
    CHECK(rank.reader->position() == 4);  // a look changes nothing
  }
  SECTION("another rank is gone") {
    tell({.lost = GroupNews::Lost{{0, 77, detail::RankLoss::died}, 0}});
    CHECK_THROWS_AS(rank.as_rank->peek(2, 0, run), GroupBroken);
    CHECK(rank.gave_up_place);
  }
}

TEST_CASE("a rank ends an epoch where another one left it, and tells of it") {
  HeapRing ring(64, epochs_of(8));
  HeapConsumer rank(ring, request_of(0, 2));
  while (ring.produce(8) != 0) continue;
  take_and_return(rank, 2);
  Run run;
  const auto leave_at = [&](std::uint64_t position) {
    ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                            {.ends = GroupNews::Ends{0, position}});
  };
  SECTION("here") {
    leave_at(4);
    CHECK(rank.as_rank->next(2, 0, run) == Next::end_of_epoch);
    REQUIRE(rank.told);
    CHECK((rank.told->early && !rank.told->known && rank.told->place.position == 4));
    CHECK(rank.reader->position() == 8);
    CHECK(rank.as_rank->next(2, 0, run) == Next::timed_out);  // until all have met
  }
  SECTION("after a batch that both have") {
    leave_at(8);
    take_and_return(rank, 2);
    CHECK(rank.as_rank->next(2, 0, run) == Next::end_of_epoch);
    REQUIRE(rank.told);
    CHECK((!rank.told->early && rank.told->known && rank.told->place.position == 8));
  }
}

TEST_CASE("an epoch that a rank left ends at a row, and not before it", "[windows]") {
  RowRing ring(16, {200}, epochs_of(3));
  AdmitRequest request = joining(Join::rewind);
  request.group = {"job", 0, 2};
  RingReader::Options options;
  options.window = {0, 5, 1, 0};
  RowConsumer rank(ring, request, options);
  Ticket ticket;
  REQUIRE(ring.writer().claim(3, 0, ticket) == Claim::granted);
  REQUIRE(ring.writer().take_rows(ticket, 0, 0, std::vector<std::uint64_t>{60, 20, 20}) == 3);
  ring.publish(ticket);
  Run run;
  for (int i = 0; i < 5; ++i) {  // of 10 rows for both ranks
    REQUIRE(rank.next(64, 0, run) == Next::batch);
    rank.reader->give_back(run.lease);
  }
  CHECK(rank.reader->place() == RowPlace{0, 50});
  const auto leave_at = [&](RowPlace place) {
    ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                            {.ends = GroupNews::Ends{0, place}});
  };
  SECTION("at a later row of the sample") {
    leave_at({0, 60});
    REQUIRE(rank.as_rank->peek(64, 0, run));
    CHECK((run.epoch == 0 && run.begin() == RowPlace{0, 50}));
    REQUIRE(rank.next(64, 0, run) == Next::batch);  // up to the row where it ends
    rank.reader->give_back(run.lease);
    CHECK(rank.reader->place() == RowPlace{1, 0});
    CHECK(rank.next(64, 0, run) == Next::end_of_epoch);
    REQUIRE(rank.told);
    CHECK(rank.told->place == RowPlace{1, 0});
  }
  SECTION("in the middle of it") {
    leave_at({0, GENERATE(50U, 40U)});
    CHECK_FALSE(rank.as_rank->peek(64, 0, run));
    CHECK(rank.next(64, 0, run) == Next::end_of_epoch);
    REQUIRE(rank.told);
    CHECK((rank.told->early && rank.told->place == RowPlace{0, 50}));
    CHECK(rank.reader->position() == 3);
  }
}

TEST_CASE("of a tail that no rank gets, the first one has the receipt") {
  HeapRing ring(64, epochs_of(7));
  RingReader::Options options;
  options.tail = GENERATE(Tail::keep, Tail::drop);
  HeapConsumer first(ring, request_of(0, 2), options);
  HeapConsumer second(ring, request_of(1, 2), options);
  while (ring.produce(7) != 0) continue;
  Run run;
  for (HeapConsumer* rank : {&first, &second}) {
    while (rank->as_rank->next(2, 0, run) == Next::batch) rank->reader->give_back(run.lease);
    REQUIRE(rank->told);
    CHECK((rank->told->known && !rank->told->early));
  }
  CHECK(first.told->receipt.count + second.told->receipt.count == 7);
  CHECK(first.told->receipt.count > second.told->receipt.count);
}

TEST_CASE("a stream has drained once its ranks have told of the last epoch") {
  HeapRing ring(64, epochs_of(8, 1));
  HeapConsumer rank(ring, request_of(0, 1));
  RingWriter& writer = ring.writer();
  CHECK(ring.produce(8) == 8);
  take_and_return(rank, 8);
  CHECK_FALSE(writer.wait_drained(0));
  Run run;
  CHECK(rank.as_rank->next(8, 0, run) == Next::end_of_epoch);
  writer.rank_ended(rank.admitted.index, rank.admitted.consumer_id, 1);
  CHECK(writer.wait_drained(0));
}

TEST_CASE("a rank waits for the others no more once the producer gave up draining") {
  HeapRing ring(64, epochs_of(8, 1));
  HeapConsumer rank(ring, request_of(0, 2));
  CHECK(ring.produce(8) == 8);
  take_and_return(rank, 4);
  Run run;
  CHECK(rank.as_rank->next(4, 0, run) == Next::end_of_epoch);
  CHECK(rank.as_rank->has_next_epoch(0) == std::nullopt);
  rank.producer_hung_up = true;
  CHECK(rank.as_rank->has_next_epoch(0) == false);
  CHECK(rank.as_rank->status().epochs_unknown == 1);
}

TEST_CASE("a rank gets what another that is gone has had, and no more") {
  HeapRing ring(64, epochs_of(8));
  HeapConsumer rank(ring, request_of(0, 2));
  while (ring.produce(8) != 0) continue;
  Run run;
  take_and_return(rank, 2);
  ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                          {.lost = GroupNews::Lost{{1, 77, detail::RankLoss::died}, 1}});
  take_and_return(rank, 2);
  CHECK(rank.as_rank->next(2, 0, run) == Next::end_of_epoch);
  CHECK_THROWS_WITH(rank.as_rank->next(2, 0, run), Catch::Contains("rank 1 (pid 77) died"));
}

TEST_CASE("beyond the last epoch a rank that is gone costs another one nothing", "[ride]") {
  HeapRing before(64, epochs_of(8, 1));
  HeapConsumer last(before, request_of(0, 2));
  CHECK(before.produce(8) == 8);
  take_and_return(last, 4);
  Run run;
  CHECK(last.as_rank->next(4, 0, run) == Next::end_of_epoch);
  // Its next producer has published nothing yet, and knows that the other rank is gone.
  HeapRing ring(64, epochs_of(8, 1));
  HeapConsumer rank(ring, request_of(0, 2));
  take_over(rank, last);
  CHECK(ordered::load_reading(rank.desk()) == 0);
  ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                          {.lost = GroupNews::Lost{{1, 77, detail::RankLoss::died}, 1}});
  CHECK(rank.as_rank->next(4, 0, run) == Next::timed_out);
}

TEST_CASE("a rank that drains gets the rest of an epoch that a lost rank left in order", "[ride]") {
  HeapRing before(64, epochs_of(16));
  HeapConsumer last(before, request_of(0, 2));
  CHECK(before.produce(8) == 8);  // the epoch's end is not in that ring
  take_and_return(last, 2);
  HeapRing ring(64, epochs_of(16));
  HeapConsumer rank(ring, request_of(0, 2));
  ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                          {.lost = GroupNews::Lost{{1, 77, detail::RankLoss::left}, 0}});
  CHECK_THROWS_AS(rank.as_rank->check_group_for(*last.as_rank), GroupBroken);
  before.writer().tell_rank(last.admitted.index, last.admitted.consumer_id,
                            {.ends = GroupNews::Ends{0, 8}});
  CHECK_NOTHROW(rank.as_rank->check_group_for(*last.as_rank));
  take_and_return(last, 2);
  Run run;
  CHECK(last.as_rank->next(2, 0, run) == Next::end_of_epoch);
}

TEST_CASE("a rank that comes back within an epoch gets its end once", "[ride]") {
  HeapRing before(64, epochs_of(8));
  HeapConsumer last(before, request_of(0, 2));
  while (before.produce(8) != 0) continue;
  for (int batch = 0; batch < 2; ++batch) take_and_return(last, 2);
  Run run;
  CHECK(last.as_rank->next(2, 0, run) == Next::end_of_epoch);
  before.writer().tell_rank(last.admitted.index, last.admitted.consumer_id,
                            {.met = GroupNews::Met{1, GroupReceipt::matched}});
  take_and_return(last, 2);
  CHECK(last.reader->position() == 12);
  // Its next producer is still in the epoch before, and another rank left this one there.
  HeapRing ring(64, epochs_of(8));
  AdmitRequest request = request_of(0, 2);
  request.join = Join::at;
  request.cursor = 12;
  HeapConsumer rank(ring, request);
  take_over(rank, last);
  ring.writer().tell_rank(rank.admitted.index, rank.admitted.consumer_id,
                          {.ends = GroupNews::Ends{1, 12}});
  CHECK(rank.as_rank->next(2, 0, run) == Next::end_of_epoch);
  CHECK(rank.reader->position() == 16);
  CHECK(rank.as_rank->next(2, 0, run) == Next::timed_out);
}

TEST_CASE("a rank that is evicted because of another says so, whether the farewell comes or not") {
  HeapRing ring(64, epochs_of(8));
  HeapConsumer rank(ring, request_of(0, 2));
  RingWriter& writer = ring.writer();
  while (ring.produce(8) != 0) continue;
  take_and_return(rank, 2);
  const std::uint32_t index = rank.admitted.index;
  const std::uint64_t id = rank.admitted.consumer_id;
  const bool told = GENERATE(true, false);
  if (told) {
    writer.tell_rank(index, id, {.lost = GroupNews::Lost{{1, 77, detail::RankLoss::left}, 0}});
  }
  CHECK(writer.evict(index, id));
  if (told) {
    CHECK_THROWS_AS(rank.reader->check(), GroupBroken);
  } else {
    CHECK_THROWS_AS(rank.reader->check(), Revoked);
  }
}

TEST_CASE("an entry with any words in it makes no rank hang or crash") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    HeapRing ring(64, epochs_of(round % 2 == 0 ? 24 : 0));
    RingReader::Options options;
    options.tail = static_cast<Tail>(random() % 3);
    HeapConsumer rank(ring, request_of(1, 3), options);
    auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(
        const_cast<ConsumerEntry*>(&ring.board().consumer(rank.admitted.index)));
    constexpr std::size_t first = offsetof(ConsumerEntry, group_lost) / 8;
    for (int step = 0; step < 100; ++step) {
      const std::uint64_t near = random() % 8;
      const std::uint64_t numbers[] = {0, near, ring.writer().status().published + near, ~near};
      words[first + random() % 6] = numbers[random() % 4];
      static_cast<void>(ring.produce(1 + random() % 16));
      if (round % 2 != 0 && random() % 8 == 0) {
        try {
          ring.writer().end_epoch();
        } catch (const InvalidArgument&) {
          // It has no sample yet.
        }
      }
      try {
        Run run;
        if (rank.as_rank->next(1 + random() % 8, 0, run) == Next::batch) {
          rank.reader->give_back(run.lease);
        }
        if (random() % 8 == 0) rank.as_rank->leave_epoch();
        static_cast<void>(rank.as_rank->status());
      } catch (const Error&) {
        // GroupBroken, ReceiptMismatch: what the words say.
      }
    }
  }
}

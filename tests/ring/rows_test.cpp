// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "row_ring.hpp"
#include "rows_model.hpp"

#include <batchcast/core/error.hpp>

#include <random>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

using Lengths = std::vector<std::uint64_t>;

RingReader::Options budget_of(std::uint64_t rows, Oversize oversize = Oversize::error) {
  RingReader::Options options;
  options.budget = {0, rows, oversize};
  return options;
}

/// A consumer takes that many samples of five rows, and leaves.
void read_and_leave(RowRing& ring, int samples) {
  RowConsumer consumer(ring, joining(Join::rewind));
  for (int i = 0; i < samples; ++i) {
    REQUIRE(produce(ring, {5}) == 1);
    Run run;
    REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
    consumer.reader->give_back(run.lease);
  }
  ring.writer().remove(consumer.admitted.index, consumer.admitted.consumer_id);
}

}  // namespace

TEST_CASE("rows of consecutive positions follow each other", "[rows][ring]") {
  RowRing ring(8, {100}, epochs_of(20));
  RowConsumer consumer(ring, joining(Join::rewind));
  REQUIRE(produce(ring, {3, 0, 7}) == 3);
  CHECK(ring.table(0).at(0) == RowRange{0, 3});
  CHECK(ring.table(0).at(1) == RowRange{3, 0});
  CHECK(ring.table(0).at(2) == RowRange{3, 7});
  CHECK(ordered::load_published_rows(ring.board().axis(0)) == 10);
  Run run;
  REQUIRE(consumer.reader->next(3, 0, run) == Next::batch);
  CHECK(ring.has_rows(0, 0, 3));
  CHECK(ring.has_rows(0, 2, 7));
}

TEST_CASE("a ticket ends before the sample that does not fit", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  Ticket first, second;
  REQUIRE(ring.writer().claim(4, 0, first) == Claim::granted);
  REQUIRE(ring.writer().claim(2, 0, second) == Claim::granted);
  CHECK(ring.writer().has_turn(first));
  CHECK_FALSE(ring.writer().has_turn(second));
  const Lengths lengths = {6, 3, 2, 1};
  CHECK(ring.writer().take_rows(first, 0, 0, lengths) == 2);
  CHECK(first.size == 2);
  ring.publish(first);
  // This thread owes the samples that the first ticket lost.
  const Lengths later = {1, 1};
  CHECK_THROWS_AS(ring.writer().take_rows(second, 0, 0, later), InvalidArgument);
  Ticket rest;
  REQUIRE(ring.writer().claim(8, 0, rest) == Claim::granted);
  CHECK(rest.position == 2);
  CHECK(rest.size == 2);
  Run run;
  REQUIRE(consumer.reader->next(2, 0, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  const Lengths others = {2, 1};
  CHECK(ring.writer().take_rows(rest, 0, 0, others) == 2);
  CHECK(ring.writer().take_rows(second, 0, 0, later) == 2);
  ring.publish(second);
  CHECK(ring.writer().status().published == 2);
  ring.publish(rest);
  CHECK(ring.writer().status().published == 6);
}

TEST_CASE("the newest ticket gives its rows back", "[rows][ring]") {
  RowRing ring(16, {10, 10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  Ticket ticket;
  REQUIRE(ring.writer().claim(2, 0, ticket) == Claim::granted);
  const Lengths lengths = {4, 4};
  REQUIRE(ring.writer().take_rows(ticket, 0, 0, lengths) == 2);
  REQUIRE(ring.writer().take_rows(ticket, 1, 1, std::span(lengths).first(1)) == 1);
  ring.writer().give_back(ticket);
  REQUIRE(ring.writer().claim(2, 0, ticket) == Claim::granted);
  const Lengths all = {5, 5};
  REQUIRE(ring.writer().take_rows(ticket, 0, 0, all) == 2);
  CHECK(ring.table(0).at(0) == RowRange{0, 5});
  ring.publish(ticket);  // it has no rows on the other axis
  CHECK(ring.table(1).at(1) == RowRange{0, 0});
  CHECK(ring.writer().status().published == 2);
}

TEST_CASE("a ticket that is published early gets none once it is its turn", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  Ticket first, second;
  REQUIRE(ring.writer().claim(2, 0, first) == Claim::granted);
  REQUIRE(ring.writer().claim(2, 0, second) == Claim::granted);
  ring.writer().publish(second, {});
  CHECK(ring.writer().status().published == 0);
  const Lengths lengths = {4, 3};
  REQUIRE(ring.writer().take_rows(first, 0, 0, lengths) == 2);
  ring.publish(first);
  CHECK(ring.writer().status().published == 4);
  CHECK(ring.table(0).at(3) == RowRange{7, 0});
}

TEST_CASE("wrong calls for rows are refused", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  Ticket ticket;
  REQUIRE(ring.writer().claim(2, 0, ticket) == Claim::granted);
  const Lengths one = {1}, three = {1, 1, 1}, huge = {11}, hostile = {std::uint64_t{1} << 63};
  CHECK_THROWS_AS(ring.writer().take_rows(ticket, 0, 0, three), InvalidArgument);
  CHECK_THROWS_AS(ring.writer().take_rows(ticket, 0, 0, huge), RingTooSmall);
  CHECK_THROWS_AS(ring.writer().take_rows(ticket, 0, 0, hostile), RingTooSmall);
  CHECK(ring.writer().take_rows(ticket, 0, 1, one) == 1);
  CHECK_THROWS_AS(ring.writer().take_rows(ticket, 0, 0, one), InvalidArgument);
  ring.publish(ticket);
  ring.writer().stop("a test");
  CHECK(ring.writer().take_rows(ticket, 0, 0, one) == 0);
}

TEST_CASE("a waiting producer says which position does not fit", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind), budget_of(9));
  REQUIRE(produce(ring, {6}) == 1);
  Run run;
  CHECK(consumer.reader->next(64, 0, run) == Next::timed_out);  // another of 3 rows would fit
  std::uint64_t made = 0;
  std::thread producer([&] { made = produce(ring, {5}); });
  // The batch is complete without the sample that waits.
  REQUIRE(consumer.reader->next(64, -1, run) == Next::batch);
  CHECK(run.size == 1);
  consumer.reader->give_back(run.lease);
  producer.join();
  CHECK(made == 1);
  CHECK(ordered::get(ring.board().progress().row_wait_position) == limits::position_max);
}

TEST_CASE("a batch that needs more rows than the ring has is an error", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  REQUIRE(produce(ring, {6}) == 1);
  std::uint64_t made = 0;
  std::thread producer([&] { made = produce(ring, {5}); });
  Run run;
  CHECK_THROWS_WITH(consumer.reader->next(2, -1, run),
                    Catch::Contains("11 rows") && Catch::Contains("--rows axis0=11"));
  // It asks for less, and the producer goes on.
  REQUIRE(consumer.reader->next(1, -1, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  producer.join();
  CHECK(made == 1);
}

TEST_CASE("leases in the way of rows become private, or are an error", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  REQUIRE(produce(ring, {6}) == 1);
  Run run;
  REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
  SECTION("private") { consumer.kept.push_back(run); }
  std::thread producer([&] {
    Ticket ticket;
    const Lengths lengths = {5};
    if (ring.writer().claim(1, 0, ticket) != Claim::granted) return;
    if (ring.writer().take_rows(ticket, 0, 0, lengths) != 0) ring.publish(ticket);
  });
  if (!consumer.kept.empty()) {
    REQUIRE(consumer.reader->next(1, -1, run) == Next::batch);
    CHECK(consumer.made_private == 1);
  } else {
    CHECK_THROWS_AS(consumer.reader->next(1, -1, run), RingTooSmall);
    ring.writer().stop("a test");
  }
  producer.join();
}

TEST_CASE("samples beyond the budget that are dropped do not fill the ring", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(8, 1));
  RowConsumer consumer(ring, joining(Join::rewind), budget_of(4, Oversize::drop));
  std::thread producer([&] {
    for (std::uint64_t p = 0; p < 8; ++p) {
      static_cast<void>(produce(ring, {p == 6 ? 3U : 9U}));
    }
  });
  Run run;
  REQUIRE(consumer.reader->next(64, -1, run) == Next::batch);
  CHECK(run.position == 6);
  consumer.reader->give_back(run.lease);
  CHECK(consumer.reader->next(64, -1, run) == Next::end_of_epoch);
  CHECK(consumer.reader->status().epochs_matched == 1);
  CHECK(consumer.reader->status().oversized == 7);
  producer.join();
}

TEST_CASE("a stream that goes back gives positions rows again", "[rows][ring]") {
  RingWriter::Options options = epochs_of(100);
  options.goes_back = true;
  RowRing ring(4, {10}, options);
  read_and_leave(ring, 8);
  const std::uint64_t rows = ordered::load_published_rows(ring.board().axis(0));
  RowConsumer consumer(ring, joining(Join::at, 1));
  REQUIRE(consumer.reader);
  REQUIRE(produce(ring, {4, 3}) == 2);
  CHECK(ring.table(0).at(1) == RowRange{rows, 4});
  CHECK(ordered::load_published_rows(ring.board().axis(0)) == rows + 7);
  Run run;
  REQUIRE(consumer.reader->next(2, 0, run) == Next::batch);
  CHECK(run.position == 1);
}

TEST_CASE("a ticket that has rows keeps them while the stream goes back", "[rows][ring]") {
  RingWriter::Options options = epochs_of(100);
  options.goes_back = true;
  RowRing ring(4, {10}, options);
  read_and_leave(ring, 8);
  Ticket with_rows;
  REQUIRE(ring.writer().claim(1, 0, with_rows) == Claim::granted);
  const std::uint64_t lengths[] = {3};
  REQUIRE(ring.writer().take_rows(with_rows, 0, 0, lengths) == 1);
  Ticket without;
  REQUIRE(ring.writer().claim(1, 0, without) == Claim::granted);
  RowConsumer consumer(ring, joining(Join::at, 1));
  REQUIRE(consumer.reader);
  CHECK(ring.writer().left_rows(with_rows, 0, with_rows.position) == RowRange{40, 3});
  CHECK(ring.writer().left_rows(without, 0, without.position) == std::nullopt);
  ring.writer().publish(with_rows, {});
  CHECK(ring.writer().left_rows(with_rows, 0, with_rows.position) == std::nullopt);
  ring.writer().give_back(without);
  REQUIRE(produce(ring, {4, 3}) == 2);
  CHECK(ring.table(0).at(1) == RowRange{43, 4});
}

TEST_CASE("what is held is known after short samples too, which leave rows unused",
          "[rows][ring]") {
  RingWriter::Options options = epochs_of(10'000);
  options.free_running = true;
  RowRing ring(16, {40}, options);
  Lengths made;
  const auto held_from = [&] {
    std::uint64_t rows = 0;
    std::uint64_t from = made.size();
    while (from > 0 && made.size() - from < 16 && rows + made[from - 1] <= 40) {
      rows += made[--from];
    }
    return from;
  };
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    made.push_back(i % 1'000 < 900 ? 1 : 1 + i % 13);
    REQUIRE(produce(ring, {made.back()}) == 1);
    REQUIRE(ordered::load_kept_from(ring.board().progress()) >= held_from());
  }
}

TEST_CASE("a reader of free pace learns which rows were overwritten", "[rows][ring]") {
  RingWriter::Options options = epochs_of(100);
  options.free_running = true;
  RowRing ring(64, {10}, options);
  AdmitRequest request = joining(Join::rewind);
  request.pace = Pace::free;
  RowConsumer consumer(ring, request);
  REQUIRE(produce(ring, {4, 4}) == 2);
  Run run;
  REQUIRE(consumer.reader->next(2, 0, run) == Next::batch);
  CHECK(consumer.reader->still_held(run));
  REQUIRE(produce(ring, {4}) == 1);  // over the first one's rows
  CHECK_FALSE(consumer.reader->still_held(run));
  CHECK(ordered::load_kept_from(ring.board().progress()) == 1);
}

TEST_CASE("a desk that names an axis which is none wakes only itself", "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  ordered::consumer_wants_row(consumer.desk(), 77, 0);
  ordered::consumer_sleeps_until(consumer.desk(), 1'000);
  const std::uint32_t before =
      ordered::get(ring.board().consumer(consumer.admitted.index).wake_word);
  REQUIRE(produce(ring, {4}) == 1);
  CHECK(ordered::get(ring.board().consumer(consumer.admitted.index).wake_word) == before);
  ordered::consumer_wants_row(consumer.desk(), 1, 6);
  REQUIRE(produce(ring, {2}) == 1);
  CHECK(ordered::get(ring.board().consumer(consumer.admitted.index).wake_word) == before + 1);
}

TEST_CASE("several producers and consumers get what the model says", "[rows][ring]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t arena = 8 + random() % 40;
    const std::uint64_t capacity = 2 + random() % 12;
    const std::uint64_t samples = 1 + random() % 60;
    Lengths lengths(samples);
    for (std::uint64_t& length : lengths) {
      const std::uint64_t kinds[] = {0, 1, arena, arena - 1, random() % arena, random() % 5};
      length = kinds[random() % 6];
    }
    RowRing ring(capacity, {arena}, epochs_of(samples, 2));
    struct Plan {
      std::uint64_t budget;
      Oversize oversize;
      bool keeps;
    };
    const Plan plans[] = {{arena, Oversize::error, false},
                          {1 + random() % arena, Oversize::alone, true},
                          {1 + random() % arena, Oversize::drop, false}};
    std::vector<std::unique_ptr<RowConsumer>> consumers;
    for (const Plan& plan : plans) {
      consumers.push_back(std::make_unique<RowConsumer>(ring, joining(Join::rewind),
                                                        budget_of(plan.budget, plan.oversize)));
    }
    std::vector<std::thread> threads;
    for (int worker = 0; worker < 2; ++worker) {
      threads.emplace_back([&, own = std::mt19937_64(seed + worker)]() mutable {
        for (;;) {
          Ticket ticket;
          if (ring.writer().claim(1 + own() % 6, -1, ticket) != Claim::granted) return;
          Lengths mine;
          for (std::uint64_t i = 0; i < ticket.size; ++i) {
            mine.push_back(lengths[(ticket.position + i) % samples]);
          }
          if (ring.writer().take_rows(ticket, 0, 0, mine) != 0) ring.publish(ticket);
        }
      });
    }
    std::atomic<int> wrong{0};
    for (std::size_t c = 0; c < consumers.size(); ++c) {
      threads.emplace_back([&, c] {
        RowConsumer& consumer = *consumers[c];
        const Plan& plan = plans[c];
        const auto expected = rows_model::batches(lengths, plan.budget, capacity, 1, plan.oversize);
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          for (const auto& batch : expected) {
            Run run;
            if (consumer.reader->next(capacity, -1, run) != Next::batch ||
                run.position != epoch * samples + batch.front().start ||
                run.size != batch.front().size) {
              ++wrong;
              return;
            }
            for (std::uint64_t p = run.position; p < run.position + run.size; ++p) {
              if (!ring.has_rows(0, p, lengths[p % samples])) ++wrong;
            }
            if (plan.keeps) {
              consumer.kept.push_back(run);
            } else {
              consumer.reader->give_back(run.lease);
            }
          }
          Run run;
          if (consumer.reader->next(capacity, -1, run) != Next::end_of_epoch) ++wrong;
        }
        while (consumer.give_oldest_back()) continue;
        if (consumer.reader->status().epochs_matched != 2) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(wrong == 0);
  }
}

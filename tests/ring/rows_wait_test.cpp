// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What readers do while the producer waits for rows, where they look ahead, look for the next
// epoch, or read at `free` pace.
#include "../catch.hpp"
#include "row_ring.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

using Lengths = std::vector<std::uint64_t>;
using Catch::Contains;

RingReader::Options with_budget(std::size_t axis, std::uint64_t rows, Oversize oversize) {
  RingReader::Options options;
  options.budget = {axis, rows, oversize};
  return options;
}

/// Publishes samples of these lengths, one ticket each, until the stream is over.
void make(RowRing& ring, const Lengths& lengths) {
  for (const std::uint64_t length : lengths) {
    Ticket ticket;
    if (ring.writer().claim(1, -1, ticket) != Claim::granted) return;
    if (ring.writer().take_rows(ticket, 0, 0, Lengths{length}) == 0) return;
    ring.publish(ticket);
  }
}

/// A producer's thread, which ends with its stream where a test does not wait for it.
class Maker {
 public:
  template <class Work>
  Maker(RowRing& ring, Work work) : ring_(ring), thread_(std::move(work)) {}
  ~Maker() {
    if (!thread_.joinable()) return;
    ring_.writer().stop("the test is over");
    thread_.join();
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  void join() { thread_.join(); }

 private:
  RowRing& ring_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a look ahead passes samples that are dropped, which would fill the ring",
          "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(8, 1));
  RowConsumer consumer(ring, joining(Join::rewind), with_budget(0, 4, Oversize::drop));
  Maker producer(ring, [&] { make(ring, {2, 9, 9, 9, 9, 9, 3, 9}); });
  Run run;
  REQUIRE(consumer.reader->next(64, -1, run) == Next::batch);
  CHECK(run.size == 1);
  consumer.reader->give_back(run.lease);
  Run seen;
  REQUIRE(consumer.reader->peek(64, 10'000, seen));
  CHECK(seen.position == 6);
  CHECK(consumer.reader->next(64, 10'000, run) == Next::batch);
  CHECK(run.position == seen.position);
  CHECK(run.size == seen.size);
  consumer.reader->give_back(run.lease);
  CHECK(consumer.reader->next(64, 10'000, run) == Next::end_of_epoch);
  producer.join();
  CHECK(consumer.reader->status().oversized == 6);
  CHECK(consumer.reader->status().epochs_matched == 1);
}

TEST_CASE("a look ahead of an epoch that is not begun passes nothing, and says who does",
          "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(4, 1));
  RowConsumer consumer(ring, joining(Join::rewind), with_budget(0, 4, Oversize::drop));
  Maker producer(ring, [&] { make(ring, {9, 9, 3, 9}); });
  Run run;
  CHECK_THROWS_WITH(consumer.reader->peek(64, 10'000, run),
                    Contains("is at position 0") && Contains("Call `next`, which passes"));
  CHECK(consumer.reader->next(64, 10'000, run) == Next::batch);
  CHECK(run.position == 2);
  consumer.reader->give_back(run.lease);
  CHECK(consumer.reader->next(64, 10'000, run) == Next::end_of_epoch);
  producer.join();
}

TEST_CASE("a look beyond the end of an epoch, which `next` has not passed, says that it has to",
          "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(3));
  RowConsumer consumer(ring, joining(Join::rewind), with_budget(0, 4, Oversize::drop));
  Maker producer(ring, [&] { make(ring, {3, 2, 9, 9, 3, 3}); });
  Run run;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(consumer.reader->next(64, 10'000, run) == Next::batch);
    consumer.reader->give_back(run.lease);
  }
  // One dropped sample ends this epoch, and one begins the next. Each of them fits the ring.
  CHECK_THROWS_AS(consumer.reader->peek(64, 10'000, run), RingTooSmall);
  CHECK(consumer.reader->position() == 2);
  CHECK(consumer.reader->next(64, 10'000, run) == Next::end_of_epoch);
  CHECK(consumer.reader->next(64, 10'000, run) == Next::batch);
  CHECK(run.position == 4);
  consumer.reader->give_back(run.lease);
}

TEST_CASE("a look where samples that are dropped fill all positions says that next passes them",
          "[rows][ring]") {
  RowRing ring(4, {100}, epochs_of(6));
  RowConsumer consumer(ring, joining(Join::rewind), with_budget(0, 4, Oversize::drop));
  make(ring, {9, 9, 9, 9});
  Run run;
  CHECK_THROWS_WITH(consumer.reader->peek(64, 0, run), Contains("Call `next`, which passes"));
  CHECK(consumer.reader->next(64, 0, run) == Next::timed_out);
  CHECK(consumer.reader->position() == 4);
  make(ring, {3, 9});
  CHECK(consumer.reader->next(64, 0, run) == Next::batch);
  consumer.reader->give_back(run.lease);
}

TEST_CASE("a look at the next epoch passes none of it", "[rows][windows][ring]") {
  RingReader::Options options;
  Lengths lengths;
  std::uint64_t length = 0;
  SECTION("a sample that is dropped") {
    options = with_budget(0, 10, Oversize::drop);
    lengths = {40, 3, 4, 2, 40, 3, 4, 2};
    length = 4;
  }
  SECTION("samples without rows") {
    options.window = {0, 8, 1, 0};
    lengths = {2, 2, 2, 1, 1, 0, 0, 0, 0, 8};
    length = 5;
  }
  RowRing ring(8, {100}, epochs_of(length));
  RowConsumer consumer(ring, joining(Join::rewind), options);
  make(ring, Lengths(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(length)));
  Run run;
  REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  const std::size_t there = lengths[0] == 40 ? 5 : 9;
  const auto begin = lengths.begin();
  make(ring, Lengths(begin + static_cast<std::ptrdiff_t>(length),
                     begin + static_cast<std::ptrdiff_t>(there)));
  CHECK_FALSE(consumer.reader->peek(64, 0, run));
  CHECK(consumer.reader->position() == length);
  CHECK(consumer.reader->status().oversized == (lengths[0] == 40 ? 1 : 0));
  make(ring, Lengths(begin + static_cast<std::ptrdiff_t>(there), lengths.end()));
  CHECK(consumer.reader->next(64, 0, run) == Next::end_of_epoch);
  REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  CHECK(consumer.reader->next(64, 0, run) == Next::end_of_epoch);
  CHECK(consumer.reader->status().epochs_matched == 2);
}

TEST_CASE("a look where no epoch has a batch says so", "[rows][windows][ring]") {
  RingReader::Options options;
  std::string what;
  SECTION("a window that is wider than an epoch") {
    options.window = {0, 9, 3, 0};
    what = "fewer rows than the window";
  }
  SECTION("a budget that all samples exceed") {
    options = with_budget(0, 2, Oversize::drop);
    what = "exceed the budget";
  }
  RowRing ring(64, {100}, epochs_of(1));
  RowConsumer consumer(ring, joining(Join::rewind), options);
  const int ended = GENERATE(0, 4);
  make(ring, Lengths(8, 5));
  Run run;
  for (int i = 0; i < ended; ++i) {
    REQUIRE(consumer.reader->next(64, 0, run) == Next::end_of_epoch);
  }
  CHECK_THROWS_AS(consumer.reader->peek(64, 0, run), InvalidArgument);
  CHECK_THROWS_WITH(
      consumer.reader->peek(64, 0, run),
      Contains(text("epoch {} of stream `rows` has no batch", ended)) && Contains(what));
  CHECK(consumer.reader->position() == static_cast<std::uint64_t>(ended));
}

TEST_CASE("a look beyond the rest of an epoch finds what a producer that died has published",
          "[rows][windows][ring]") {
  RingReader::Options options;
  options.window = {0, 4, 1, 0};
  RowRing ring(64, {100}, epochs_of(2));
  RowConsumer consumer(ring, joining(Join::rewind), options);
  consumer.is_dead = true;
  Run run;
  CHECK_FALSE(consumer.reader->peek(64, 0, run));  // it finds that out
  make(ring, {4, 3, 4, 3});
  REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  REQUIRE(consumer.reader->peek(64, 0, run));
  CHECK(run.position == 2);
  CHECK(consumer.reader->next(64, 0, run) == Next::end_of_epoch);
  REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
  CHECK(run.position == 2);
}

TEST_CASE("a group whose batch has samples beyond its budget gets no advice to shrink the budget",
          "[rows][ring]") {
  RowRing ring(16, {20}, epochs_of(4));
  AdmitRequest request = joining(Join::rewind);
  request.group = {"job", 0, 2};
  const Oversize oversize = GENERATE(Oversize::alone, Oversize::truncate, Oversize::drop);
  RowConsumer rank(ring, request, with_budget(0, 5, oversize));
  Maker producer(ring, [&] { make(ring, {3, 18, 3, 3}); });
  Run run;
  CHECK_THROWS_WITH(rank.as_rank->next(64, 10'000, run),
                    Contains("21 rows") && Contains("of 2 ranks") && Contains("axis0=21") &&
                        !Contains("smaller budget"));
}

TEST_CASE("of what is dropped behind a batch that is split, the first rank has the receipt",
          "[rows][ring]") {
  RowRing ring(16, {40}, epochs_of(4, 1));
  AdmitRequest request = joining(Join::rewind);
  request.group = {"job", 0, 2};
  RowConsumer first(ring, request, with_budget(0, 4, Oversize::drop));
  request.group.rank = 1;
  RowConsumer second(ring, request, with_budget(0, 4, Oversize::drop));
  make(ring, {2, 2, 9, 9});
  for (RowConsumer* rank : {&first, &second}) {
    Run run;
    REQUIRE(rank->as_rank->next(64, 0, run) == Next::batch);
    CHECK(run.size == 1);
    rank->reader->give_back(run.lease);
    CHECK(rank->as_rank->next(64, 0, run) == Next::end_of_epoch);
    REQUIRE(rank->told);
    CHECK(rank->told->known);
    CHECK(rank->told->rows.all == 22);
  }
  CHECK(first.told->receipt.count == 3);
  CHECK(second.told->receipt.count == 1);
}

TEST_CASE("a reader that left its epoch gets an error where it holds the rows for the rest of it",
          "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(0));
  RowConsumer consumer(ring, joining(Join::rewind));
  make(ring, {6});
  Run run;
  REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
  consumer.reader->leave_epoch();
  Maker producer(ring, [&] { make(ring, {5}); });
  CHECK_THROWS_AS(consumer.reader->has_next_epoch(3'000), RingTooSmall);
}

TEST_CASE("leases in the way of rows are no error where the producer is dead or has ended",
          "[rows][ring]") {
  RowRing ring(16, {10}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind));
  make(ring, {6});
  Run run;
  REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
  Maker producer(ring, [&] { make(ring, {5}); });
  while (ordered::get(ring.board().progress().row_wait_position) != 1) std::this_thread::yield();
  consumer.is_dead = true;
  CHECK_THROWS_AS(consumer.reader->next(1, 3'000, run), ProducerGone);
}

TEST_CASE("rows that are known before they are taken end a batch", "[rows][ring]") {
  RowRing ring(16, {10, 100}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind), with_budget(1, 20, Oversize::error));
  const auto take = [&](std::uint64_t first, std::uint64_t second) {
    Ticket ticket;
    if (ring.writer().claim(1, -1, ticket) != Claim::granted) return;
    const Lengths known = {first, second};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::span<const std::uint64_t> one(&known[axis], 1);
      if (ring.writer().take_rows(ticket, axis, 0, one, -1, known) == 0) return;
    }
    ring.publish(ticket);
  };
  take(6, 5);
  // It waits on the first axis. On the second one, where it has no rows yet, it exceeds the budget.
  Maker producer(ring, [&] { take(5, 18); });
  Run run;
  REQUIRE(consumer.reader->next(64, 3'000, run) == Next::batch);
  CHECK(run.size == 1);
  consumer.reader->give_back(run.lease);
  producer.join();
}

TEST_CASE("a reader of free pace that is epochs late looks at what there is", "[rows][ring]") {
  const bool has_rows = GENERATE(true, false);
  RingWriter::Options options = epochs_of(100);
  options.free_running = true;
  RowRing ring(64, {1'000}, options);
  AdmitRequest request = joining(Join::rewind);
  request.pace = Pace::free;
  RowConsumer consumer(ring, request,
                       has_rows ? with_budget(0, 40, Oversize::error) : RingReader::Options{});
  const auto produce_to = [&](std::uint64_t end) {
    Ticket ticket;
    const std::uint64_t rows[] = {10};
    do {
      REQUIRE(ring.writer().claim(1, 0, ticket) == Claim::granted);
      REQUIRE(ring.writer().take_rows(ticket, 0, 0, rows) == 1);
      ring.publish(ticket);
    } while (ticket.position + 1 < end);
  };
  produce_to(350);
  Run run;
  REQUIRE(consumer.reader->peek(4, 0, run));
  CHECK(run.position >= 350 - 64);
  CHECK(run.size == 4);
  CHECK(run.epoch == 3);
  // What is left of the epoch that it comes into makes no batch, and says nothing of the epoch.
  produce_to(430);
  REQUIRE(consumer.reader->peek(4, 0, run));
  CHECK(run.position >= 430 - 64);
}

TEST_CASE("a reader of free pace drops and refuses only samples that exceed its budget",
          "[rows][ring]") {
  constexpr std::uint64_t budget = 40;
  const auto length_of = [](std::uint64_t position) -> std::uint64_t {
    const std::uint64_t run = position / 24;  // several in a row, so that a reader passes many
    return run % 3 == 1 ? 41 + position % 5 : position % 7;
  };
  const Oversize oversize = GENERATE(Oversize::drop, Oversize::error);
  const bool peeks = GENERATE(false, true);
  RingWriter::Options options = epochs_of(1'000);
  options.free_running = true;
  RowRing ring(64, {1'000}, options);
  AdmitRequest request = joining(Join::rewind);
  request.pace = Pace::free;
  RowConsumer consumer(ring, request, with_budget(0, budget, oversize));
  Maker producer(ring, [&] {
    for (;;) {
      Ticket ticket;
      if (ring.writer().claim(8, -1, ticket) != Claim::granted) return;
      Lengths lengths;
      for (std::uint64_t i = 0; i < ticket.size; ++i) {
        lengths.push_back(length_of(ticket.position + i));
      }
      if (ring.writer().take_rows(ticket, 0, 0, lengths) == 0) return;
      ring.publish(ticket);
      if (ticket.position % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  std::uint64_t dropped = 0;
  std::uint64_t dropped_at_most = 0;
  std::uint64_t refused_wrongly = 0;
  std::uint64_t batches = 0;
  std::uint64_t at = 0;
  const std::uint64_t began_ns = now_ns();
  const auto passed = [&](std::uint64_t ms) { return now_ns() - began_ns >= ms * 1'000'000; };
  while (!passed(400) || (batches == 0 && !passed(20'000))) {
    const std::uint64_t before = consumer.reader->status().oversized;
    Run run;
    try {
      const bool there = peeks ? consumer.reader->peek(64, 1, run)
                               : consumer.reader->next(64, 1, run) == Next::batch;
      if (!there) continue;
      if (peeks) {
        ++batches;
        continue;
      }
    } catch (const InvalidArgument& error) {
      const std::string text = error.what();
      const std::uint64_t position = std::stoull(text.substr(text.find("position ") + 9));
      refused_wrongly += length_of(position) <= budget ? 1 : 0;
      consumer.reader->leave_epoch();
      continue;
    }
    const std::vector<std::uint64_t> ids(run.size, 0);
    if (!consumer.reader->copied(run, ids)) continue;
    ++batches;
    dropped += consumer.reader->status().oversized - before;
    for (; at < run.batch_start + run.batch_size; ++at) {
      dropped_at_most += length_of(at) > budget ? 1 : 0;
    }
  }
  CHECK(batches > 0);
  CHECK(dropped <= dropped_at_most);
  CHECK(refused_wrongly == 0);
}

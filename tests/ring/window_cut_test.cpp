// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "row_ring.hpp"
#include "rows_model.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/ring/window_cut.hpp>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

using Lengths = std::vector<std::uint64_t>;
using rows_model::Place;

Lengths random_lengths(std::mt19937_64& random, std::size_t samples, std::uint64_t most) {
  Lengths lengths(samples);
  for (std::uint64_t& length : lengths) {
    const std::uint64_t kinds[] = {0, 1, most, random() % (most + 1), random() % 5};
    length = std::min(kinds[random() % 5], most);
  }
  return lengths;
}

/// A batch of one rank as a model has it: rows by their number in the epoch.
std::vector<std::uint64_t> rows_of(const RowRing& ring, const Run& run, std::uint64_t samples) {
  const std::uint64_t epoch = run.batch_start / samples * samples;
  const std::uint64_t start = ring.table(0).at(run.batch_start).first;
  std::uint64_t before = start;  // of the epoch's rows
  for (std::uint64_t p = run.batch_start; p > epoch; --p) before = ring.table(0).at(p - 1).first;
  std::vector<std::uint64_t> rows;
  std::uint64_t row = run.first_row;
  for (std::uint64_t i = 0; i < run.rows_in_all() + run.window_extra; ++i) {
    rows.push_back(row - before);
    if (++row == run.lap_row + run.lap_rows && run.lap_rows != 0) row = run.lap_row;
  }
  return rows;
}

RingReader::Options window_of(std::uint64_t rows, std::uint64_t runs, std::uint64_t extra = 0,
                              Tail tail = Tail::keep) {
  RingReader::Options options;
  options.window = {0, rows, runs, extra};
  options.tail = tail;
  return options;
}

/// Publishes samples of these lengths until it has told the ring of all epochs.
void make(RowRing& ring, const Lengths& lengths, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    Ticket ticket;
    if (ring.writer().claim(1 + random() % 6, -1, ticket) != Claim::granted) return;
    Lengths mine;
    for (std::uint64_t i = 0; i < ticket.size; ++i) {
      mine.push_back(lengths[(ticket.position + i) % lengths.size()]);
    }
    if (ring.writer().take_rows(ticket, 0, 0, mine) != 0) ring.publish(ticket);
  }
}

}  // namespace

TEST_CASE("a window cuts rows through samples, as the model says", "[windows][ring]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t rows = 1 + random() % 6;
    const std::uint64_t runs = 1 + random() % 4;
    const std::uint64_t extra = random() % 3;
    const std::uint64_t world = 1 + random() % 3;
    const Tail tail = std::array{Tail::keep, Tail::drop, Tail::pad}[random() % 3];
    const Lengths lengths = random_lengths(random, 1 + random() % 40, 12);
    const std::uint64_t samples = lengths.size();
    RowRing ring(64, {1'000}, epochs_of(samples, 1));
    std::vector<std::unique_ptr<RowConsumer>> ranks;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      AdmitRequest request = joining(Join::rewind);
      if (world > 1) request.group = {"job", rank, static_cast<std::uint32_t>(world)};
      ranks.push_back(
          std::make_unique<RowConsumer>(ring, request, window_of(rows, runs, extra, tail)));
    }
    const auto expected = rows_model::windows(lengths, rows, runs, extra, world, tail);
    std::vector<std::size_t> taken(world);
    std::vector<bool> is_over(world);
    // The samples come one by one, in bursts; the batches must not depend on that.
    for (std::uint64_t made = 0; made <= samples;) {
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        Run run;
        Next next;
        while ((next = ranks[rank]->next(64, 0, run)) == Next::batch) {
          REQUIRE(taken[rank] < expected.batches.size());
          const auto& batch = expected.batches[taken[rank]++];
          CHECK(rows_of(ring, run, samples) == batch.rows[rank]);
          CHECK(run.window_runs == batch.runs);
          CHECK(Place{ranks[rank]->reader->position(), ranks[rank]->reader->row()} == batch.after);
          CHECK(run.counted == batch.counted[rank].size());
          if (run.counted != 0) CHECK(run.counted_from == batch.counted[rank].front());
          ranks[rank]->reader->give_back(run.lease);
        }
        if (next == Next::end_of_epoch) {
          is_over[rank] = true;
          CHECK(taken[rank] == expected.batches.size());
          CHECK(ranks[rank]->reader->status().dropped_rows == expected.dropped);
          if (world == 1) CHECK(ranks[rank]->reader->status().epochs_matched == 1);
        }
      }
      if (made == samples) break;
      made += produce(ring, {lengths.begin() + static_cast<std::ptrdiff_t>(made),
                             lengths.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(samples, made + 1 + random() % 3))});
    }
    // Together the ranks have every sample.
    Receipt all, published;
    for (std::uint64_t id = 0; id < samples; ++id) published.add(std::span(&id, 1));
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      CHECK(is_over[rank]);
      if (world == 1) continue;
      REQUIRE(ranks[rank]->told);
      all.add(ranks[rank]->told->receipt);
    }
    if (world > 1) CHECK(all == published);
  }
}

TEST_CASE("leases that follow each other share the sample that a window cuts", "[windows][ring]") {
  RowRing ring(16, {100}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind), window_of(10, 1));
  REQUIRE(produce(ring, {5, 40, 0, 7}) == 4);
  std::vector<Run> runs(4);
  for (Run& run : runs) REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
  CHECK(runs[1].position == 1);
  CHECK(runs[3].position == 1);
  CHECK(consumer.reader->position() == 1);
  CHECK(consumer.reader->row() == 35);
  consumer.reader->give_back(runs[2].lease);
  CHECK(ordered::load_released(consumer.desk()) == 0);
  consumer.reader->give_back(runs[0].lease);
  CHECK(ordered::load_released(consumer.desk()) == 1);
  consumer.reader->give_back(runs[1].lease);
  consumer.reader->give_back(runs[3].lease);
  CHECK(ordered::load_released(consumer.desk()) == 1);  // the cursor is in that sample
  Run run;
  REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);  // 5 rows of it, and 5 of the last
  CHECK(run.size == 3);
  consumer.reader->give_back(run.lease);
  CHECK(ordered::load_released(consumer.desk()) == 3);
}

TEST_CASE("a batch begins at a sample again without a window, and counts the rest",
          "[windows][ring]") {
  RowRing ring(16, {100}, epochs_of(4, 1));
  RowConsumer consumer(ring, joining(Join::rewind), window_of(10, 1));
  REQUIRE(produce(ring, {15, 20, 5, 9}) == 4);
  Run run;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
    consumer.reader->give_back(run.lease);
  }
  CHECK(consumer.reader->row() == 5);
  bool is_held = true;
  SECTION("batches of samples") {
    consumer.reader->set_window({});
    REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
    CHECK(run.position == 2);
    CHECK(run.size == 1);
  }
  SECTION("a budget") {
    consumer.reader->set_window({});
    consumer.reader->set_budget({0, 5, Oversize::error});
    REQUIRE(consumer.reader->peek(64, 0, run));
    CHECK(run.position == 2);
    REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
    CHECK(run.position == 2);
    consumer.reader->set_budget({});
  }
  SECTION("and a window again") {
    consumer.reader->set_window({});
    REQUIRE(consumer.reader->next(1, 0, run) == Next::batch);
    consumer.reader->give_back(run.lease);
    consumer.reader->set_window({0, 9, 1, 0});
    REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
    CHECK(run.position == 3);
  }
  SECTION("the end of the epoch") { is_held = false; }
  if (is_held) {
    consumer.reader->give_back(run.lease);
    CHECK(consumer.reader->status().dropped_rows == 15);
  }
  consumer.reader->leave_epoch();
  CHECK(consumer.reader->status().epochs_matched == 1);
}

TEST_CASE("a cursor inside a sample is refused where the sample has no such row",
          "[windows][ring]") {
  RowRing ring(16, {100}, epochs_of(4, 1));
  RowConsumer first(ring, joining(Join::rewind));
  auto options = window_of(10, 1);
  bool has_window = true;
  SECTION("with a window") {}
  SECTION("without") { has_window = false; }
  if (!has_window) options.window = {};
  options.row = 7;
  RowConsumer there(ring, joining(Join::at, 1), options);
  options.row = 20;
  RowConsumer beyond(ring, joining(Join::at, 1), options);
  Run run;
  CHECK(beyond.reader->next(2, 0, run) == Next::timed_out);  // its length is not known yet
  REQUIRE(produce(ring, {15, 20, 5, 9}) == 4);
  CHECK_THROWS_WITH(beyond.reader->next(2, 0, run),
                    Catch::Contains("no row 20") && Catch::Contains("has 20"));
  REQUIRE(there.reader->next(2, 0, run) == Next::batch);
  CHECK(run.position == (has_window ? 1 : 2));
  CHECK(run.first_row == (has_window ? 22 : 0));
}

TEST_CASE("a window that needs more than the ring's rows from a sample's start on is an error",
          "[windows][ring]") {
  RowRing ring(16, {20}, epochs_of(100));
  RowConsumer consumer(ring, joining(Join::rewind), window_of(8, 1));
  REQUIRE(produce(ring, {15}) == 1);
  Run run;
  REQUIRE(consumer.reader->next(64, 0, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  std::uint64_t made = 0;
  std::thread producer([&] { made = produce(ring, {9}); });
  CHECK_THROWS_WITH(consumer.reader->next(64, -1, run), Catch::Contains("24 rows"));
  consumer.reader->set_window({0, 7, 1, 0});  // what is left of the sample
  REQUIRE(consumer.reader->next(64, -1, run) == Next::batch);
  consumer.reader->give_back(run.lease);
  producer.join();
  CHECK(made == 1);
}

TEST_CASE("samples without rows do not fill the ring of a window", "[windows][ring]") {
  RowRing ring(4, {20}, epochs_of(40, 1));
  RowConsumer consumer(ring, joining(Join::rewind), window_of(3, 1, 1));
  Lengths lengths(40);
  lengths[37] = 4;
  std::thread producer([&] { make(ring, lengths, 1); });
  Run run;
  REQUIRE(consumer.reader->next(64, -1, run) == Next::batch);
  CHECK(run.first_row == 0);
  consumer.reader->give_back(run.lease);
  CHECK(consumer.reader->next(64, -1, run) == Next::end_of_epoch);
  CHECK(consumer.reader->status().epochs_matched == 1);
  CHECK(consumer.reader->status().dropped_rows == 1);
  producer.join();
}

TEST_CASE("windows of several readers, changed and continued at any row, give every row once",
          "[windows][ring]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    const std::uint64_t arena = 30 + random() % 40;
    const std::uint64_t samples = 1 + random() % 50;
    const Lengths lengths = random_lengths(random, samples, arena / 3);
    const std::uint64_t total = rows_model::sum(lengths, 0, samples);
    RowRing ring(60 + random() % 30, {arena}, epochs_of(samples, 2));
    std::vector<std::unique_ptr<RowConsumer>> consumers;
    for (int i = 0; i < 3; ++i) {
      consumers.push_back(
          std::make_unique<RowConsumer>(ring, joining(Join::rewind), window_of(1, 1)));
    }
    std::vector<std::thread> threads;
    for (int worker = 0; worker < 2; ++worker) {
      threads.emplace_back([&, worker] { make(ring, lengths, seed + worker); });
    }
    std::atomic<int> wrong{0};
    for (int c = 0; c < 3; ++c) {
      threads.emplace_back([&, c, own = std::mt19937_64(seed + 10 + c)]() mutable {
        RowConsumer& consumer = *consumers[c];
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          std::uint64_t seen = 0;
          Place place{epoch * samples, 0};
          const std::uint64_t dropped = consumer.reader->status().dropped_rows;
          for (;;) {
            // A window needs no more than its rows and those of two samples beside it.
            consumer.reader->set_window({0, 1 + own() % 3, 1 + own() % 3, own() % 2});
            Run run;
            const Next next = consumer.reader->next(64, -1, run);
            if (next == Next::end_of_epoch) break;
            wrong += run.batch_start != place.sample || run.cursor_row != place.row;
            std::uint64_t row = run.first_row;
            std::uint64_t position = run.position;
            for (std::uint64_t i = 0; i < run.rows_in_all(); ++i, ++row) {
              while (ring.table(0).at(position).end() <= row) ++position;
              const RowRange here = ring.table(0).at(position);
              wrong += here.rows != lengths[position % samples] || here.first > row;
            }
            seen += run.rows_in_all();
            place = {consumer.reader->position(), consumer.reader->row()};
            if (c == 2 && consumer.kept.size() < 3) {
              consumer.kept.push_back(run);
            } else {
              consumer.reader->give_back(run.lease);
            }
          }
          while (consumer.give_oldest_back()) continue;
          wrong += seen + consumer.reader->status().dropped_rows - dropped != total;
        }
        wrong += consumer.reader->status().epochs_matched != 2;
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(wrong == 0);
  }
}

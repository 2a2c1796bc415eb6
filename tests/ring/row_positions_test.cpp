// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "row_ring.hpp"

#include <batchcast/core/clock.hpp>

#include <cstdint>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// A ring may be out of positions while a reader sleeps for rows. Nothing but the reader can make
// room then, so it must wake without its time-out, which is 50 ms for each batch.
namespace {

/// Publishes samples one by one; `rows_of(position)`: the sample's.
template <class RowsOf>
void produce_all(RowRing& ring, RowsOf&& rows_of) {
  for (;;) {
    Ticket ticket;
    if (ring.writer().claim(1, -1, ticket) != Claim::granted) return;
    const std::vector<std::uint64_t> rows{rows_of(ticket.position)};
    if (ring.writer().take_rows(ticket, 0, 0, rows) != 0) ring.publish(ticket);
  }
}

}  // namespace

TEST_CASE("a reader that keeps batches wakes where the ring is out of positions", "[windows]") {
  constexpr std::uint64_t samples = 4'000;
  RowRing ring(64, {4'000}, epochs_of(samples, 1));
  RingReader::Options options;
  SECTION("with a budget") { options.budget = {0, 40, Oversize::error}; }
  SECTION("with a window") { options.window = {0, 40, 1, 0}; }
  RowConsumer consumer(ring, joining(Join::rewind), options);
  std::thread producer([&] { produce_all(ring, [](std::uint64_t) { return 1U; }); });
  const std::uint64_t began_ns = now_ns();
  Run run;
  int batches = 0;
  for (; consumer.reader->next(64, -1, run) == Next::batch; ++batches) {
    while (consumer.kept.size() > 1) consumer.give_oldest_back();
    consumer.kept.push_back(run);
  }
  const std::uint64_t took_ns = now_ns() - began_ns;
  while (consumer.give_oldest_back()) continue;
  producer.join();
  CHECK(batches == 100);
  CHECK(took_ns < 2'500'000'000);  // 100 time-outs are five seconds
}

TEST_CASE("a reader wakes where samples without rows fill the ring", "[windows]") {
  constexpr std::uint64_t samples = 8'000;
  RowRing ring(64, {4'000}, epochs_of(samples, 1));
  RingReader::Options options;
  options.window = {0, 8, 1, 0};
  RowConsumer consumer(ring, joining(Join::rewind), options);
  std::thread producer([&] {
    produce_all(ring, [](std::uint64_t position) { return position % 400 == 399 ? 8U : 0U; });
  });
  const std::uint64_t began_ns = now_ns();
  Run run;
  int batches = 0;
  for (; consumer.reader->next(64, -1, run) == Next::batch; ++batches) {
    consumer.reader->give_back(run.lease);
  }
  const std::uint64_t took_ns = now_ns() - began_ns;
  producer.join();
  CHECK(batches == 20);
  CHECK(took_ns < 2'500'000'000);  // 125 time-outs, one for each ring of positions
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "kept_batch.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "serve.hpp"

#include <batchcast/core/limits.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// Batches that a trainer keeps where groups, many consumers, looks ahead, moves and the ends of
// streams meet them.
namespace {

bool goes_on(Consumer& consumer, std::uint64_t samples) {
  for (std::uint64_t read = 0; read < samples;) {
    const NextBatch next = consumer.try_next(10'000);
    if (next.outcome == Outcome::timed_out) return false;
    if (next.outcome == Outcome::batch) read += next.batch.size();
  }
  return true;
}

/// Whether the batch lies in the ring's memory, rather than in memory of this process alone.
bool lies_in_ring(const Batch& batch) {
  const auto at = reinterpret_cast<std::uintptr_t>(batch.field<std::byte>(0).data());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    if (begin <= at && at < end) return line.find("memfd:") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("ranks that keep batches hold up neither their group nor others", "[kept][groups]") {
  const OwnDirectory directory;
  constexpr std::uint32_t world = 3;
  Server server(producer_options("mixed", 900, 256 << 10), {});
  std::vector<std::vector<Kept>> kept(world);
  const std::vector<Ranked> ranks =
      run_ranks(rank_options(0, world, 16), [&kept](std::uint32_t rank) {
        return RankPlan{.epochs = 4,
                        .leave_loop = 1,
                        .leave_after = 5,
                        .on_batch = [&mine = kept[rank], rank](const Batch& batch) {
                          if (batch.position() % 5 == rank) mine.emplace_back(batch.share());
                        }};
      });
  for (const Ranked& rank : ranks) {
    INFO(rank.over << " " << rank.text);
    CHECK(rank.fault.empty());
    CHECK(rank.over.empty());
    CHECK(rank.loops.size() == 4);
  }
  Consumer other(quiet());
  CHECK(goes_on(other, 3 * other.capacity()));
  std::size_t count = 0;
  for (const std::vector<Kept>& one : kept) {
    for (const Kept& batch : one) {
      CHECK(batch.shows_it());
      batch.batch.check();
      ++count;
    }
  }
  CHECK(count > world);
}

TEST_CASE("a batch is kept in place although no range is left to explain faults", "[kept]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("mixed", 1'000);
  options.max_consumers = 200;
  Server server(std::move(options), {});
  // These consumers take ranges, and no other one waits for them.
  std::vector<std::unique_ptr<Consumer>> many;
  ConsumerOptions idle = quiet();
  idle.between_epochs = BetweenEpochs::let_go;
  do {
    many.push_back(std::make_unique<Consumer>(idle));
  } while (many.size() * many.front()->schema().size() <= limits::fault_ranges_max);
  auto consumer = std::make_unique<Consumer>(quiet());
  Kept left(consumer->next().value());
  consumer->leave_epoch();
  auto next = consumer->next();
  while (!next) next = consumer->next();
  Kept at_the_end(std::move(*next));
  consumer.reset();
  CHECK_FALSE(lies_in_ring(left.batch));
  Consumer other(quiet());
  CHECK(goes_on(other, 3 * other.capacity()));
  for (Kept* one : {&left, &at_the_end}) {
    CHECK(one->shows_it());
    one->write(1);
    CHECK(one->shows_it());
  }
}

TEST_CASE("nothing of a dead producer's stream is copied", "[kept][short]") {
  const OwnDirectory directory;
  const bool dies = GENERATE(true, false);
  Process producer("produce_with_child", {});
  static_cast<void>(producer.expect("serves"));
  auto consumer = std::make_unique<Consumer>(quiet(16));
  Kept kept(consumer->next().value());
  REQUIRE(lies_in_ring(kept.batch));
  if (dies) {
    producer.kill();
    static_cast<void>(producer.wait());
  }
  consumer.reset();
  CHECK(lies_in_ring(kept.batch) == dies);
  CHECK(kept.shows_it());
}

TEST_CASE("nothing of a stream that was stopped is copied", "[kept][short]") {
  const OwnDirectory directory;
  auto server = std::make_unique<Server>(producer_options("mixed", 100'000), ServePlan{});
  auto consumer = std::make_unique<Consumer>(quiet());
  Kept kept(consumer->next().value());
  SECTION("stopped") { server->stop(); }
  SECTION("failed") { server->producer().fail("for the test"); }
  SECTION("stopped, and its producer gone") { server.reset(); }
  consumer.reset();
  CHECK(lies_in_ring(kept.batch));
  CHECK(kept.shows_it());
  kept.batch.check();
}

TEST_CASE("a stream ends in order although its last batch is kept", "[kept][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("mixed", 100);
  options.epochs = 1;
  Server server(std::move(options), {});
  auto consumer = std::make_unique<Consumer>(quiet(100));
  Kept kept(consumer->next().value());
  server.join();
  CHECK_FALSE(consumer->next());
  consumer.reset();
  CHECK(server.producer().finish(10'000));
  CHECK(server.producer().stats().state == StreamState::finished);
  CHECK_FALSE(lies_in_ring(kept.batch));
  CHECK(kept.shows_it());
}

TEST_CASE("a look ahead and a move find what is kept in place", "[kept][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("mixed", 100'000);
  options.pure = true;
  Server server(std::move(options), {});
  Consumer consumer(quiet());
  consumer.set_batch_size(consumer.capacity() / 3);
  Kept first(consumer.next().value());
  const auto ahead = consumer.peek();
  REQUIRE(ahead);
  CHECK(ahead->position() == consumer.cursor());
  CHECK(first.shows_it());
  SECTION("then the next batches") { CHECK(goes_on(consumer, 3 * consumer.capacity())); }
  SECTION("then a place behind") {
    REQUIRE(goes_on(consumer, 3 * consumer.capacity()));
    REQUIRE(consumer.move_to(100));
    CHECK(consumer.cursor() == 100);
    CHECK(goes_on(consumer, 3 * consumer.capacity()));
  }
  CHECK(first.shows_it());
  first.batch.check();
}

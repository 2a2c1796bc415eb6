// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Groups whose samples the leading ring no longer has: all ranks get them from one head.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "ride.hpp"
#include "serve.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

constexpr std::uint64_t epoch_samples = 3'000;
constexpr std::uint64_t batch_size = 17;
constexpr std::uint32_t world = 3;

ProducerOptions heads_options(std::uint32_t heads) {
  ProducerOptions options = phoenix_options(epoch_samples, 512 << 10);
  options.heads = heads;
  return options;
}

/// A trainer that keeps the leading ring, and has gone far enough from position 0.
Process lead(Server& server, const std::string& until = "until_told=1",
             const std::string& pause = "pause_us=10000") {
  Process leader("rider", {"batch=50", pause, until});
  static_cast<void>(leader.expect("attached"));
  REQUIRE(eventually([&] { return server.producer().stats().published > 2'500; }, 60'000));
  return leader;
}

ConsumerOptions rank_at(std::uint64_t cursor, std::uint32_t ranks = world) {
  ConsumerOptions options = rank_options(0, ranks, batch_size);
  options.join = Join::at;
  options.cursor = cursor;
  return options;
}

/// That the ranks had these epochs, from `cursor` on, as one that nothing disturbs.
/// `unknown`: of how many epochs, at most, the producer does not know the receipt.
void expect_whole(const std::vector<Ranked>& ranked, ConsumerOptions options, std::uint64_t epochs,
                  std::uint64_t unknown) {
  for (std::uint32_t rank = 0; rank < ranked.size(); ++rank) {
    const Ranked& one = ranked[rank];
    INFO("rank " << rank << ": " << one.over << " " << one.text);
    CHECK(one.fault == "");
    CHECK(one.over == "");
    CHECK(one.first == options.cursor);
    CHECK(one.stats.epochs_mismatched == 0);
    CHECK(one.stats.epochs_matched >= epochs - unknown);
    options.group.rank = rank;
    REQUIRE(one.loops.size() == epochs);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const std::uint64_t from = epoch == 0 ? options.cursor : epoch * epoch_samples;
      CHECK(one.loops[epoch] == parts_of(options, from, (epoch + 1) * epoch_samples));
    }
  }
}

RankPlan plan_of(std::uint64_t epochs, std::uint64_t pause_us = 0) {
  RankPlan plan;
  plan.epochs = epochs;
  plan.pause_us = pause_us;
  return plan;
}

/// What the first rank of a group is refused with.
std::string refusal_of(const ConsumerOptions& options) {
  const std::vector<Ranked> ranked = run_ranks(options, [](std::uint32_t) { return plan_of(1); });
  for (const Ranked& one : ranked) CHECK(one.over == "Refused");
  return ranked.front().text;
}

/// Ranks that begin at the stream's first sample.
std::vector<Process> riding_ranks(std::uint64_t epochs, std::uint64_t pause_us) {
  std::vector<Process> ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    ranks.emplace_back(
        "rank", std::vector<std::string>{"world=3", "rank=" + std::to_string(rank),
                                         "name=rank" + std::to_string(rank), "batch=17", "join=at",
                                         "cursor=0", "epochs=" + std::to_string(epochs),
                                         "pause_us=" + std::to_string(pause_us)});
  }
  for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
  return ranks;
}

/// That they had these epochs as ranks that nothing disturbs, over two lives of the stream at
/// least.
void expect_rides(std::vector<Process>& ranks, std::uint64_t epochs, const std::string& log = "") {
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    ConsumerOptions options = rank_at(0);
    options.group.rank = rank;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      CHECK(ranks[rank].line(120'000) ==
            text_of(parts_of(options, epoch * epoch_samples, (epoch + 1) * epoch_samples)));
    }
    const Words done = ranks[rank].expect("done");
    INFO(done.line() << "\n" << ranks[rank].errors() << log);
    CHECK(done.text("sound") == "yes");
    CHECK(done.text("over") == "left");
    CHECK(done.number("mismatched") == 0);
    CHECK(done.number("lives") >= 2);  // and one more in the leading ring
  }
}

/// How many ranks came to the leading ring.
std::uint64_t moves_in(Server& server) {
  const std::string lines = server.lines_with("goes on in the leading ring");
  return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
}

}  // namespace

TEST_CASE("a group whose samples are gone gets a head, and comes to the leading ring",
          "[heads][groups][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  Process leader = lead(server, "until_told=1", "pause_us=20000");
  const std::uint64_t cursor = GENERATE(0, 150);
  const std::uint32_t ranks = GENERATE(2, 3);
  std::vector<Ranked> ranked;
  std::thread group([&] {
    ranked = run_ranks(rank_at(cursor, ranks), [](std::uint32_t) { return plan_of(6, 1'000); });
  });
  CHECK(eventually([&] { return server.logged("head-1 closes"); }, 60'000));
  const ProducerStats stats = server.producer().stats();
  CHECK(stats.rings.size() == 1);
  CHECK(stats.consumers.size() == ranks + 1);
  CHECK(moves_in(server) == ranks);
  group.join();
  expect_whole(ranked, rank_at(cursor, ranks), 6, cursor == 0 ? 0 : 1);
  CHECK(server.logged("head-1 opens at position " + std::to_string(cursor)));
  CHECK_FALSE(server.logged("is broken"));
  leader.tell("enough");
  const Words line = expect_sound(leader, "left");
  CHECK(line.text("digest") ==
        digest_of_ride(50, static_cast<std::uint64_t>(line.number("epochs")), epoch_samples));
}

TEST_CASE("a group that is no faster than the leading ring stays in its head",
          "[heads][groups][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  Process leader = lead(server);
  // 51 samples in 12 ms or more, and the other 50 in 10.
  expect_whole(run_ranks(rank_at(0), [](std::uint32_t) { return plan_of(1, 12'000); }), rank_at(0),
               1, 0);
  CHECK_FALSE(server.logged("goes on in the leading ring"));
  leader.tell("enough");
  static_cast<void>(expect_sound(leader, "left"));
}

TEST_CASE("a leading ring without trainers goes to a group", "[heads][groups][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  Process leader = lead(server, "epochs=2");
  std::vector<Ranked> ranked;
  std::thread group(
      [&] { ranked = run_ranks(rank_at(0), [](std::uint32_t) { return plan_of(3, 20'000); }); });
  static_cast<void>(expect_sound(leader, "left"));
  CHECK(eventually([&] { return server.logged("head-1 closes"); }, 60'000));
  CHECK(server.producer().stats().consumers.size() == world);
  CHECK(moves_in(server) == world);
  group.join();
  expect_whole(ranked, rank_at(0), 3, 1);  // the leading ring went into an epoch
}

TEST_CASE("kills of the producer while a group comes from its head to the leading ring",
          "[heads][groups][ride][short]") {
  std::mt19937_64 random(test_seed("groups move"));
  constexpr std::uint64_t epochs = 12;
  const OwnDirectory directory;
  const std::vector<std::string> words = {"n=3000", "threads=2", "heads=2", "ordered=1"};
  Process producer("phoenix", words);
  static_cast<void>(producer.expect("serves"));
  Process leader("rider", {"batch=50", "pause_us=10000", "epochs=12"});
  static_cast<void>(leader.expect("attached"));
  Process other("rider", {"batch=50", "epochs=1"});
  static_cast<void>(expect_sound(other, "left"));  // the ring has gone on since
  std::vector<Process> ranks = riding_ranks(epochs, 4'000);
  for (std::uint64_t kills = scaled(6, 3); kills > 0; --kills) {
    pause_us(50'000 + random() % 900'000);
    producer.kill_and_wait();
    producer = Process("phoenix", words);
    static_cast<void>(producer.expect("serves"));
  }
  expect_rides(ranks, epochs);
  const Words line = expect_sound(leader, "left", 120'000);
  CHECK(line.text("digest") == digest_of_ride(50, 12, epoch_samples));
}

TEST_CASE("a group that gets no head is refused with the reason", "[heads][groups][short]") {
  const OwnDirectory directory;
  SECTION("the stream has one place") {
    Server server(heads_options(1), {.threads = 2});
    const Process leader = lead(server);
    CHECK_THAT(refusal_of(rank_at(0)), Contains("position 0 is no longer in the ring"));
  }
  SECTION("all places are taken") {
    Server server(heads_options(2), {.threads = 2});
    const Process leader = lead(server);
    ConsumerOptions other = quiet(50);
    other.join = Join::at;
    other.cursor = 200;
    const Consumer late(other);
    CHECK_THAT(refusal_of(rank_at(100)),
               Contains("all 2 places (--heads) are taken") && Contains("group `ddp`"));
    CHECK(server.logged("group `ddp` was refused"));  // at once, not at its time-out
  }
  SECTION("there is no memory") {
    ProducerOptions producer = heads_options(2);
    producer.head_memory = std::uint64_t{1} << 46;
    Server server(producer, {.threads = 2});
    const Process leader = lead(server);
    CHECK_THAT(refusal_of(rank_at(0)),
               Contains("--head-memory") && Contains("67108863 MiB") && Contains("group `ddp`"));
  }
  SECTION("there are too few places for its ranks") {
    ProducerOptions producer = heads_options(2);
    producer.max_consumers = world;
    Server server(producer, {.threads = 2});
    const Process leader = lead(server);
    CHECK_THAT(refusal_of(rank_at(0)), Contains("--max-consumers"));
  }
}

TEST_CASE("a head has room for two batches of the whole group", "[heads][groups][short]") {
  const OwnDirectory directory;
  ProducerOptions producer = heads_options(2);
  producer.head_memory = 1;
  Server server(producer, {.threads = 2});
  const Process leader = lead(server);
  ConsumerOptions options = rank_at(0);
  options.batch_size = server.producer().capacity() / world / 2;
  std::vector<std::optional<Consumer>> ranks(world);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      ConsumerOptions own = options;
      own.group.rank = rank;
      ranks[rank].emplace(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(ranks.front()->capacity() >= 2 * world * options.batch_size);
}

TEST_CASE("a group in a head rides through kills of its producer", "[heads][groups][ride][short]") {
  const bool is_stopped = GENERATE(false, true);  // a rank that comes later
  const bool has_memory = GENERATE(true, false);  // for a head of the next producer
  constexpr std::uint64_t epochs = 3;
  const OwnDirectory directory;
  auto first = std::make_unique<Process>(
      "phoenix", std::vector<std::string>{"n=3000", "threads=2", "heads=2"});
  static_cast<void>(first->expect("serves"));
  Process leader("rider", {"batch=50", "pause_us=10000", "epochs=4"});
  static_cast<void>(leader.expect("attached"));
  Process other("rider", {"batch=50", "epochs=1"});
  static_cast<void>(expect_sound(other, "left"));  // the ring has gone on since
  std::vector<Process> ranks = riding_ranks(epochs, 25'000);
  pause_us(400'000);  // they are somewhere in their first epoch
  if (is_stopped) {
    ranks[1].signal(SIGSTOP);
    pause_us(1'200'000);  // its place is noted
  }
  first->kill_and_wait();
  ProducerOptions again = heads_options(2);
  if (!has_memory) again.head_memory = std::uint64_t{1} << 46;
  Server server(again, {.threads = 2});
  CHECK(eventually([&] { return server.logged("group `ddp` goes on, with 3 ranks"); }, 20'000));
  CHECK(server.logged("where group `ddp` was") == has_memory);
  CHECK(server.logged("group `ddp` gets no head (--head-memory)") == !has_memory);
  if (is_stopped) {
    pause_us(300'000);
    ranks[1].signal(SIGCONT);
  }
  expect_rides(ranks, epochs, server.log());
  const Words line = expect_sound(leader, "left", 120'000);
  CHECK(line.text("digest") == digest_of_ride(50, 4, epoch_samples));
}

TEST_CASE("a group in a head reads on where all others have read the stream to its end",
          "[heads][groups][ride][short]") {
  constexpr std::uint64_t epochs = 2;
  const OwnDirectory directory;
  auto first = std::make_unique<Process>(
      "phoenix", std::vector<std::string>{"n=3000", "threads=2", "heads=2", "epochs=2"});
  static_cast<void>(first->expect("serves"));
  Consumer leader(quiet(50));
  while (leader.cursor() < 2'500) static_cast<void>(leader.next());
  std::vector<Process> ranks = riding_ranks(epochs, 50'000);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const Batch& batch : leader) CHECK(batch.epoch() == epoch);
  }
  pause_us(1'200'000);  // that is noted, and it lives on
  first->kill_and_wait();
  ProducerOptions again = heads_options(2);
  again.epochs = epochs;
  Server server(again, {.threads = 2});
  expect_rides(ranks, epochs, server.log());
  server.join();
  INFO(server.log());
  CHECK(server.producer().state() == StreamState::draining);
}

TEST_CASE("ranks of a head that have read the stream to its end are not waited for",
          "[heads][groups][ride][short]") {
  constexpr std::uint64_t epochs = 2;
  const OwnDirectory directory;
  auto first = std::make_unique<Process>(
      "phoenix", std::vector<std::string>{"n=3000", "threads=2", "heads=2", "epochs=2"});
  static_cast<void>(first->expect("serves"));
  std::optional<Consumer> leader(quiet(50));
  while (leader->cursor() < 2'500) static_cast<void>(leader->next());
  std::vector<std::optional<Consumer>> ranks(world);  // they live on
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      ConsumerOptions options = rank_at(0);
      options.group.rank = rank;
      ranks[rank].emplace(options);
      for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
        for (const Batch& batch : *ranks[rank]) static_cast<void>(batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pause_us(1'200'000);  // that is noted
  first->kill_and_wait();
  ProducerOptions again = heads_options(2);
  again.epochs = epochs;
  Server server(again, {.threads = 2});
  while (leader->cursor() < epochs * epoch_samples) static_cast<void>(leader->next());
  leader.reset();
  std::atomic<bool> is_over = false;
  std::thread end([&] { server.join(), is_over = true; });
  CHECK(eventually([&] { return is_over.load(); }, 10'000));
  for (auto& rank : ranks) rank.reset();  // those that are waited for after all
  end.join();
  INFO(server.log());
  CHECK(server.producer().state() != StreamState::running);
}

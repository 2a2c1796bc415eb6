// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

/// A second of the clock, where that says something.
double in_time_seconds() { return slow_build() ? 10 : 1; }

std::vector<Process> send_ranks(std::uint32_t world, const std::vector<std::string>& more) {
  std::vector<Process> ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    std::vector<std::string> words = {"world=" + std::to_string(world),
                                      "rank=" + std::to_string(rank),
                                      "name=rank" + std::to_string(rank)};
    words.insert(words.end(), more.begin(), more.end());
    ranks.emplace_back("rank", words);
  }
  return ranks;
}

bool group_is_gone(Server& server, const std::string& name) {
  const ProducerStats stats = server.producer().stats();
  return std::none_of(stats.consumers.begin(), stats.consumers.end(),
                      [&](const ConsumerInfo& row) { return row.group.name == name; });
}

/// Kills ranks of groups, while a single trainer and another group stay.
void kill_ranks(const char* test, std::uint64_t kills) {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed(test);
  std::mt19937_64 random(seed);
  ProducerOptions options = producer_options("small", 1'009, 64 << 10);
  options.stall_timeout_ms = 2'000;
  Server server(std::move(options), {.threads = 1, .loan_max = 64, .seed = seed});
  Process single("consume", {"batch=37", "name=single", "hold=1"});
  std::vector<Process> stays = send_ranks(2, {"group=stays", "batch=21"});
  static_cast<void>(single.expect("attached"));
  for (Process& rank : stays) static_cast<void>(rank.expect("attached"));
  std::uint64_t broken = 0;
  std::uint64_t forming = 0;
  double longest_s = 0;
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    const auto world = static_cast<std::uint32_t>(2 + random() % 3);
    const bool while_forming = random() % 8 == 0;
    std::vector<Process> ranks =
        send_ranks(world, {"group=dies", "batch=" + std::to_string(1 + random() % 40),
                           std::string("connect_ms=") + (while_forming ? "500" : "20000")});
    const std::size_t victim = kill % world;
    if (!while_forming) {
      for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
    }
    pause_us(random() % 4'000);
    ranks[victim].kill();
    const std::uint64_t killed_ns = now_ns();
    CHECK(ranks[victim].wait().killed_by(SIGKILL));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (rank == victim) continue;
      const Words done = ranks[rank].expect("done");
      INFO(done.line() << "\n" << ranks[rank].errors());
      CHECK(done.text("sound") == "yes");
      const bool refused = while_forming && done.text("over") == "Refused";
      CHECK((done.text("over") == "GroupBroken" || refused));
      if (done.text("over") == "GroupBroken") {
        longest_s = std::max(longest_s, seconds_from_ns(now_ns() - killed_ns));
        ++broken;
        CHECK_THAT(done.line(), Contains("rank " + std::to_string(victim) + " (pid " +
                                         std::to_string(ranks[victim].pid()) + ") died"));
      }
      forming += refused ? 1 : 0;
    }
    CHECK(eventually([&] { return group_is_gone(server, "dies"); }));
  }
  server.stop();
  const Words words = expect_sound(single, "Stopped");
  CHECK(words.number("samples") == words.number("cursor") - words.number("first"));
  for (Process& rank : stays) {
    const Words done = rank.expect("done");
    INFO(done.line());
    CHECK((done.text("sound") == "yes" && done.text("over") == "Stopped"));
    CHECK((done.number("mismatched") == 0 && done.number("late") == 0));
  }
  CHECK(server.producer().stats().late_wakeups == 0);
  CHECK(server.lines_with("held the stream up").empty());
  CHECK(longest_s < in_time_seconds());
  std::printf("%s: %llu killed, %llu ranks told of it within %.0f ms, %llu while forming\n", test,
              static_cast<unsigned long long>(kills), static_cast<unsigned long long>(broken),
              longest_s * 1e3, static_cast<unsigned long long>(forming));
}

}  // namespace

TEST_CASE("a rank that is killed breaks its group, and nothing else", "[groups][short]") {
  kill_ranks("ranks killed", scaled(24, 4));
}

TEST_CASE("ranks are killed for long", "[.][group-storm]") {
  kill_ranks("ranks killed for long", scaled(400, 4));
}

TEST_CASE("a rank that hangs in a batch holds up no other trainer once its group is broken",
          "[groups][short]") {
  const OwnDirectory directory;
  Server server(producer_options("small", 1'009, 64 << 10), {});
  Process victim("rank", {"world=2", "rank=1", "batch=20", "pause_us=1000"});
  Consumer hangs(rank_options(0, 2, 20));
  const std::optional<Batch> held = hangs.next();
  REQUIRE(held);
  CHECK(held->size() == 20);
  static_cast<void>(victim.expect("attached"));
  victim.kill();
  CHECK(victim.wait().killed_by(SIGKILL));
  // It waits for ever for the other rank, as collective operations do, and holds its batch.
  ConsumerOptions options = stream_options();
  options.batch_size = 100;
  Consumer other(options);
  std::uint64_t samples = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (const Batch& batch : other) samples += batch.size();
  }
  CHECK(samples == 5 * 1'009);
  CHECK_THROWS_AS(held->check(), GroupBroken);
  CHECK_THROWS_AS(hangs.next(), GroupBroken);
  CHECK_THROWS_AS(hangs.has_next_epoch(), GroupBroken);
  // Its name is free again, although it lives.
  CHECK(run_ranks(rank_options(0, 2, 20), [](std::uint32_t) { return RankPlan{.epochs = 1}; })
            .front()
            .over.empty());
}

TEST_CASE("a rank that leaves ends its group: at once in an epoch, at its end between two",
          "[groups][short]") {
  const OwnDirectory directory;
  Server server(producer_options("small", 400, 64 << 10), {});
  const auto pair = [] {
    std::vector<std::optional<Consumer>> ranks(2);
    std::thread other([&] { ranks[0].emplace(rank_options(0, 2, 10)); });
    ranks[1].emplace(rank_options(1, 2, 10));
    other.join();
    return ranks;
  };
  {
    auto ranks = pair();
    CHECK(ranks[0]->next());
    CHECK(ranks[1]->next());
    ranks[0].reset();
    CHECK(eventually([&] { return server.producer().stats().consumers.empty(); }));
    CHECK_THROWS_WITH(ranks[1]->next(), Contains("rank 0 (pid") && Contains("left"));
    CHECK_THROWS_AS(ranks[1]->next(), GroupBroken);  // and again
  }
  auto ranks = pair();
  for (const Batch& batch : *ranks[0]) CHECK(batch.size() == 10);
  CHECK(ranks[1]->next());
  ranks[0].reset();
  CHECK(eventually([&] { return server.producer().stats().consumers.size() == 1; }));
  std::uint64_t batches = 1;
  for (const Batch& batch : *ranks[1]) batches += batch.size() / 10;
  CHECK(batches == 20);  // all of its epoch
  // The name is taken as long as a rank is there.
  ConsumerOptions again = rank_options(0, 2, 10);
  again.connect_timeout_ms = 500;
  CHECK_THAT(run_rank(again, {}).text, Contains("is broken") && Contains("rank 1 (pid"));
  CHECK_THROWS_AS(ranks[1]->next(), GroupBroken);
  CHECK(eventually([&] { return server.producer().stats().consumers.empty(); }));
}

TEST_CASE("a rank that is evicted breaks its group", "[groups][short]") {
  const OwnDirectory directory;
  Server server(producer_options("small", 400, 64 << 10), {});
  std::vector<Process> ranks = send_ranks(3, {"batch=10"});
  for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
  CHECK(server.producer().evict("rank1", "for a test"));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const Words done = ranks[rank].expect("done");
    INFO(done.line());
    CHECK(done.text("over") == (rank == 1 ? "Revoked" : "GroupBroken"));
    CHECK_THAT(done.line(), Contains(rank == 1 ? "for a test" : "was evicted"));
  }
  CHECK(eventually([&] { return group_is_gone(server, "ddp"); }));
}

TEST_CASE("the producer's death ends a group like any trainer", "[groups][short]") {
  const OwnDirectory directory;
  Process producer("produce", {"schema=small", "n=1009", "memory=65536"});
  std::vector<Process> ranks = send_ranks(3, {"batch=10"});
  for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
  producer.kill();
  std::optional<std::int64_t> cursor;
  for (Process& rank : ranks) {
    const Words done = rank.expect("done");
    INFO(done.line());
    CHECK(done.text("over") == "ProducerGone");
    CHECK(done.number("cursor") == cursor.value_or(done.number("cursor")));
    cursor = done.number("cursor");
  }
}

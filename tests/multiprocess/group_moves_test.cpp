// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Groups come from a head to the leading ring, and are killed on the way.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "ride.hpp"
#include "serve.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
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

ProducerOptions heads_options() {
  ProducerOptions options = phoenix_options(epoch_samples, 512 << 10);
  options.heads = 2;
  return options;
}

/// Two ranks of this process, of which the test calls each as it likes.
std::vector<std::unique_ptr<Consumer>> attach_pair() {
  std::vector<std::unique_ptr<Consumer>> ranks(2);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&ranks, rank] {
      ConsumerOptions options = rank_options(rank, 2, batch_size);
      options.join = Join::at;
      options.cursor = 0;
      ranks[rank] = std::make_unique<Consumer>(options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

/// Reads the next batch, or the end of an epoch. False where the batch is not the one that follows.
bool read_one(Consumer& rank) {
  const std::uint64_t from = rank.cursor();
  const auto batch = rank.next();
  if (!batch) return true;
  const std::uint64_t left = epoch_samples - from % epoch_samples;
  const std::uint64_t size = std::min<std::uint64_t>(batch_size, left / 2);
  return batch->size() == size && rank.cursor() == from + 2 * size;
}

std::vector<std::string> words_of_rank(std::uint32_t rank, std::uint32_t world,
                                       std::uint64_t pause_us, std::uint64_t epochs) {
  return {"world=" + std::to_string(world),
          "rank=" + std::to_string(rank),
          "name=rank" + std::to_string(rank),
          "batch=17",
          "join=at",
          "cursor=0",
          "epochs=" + std::to_string(epochs),
          "pause_us=" + std::to_string(pause_us)};
}

/// How many ranks came to the leading ring.
std::uint64_t moves_in(Server& server) {
  const std::string lines = server.lines_with("goes on in the leading ring");
  return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
}

}  // namespace

TEST_CASE("a rank that comes later finds its group split over two rings", "[heads][groups]") {
  const bool is_lost = GENERATE(false, true);
  const OwnDirectory directory;
  Server server(heads_options(), {.threads = 2});
  Process leader("rider", {"batch=50", "pause_us=40000", "until_told=1"});
  static_cast<void>(leader.expect("attached"));
  const auto published = [&] { return server.producer().stats().published; };
  REQUIRE(eventually(
      [&] {
        const std::uint64_t now = published();
        return now > epoch_samples && now % epoch_samples > 200 && now % epoch_samples < 900;
      },
      60'000));
  auto ranks = attach_pair();
  const std::string head = ranks[0]->incarnation();
  while (ranks[1]->cursor() < published() + 300) {
    for (const auto& rank : ranks) REQUIRE(read_one(*rank));
  }
  pause_us(200'000);  // they are asked to move
  // The second one stands still from here on, and the head has few samples beyond its place.
  while (ranks[0]->incarnation() == head) {
    REQUIRE(ranks[0]->cursor() % epoch_samples < 2'900);
    REQUIRE(read_one(*ranks[0]));
    pause_us(70'000);
  }
  if (is_lost) {
    ranks[1].reset();
    const auto read_on = [&] {
      for (;;) static_cast<void>(ranks[0]->next());
    };
    CHECK_THROWS_AS(read_on(), GroupBroken);
    ranks.clear();
    CHECK(eventually([&] { return server.producer().stats().consumers.size() == 1; }));
  } else {
    CHECK_FALSE(server.logged("head-1 closes"));
    const std::uint64_t until = ranks[0]->cursor();
    while (ranks[1]->cursor() < until) REQUIRE(read_one(*ranks[1]));
    const std::uint64_t end = (until / epoch_samples + 3) * epoch_samples;
    while (std::min(ranks[0]->cursor(), ranks[1]->cursor()) < end) {
      for (const auto& rank : ranks) {
        if (rank->cursor() < end) REQUIRE(read_one(*rank));
      }
      pause_us(2'000);
    }
    CHECK(ranks[0]->incarnation() == ranks[1]->incarnation());
    CHECK(moves_in(server) == 2);
    for (const auto& rank : ranks) {
      CHECK(rank->stats().epochs_mismatched == 0);
      CHECK(rank->stats().epochs_matched >= 2);
    }
  }
  CHECK(eventually([&] { return server.logged("head-1 closes"); }));
  leader.tell("enough");
  static_cast<void>(expect_sound(leader, "left"));
}

/// Ranks and producers are killed before, while and after groups come to the leading ring.
TEST_CASE("a storm of groups that move", "[heads-storm]") {
  std::mt19937_64 random(test_seed("groups move"));
  const std::uint64_t rounds = scaled(30, 6);
  const OwnDirectory directory;
  const std::vector<std::string> words = {"n=3000", "threads=2", "heads=3"};
  Process producer("phoenix", words);
  static_cast<void>(producer.expect("serves"));
  Process leader("rider", {"batch=50", "pause_us=10000", "until_told=1"});
  static_cast<void>(leader.expect("attached"));
  pause_us(800'000);
  std::uint64_t broken = 0;
  std::uint64_t producers_killed = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto world = static_cast<std::uint32_t>(2 + random() % 2);
    const bool is_to_end = random() % 3 == 0;
    std::vector<Process> ranks;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      ranks.emplace_back("rank", words_of_rank(rank, world, random() % 3'000, is_to_end ? 3 : 500));
    }
    for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
    pause_us(random() % 900'000);
    if (random() % 3 == 0) {
      producer.kill_and_wait();
      producer = Process("phoenix", words);
      static_cast<void>(producer.expect("serves"));
      ++producers_killed;
      pause_us(random() % 900'000);
    }
    const std::size_t victim = is_to_end ? world : random() % world;
    if (!is_to_end) ranks[victim].kill();
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      if (rank == victim) continue;
      ConsumerOptions options = rank_options(rank, world, batch_size);
      for (std::uint64_t epoch = 0; is_to_end && epoch < 3; ++epoch) {
        CHECK(ranks[rank].line(60'000) ==
              text_of(parts_of(options, epoch * epoch_samples, (epoch + 1) * epoch_samples)));
      }
      const Words done = ranks[rank].expect("done", 60'000);
      INFO(done.line() << "\n" << ranks[rank].errors());
      CHECK(done.text("sound") == "yes");
      CHECK(done.number("mismatched") == 0);
      CHECK(done.text("over") == (is_to_end ? "left" : "GroupBroken"));
      broken += is_to_end ? 0 : 1;
    }
  }
  leader.tell("enough");
  const Words line = expect_sound(leader, "left", 120'000);
  CHECK(line.text("digest") ==
        digest_of_ride(50, static_cast<std::uint64_t>(line.number("epochs")), epoch_samples));
  std::printf("groups move: %llu producers killed, %llu ranks told of a lost one\n",
              static_cast<unsigned long long>(producers_killed),
              static_cast<unsigned long long>(broken));
}

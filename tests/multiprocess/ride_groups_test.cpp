// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Groups of ranks over the lives of their producers: each rank comes back by itself.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "ride.hpp"
#include "serve.hpp"

#include <batchcast/consumer/stream_joiner.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/hex.hpp>
#include <batchcast/join/message.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

constexpr std::uint64_t epoch_samples = 1'000;

Process serve_again(std::vector<std::string> more = {}) {
  more.emplace_back("n=" + std::to_string(epoch_samples));
  more.emplace_back("ordered=1");
  Process producer("phoenix", more);
  static_cast<void>(producer.expect("serves"));
  return producer;
}

std::vector<Process> send_ranks(std::uint32_t world, const std::vector<std::string>& more) {
  std::vector<Process> ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    std::vector<std::string> words = {"world=" + std::to_string(world),
                                      "rank=" + std::to_string(rank),
                                      "name=rank" + std::to_string(rank)};
    words.insert(words.end(), more.begin(), more.end());
    ranks.emplace_back("rank", words);
  }
  for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
  return ranks;
}

/// A group of two in this process, attached.
std::vector<std::optional<Consumer>> pair_of(std::uint64_t batch_size) {
  std::vector<std::optional<Consumer>> ranks(2);
  std::thread other([&] { ranks[0].emplace(rank_options(0, 2, batch_size)); });
  ranks[1].emplace(rank_options(1, 2, batch_size));
  other.join();
  return ranks;
}

/// The positions of a rank's batches up to the loop's end. Other threads may call it: it throws
/// what is wrong with a batch.
std::vector<std::uint64_t> rest_of_loop(Consumer& rank) {
  std::vector<std::uint64_t> positions;
  while (const auto batch = rank.next()) {
    if (const std::string fault = fault_of(*batch); !fault.empty()) throw std::runtime_error(fault);
    positions.push_back(batch->position());
  }
  return positions;
}

/// What `call` returns or throws on another thread. Assertions belong to the test's thread.
template <class Call>
auto beside(Call call) {
  return std::async(std::launch::async, std::move(call));
}

}  // namespace

TEST_CASE("ranks of a group ride through kills of their producer", "[ride][groups][short]") {
  std::mt19937_64 random(test_seed("ride of groups"));
  const auto world = GENERATE(2U, 3U);
  const std::string tail = GENERATE("keep", "pad");
  const std::uint64_t kills = scaled(10, 3);
  constexpr std::uint64_t epochs = 12;
  constexpr std::uint64_t batch_size = 17;
  const OwnDirectory directory;
  Process producer = serve_again();
  std::vector<Process> ranks =
      send_ranks(world, {"batch=" + std::to_string(batch_size), "epochs=" + std::to_string(epochs),
                         "tail=" + tail, "pause_us=" + std::to_string(9'000 * world)});
  for (std::uint64_t death = 0; death < kills; ++death) {
    pause_us(1'000 + random() % (random() % 3 == 0 ? 100'000 : 500'000));
    producer.kill_and_wait();
    if (random() % 3 == 0) pause_us(random() % 100'000);
    producer = serve_again();
  }
  std::int64_t rides = 0;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    ConsumerOptions options = rank_options(rank, world, batch_size);
    options.tail = tail == "pad" ? Tail::pad : Tail::keep;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto line = ranks[rank].line(60'000);
      CHECK(line == text_of(parts_of(options, epoch * epoch_samples, (epoch + 1) * epoch_samples)));
    }
    const Words done = ranks[rank].expect("done");
    INFO(done.line() << "\n" << ranks[rank].errors());
    CHECK(done.text("sound") == "yes");
    CHECK(done.text("over") == "left");
    CHECK(done.number("matched") == epochs);
    CHECK(done.number("mismatched") == 0);
    rides += done.number("lives") - 1;
  }
  std::printf("%u ranks rode through %llu kills, %lld times\n", world,
              static_cast<unsigned long long>(kills), static_cast<long long>(rides));
  CHECK(rides >= static_cast<std::int64_t>(world));
}

TEST_CASE("a rank that validates meanwhile keeps its place, and so its group",
          "[ride][groups][short]") {
  const OwnDirectory directory;
  Process producer = serve_again();
  auto ranks = pair_of(10);
  for (int i = 0; i < 20; ++i) {
    CHECK(ranks[0]->next().value().size() == 10);
    CHECK(ranks[1]->next().value().size() == 10);
  }
  pause_us(1'500'000);                    // their places are noted
  for (int life = 0; life < 2; ++life) {  // rank 0 comes to neither of these
    producer.kill_and_wait();
    producer = serve_again();
    CHECK(ranks[1]->next().value().position() == 410 + static_cast<std::uint64_t>(life) * 20);
    pause_us(300'000);
  }
  auto other = beside([&] {
    const std::size_t batches = rest_of_loop(*ranks[1]).size();
    return std::pair(batches, ranks[1]->next().value().position());
  });
  CHECK(ranks[0]->next().value().position() == 400);
  CHECK(rest_of_loop(*ranks[0]).size() == 29);
  CHECK(ranks[0]->next().value().position() == 1'000);
  CHECK(other.get() == std::pair<std::size_t, std::uint64_t>(28, 1'010));
  for (auto& rank : ranks) CHECK(rank->stats().epochs_matched == 1);
}

TEST_CASE("a rank that dies without a producer breaks its group", "[ride][groups][short]") {
  const OwnDirectory directory;
  const bool comes_first = GENERATE(false, true);  // the next producer, or the rank's death
  Process producer = serve_again({"stop_at=400"});
  std::vector<Process> ranks = send_ranks(3, {"batch=10"});
  producer.expect("made");
  pause_us(200'000);  // all wait for more
  producer.kill_and_wait();
  const std::uint64_t began_ns = now_ns();
  if (comes_first) {
    ranks[1].signal(SIGSTOP);  // its place is kept
    producer = serve_again();
    pause_us(500'000);
  }
  const pid_t pid = ranks[1].pid();
  ranks[1].kill();
  static_cast<void>(ranks[1].wait());
  if (!comes_first) producer = serve_again();
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    const Words done = ranks[rank].expect("done");
    INFO(done.line());
    CHECK(done.text("sound") == "yes");
    CHECK(done.text("over") == "GroupBroken");
    CHECK_THAT(done.line(), Contains("rank 1 (pid " + std::to_string(pid) + ") died"));
  }
  CHECK(seconds_from_ns(now_ns() - began_ns) < 20);
  // The name is free again.
  std::vector<Process> again = send_ranks(2, {"batch=10", "epochs=1"});
  for (Process& rank : again) CHECK(rank.expect("done").text("over") == "left");
}

TEST_CASE("a rank that drains hears of another one's death, not only afterwards",
          "[ride][groups][short]") {
  const OwnDirectory directory;
  const bool comes_first = GENERATE(false, true);  // the next producer, or the rank's death
  // The first rank holds the ring: the other one comes nowhere near the epoch's end.
  constexpr std::uint64_t long_epoch = 100'000;
  Process producer("phoenix", {"n=" + std::to_string(long_epoch), "stop_at=900"});
  Process other("rank", {"world=2", "rank=1", "batch=10", "name=other"});
  Consumer rank(rank_options(0, 2, 10));
  static_cast<void>(other.expect("attached"));
  static_cast<void>(producer.expect("made"));
  CHECK(rank.next().value().position() == 0);
  producer.kill_and_wait();
  std::optional<Server> next;
  const auto serve_here = [&] {
    next.emplace(phoenix_options(long_epoch, 512 << 10), ServePlan());
  };
  const auto are_back = [&] {
    REQUIRE(rank.peek().value().position() == 20);
    return next->logged("group `ddp` goes on");
  };
  if (comes_first) {
    serve_here();
    REQUIRE(eventually(are_back));
  }
  const pid_t pid = other.pid();
  other.kill();
  static_cast<void>(other.wait());
  if (!comes_first) serve_here();
  // It takes no batch: there are 44 that it could still drain.
  std::string broken;
  const auto is_broken = [&] {
    try {
      if (rank.peek().value().position() != 20) return true;
    } catch (const GroupBroken& error) {
      broken = error.what();
    }
    return !broken.empty();
  };
  REQUIRE(eventually(is_broken));
  CHECK_THAT(broken, Contains("rank 1 (pid " + std::to_string(pid) + ") died"));
  CHECK_THROWS_AS(rank.next(), GroupBroken);
  CHECK_THROWS_AS(rank.peek(), GroupBroken);
  CHECK(rank.cursor() == 20);
}

TEST_CASE("a rank that ends an epoch without a producer, and is gone, has not broken it",
          "[ride][groups][short]") {
  const OwnDirectory directory;
  Process producer = serve_again({"stop_at=1000"});
  auto ranks = pair_of(10);
  producer.expect("made");
  for (auto& rank : ranks) CHECK(rank->next());
  producer.kill_and_wait();
  CHECK(rest_of_loop(*ranks[0]).size() == 49);
  ranks[0].reset();  // no producer hears of that rank's end
  producer = serve_again();
  CHECK_FALSE(eventually([&] { return ranks[1]->peek().value().position() != 30; }, 1'500));
  CHECK(rest_of_loop(*ranks[1]).size() == 49);
  CHECK_THROWS_AS(ranks[1]->next(), GroupBroken);
}

TEST_CASE("no other process takes a rank's place, or changes its group", "[ride][groups][short]") {
  const OwnDirectory directory;
  Process producer = serve_again();
  auto ranks = pair_of(10);
  for (auto& rank : ranks) CHECK(rank->next());
  pause_us(1'500'000);  // their places are noted
  Resumes resumes;
  REQUIRE(detail::from_hex(ranks[0]->identity(), resumes.identity));
  REQUIRE(detail::from_hex(ranks[0]->incarnation(), resumes.incarnation));
  resumes.consumer_id = 12'345;  // no rank's
  producer.kill_and_wait();
  // It says hello before the ranks do.
  const auto [rank, world] = GENERATE(std::pair{1U, 2U}, std::pair{4U, 5U});
  ConsumerOptions liar = rank_options(rank, world, 10);
  liar.join = Join::at;
  std::string refused;
  std::thread lies([&] {
    try {
      detail::StreamJoiner joiner(liar, "host", detail::Deadline(20'000), detail::Deadline(20'000),
                                  resumes);
      static_cast<void>(joiner.join());
    } catch (const Error& error) {
      refused = error.what();
    }
  });
  producer = serve_again();
  auto other = beside([&] { return rest_of_loop(*ranks[0]).size(); });
  CHECK(rest_of_loop(*ranks[1]).size() == 49);
  CHECK(other.get() == 49);
  lies.join();
  CHECK_THAT(refused, Contains("no life file has them"));
}

TEST_CASE("a rank that left before the death breaks its group at its epoch's end",
          "[ride][groups][short]") {
  const OwnDirectory directory;
  Process producer = serve_again();
  auto ranks = pair_of(10);
  CHECK(rest_of_loop(*ranks[0]).size() == 50);
  for (int i = 0; i < 5; ++i) CHECK(ranks[1]->next());
  ranks[0].reset();
  pause_us(500'000);  // its end is noted
  producer.kill_and_wait();
  producer = serve_again();
  CHECK(rest_of_loop(*ranks[1]).size() == 45);  // all of the epoch that it had
  CHECK_THROWS_WITH(ranks[1]->next(), Contains("rank 0") && Contains("left"));
  CHECK_THROWS_AS(ranks[1]->next(), GroupBroken);
}

TEST_CASE("what a rank told a dead producer it tells the next one", "[ride][groups][short]") {
  const OwnDirectory directory;
  SECTION("an epoch's end") {
    Process producer = serve_again({"stop_at=1000"});
    auto ranks = pair_of(10);
    producer.expect("made");
    CHECK(rest_of_loop(*ranks[0]).size() == 50);
    for (int i = 0; i < 5; ++i) CHECK(ranks[1]->next());
    producer.kill_and_wait();
    producer = serve_again();
    auto other = beside([&] { return ranks[0]->next().value().position(); });
    CHECK(rest_of_loop(*ranks[1]).size() == 45);
    CHECK(ranks[1]->next().value().position() == 1'010);
    CHECK(other.get() == 1'000);
    for (auto& rank : ranks) CHECK(rank->stats().epochs_matched == 1);
    for (auto& rank : ranks) CHECK(rank->stats().epochs_unknown == 0);
  }
  SECTION("that it left early") {
    Process producer = serve_again({"stop_at=200"});
    auto ranks = pair_of(10);
    producer.expect("made");
    for (auto& rank : ranks) {
      for (int i = 0; i < 3; ++i) CHECK(rank->next());
    }
    producer.kill_and_wait();
    pause_us(100'000);
    for (const Batch& batch : *ranks[0]) {
      CHECK(batch.position() == 60);
      break;
    }
    producer = serve_again();
    auto other = beside([&] { return ranks[0]->next().value().position(); });
    pause_us(600'000);                           // rank 0 is there
    CHECK(rest_of_loop(*ranks[1]).size() < 10);  // not the 47 that the epoch still has
    CHECK(ranks[1]->next().value().position() == 1'010);
    CHECK(other.get() == 1'000);
  }
}

TEST_CASE("a next producer whose ring has no room for a group's batch says so",
          "[ride][groups][short]") {
  const OwnDirectory directory;
  Process producer = serve_again({"memory=4194304", "stop_at=1000"});
  auto ranks = pair_of(400);
  CHECK(ranks[0]->next());
  CHECK(ranks[1]->next());
  producer.expect("made");
  producer.kill_and_wait();
  producer = serve_again({"memory=196608"});
  CHECK_THROWS_WITH(
      [&] {
        while (ranks[0]->next()) continue;
        static_cast<void>(ranks[0]->next());
      }(),
      Contains("2 ranks with batches of 400 samples"));
  CHECK_THROWS_AS(
      [&] {
        while (ranks[1]->next()) continue;
        static_cast<void>(ranks[1]->next());
      }(),
      RingTooSmall);
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

ProducerOptions small_stream(std::uint64_t samples_per_epoch, std::uint64_t epochs = 0) {
  ProducerOptions options = producer_options("small", samples_per_epoch, 256 << 10);
  options.epochs = epochs;
  return options;
}

std::function<RankPlan(std::uint32_t)> loops(std::uint64_t epochs) {
  return [epochs](std::uint32_t) { return RankPlan{.epochs = epochs}; };
}

void publish(Producer& producer, std::uint64_t samples) {
  while (samples != 0) {
    auto loan = producer.loan(samples);
    samples -= loan->size();
    fill(*loan);
    loan->publish();
  }
}

/// What a producer logs.
class Log {
 public:
  [[nodiscard]] LogCallback callback() {
    return [this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(text);
    };
  }
  [[nodiscard]] std::int64_t count(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    return std::count_if(lines_.begin(), lines_.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

void check_sound(const std::vector<Ranked>& ranks) {
  for (const Ranked& rank : ranks) {
    INFO(rank.over << " " << rank.text);
    CHECK(rank.fault.empty());
    CHECK(rank.over.empty());
    CHECK(rank.stats.epochs_mismatched == 0);
    CHECK(rank.stats.late_wakeups == 0);
  }
}

}  // namespace

TEST_CASE("the parts of all ranks together are the stream", "[groups][short][device]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("parts of all ranks");
  std::mt19937_64 random(seed);
  for (const std::uint32_t world : {1U, 2U, 4U, 7U}) {
    const std::uint64_t batch = 1 + random() % 40;
    const std::uint64_t samples = world * batch + random() % 900;
    CAPTURE(world, batch, samples);
    constexpr std::uint64_t epochs = 3;
    Server server(small_stream(samples, epochs), {.loan_max = 1 + random() % 50});
    ConsumerOptions options = rank_options(0, world, batch);
    options.tail = Tail::pad;
    const std::vector<Ranked> ranks = run_ranks(options, loops(epochs));
    check_sound(ranks);
    std::vector<int> seen(samples * epochs);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      options.group.rank = rank;
      REQUIRE(ranks[rank].loops.size() == epochs);
      for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
        const std::vector<Part>& parts = ranks[rank].loops[epoch];
        CHECK((parts == parts_of(options, epoch * samples, (epoch + 1) * samples)));
        CHECK(parts.size() == ranks[0].loops[epoch].size());
        for (const Part& part : parts) {
          for (std::uint64_t i = 0; i < part.size - part.padding; ++i) ++seen[part.position + i];
        }
      }
      CHECK(ranks[rank].stats.epochs_matched == epochs);
      CHECK(ranks[rank].cursor == samples * epochs);
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
}

TEST_CASE("a group's tail is kept, dropped or padded, for all ranks alike", "[groups][short]") {
  const OwnDirectory directory;
  constexpr std::uint32_t world = 3;
  constexpr std::uint64_t batch = 8;
  for (const std::uint64_t rest : {1, 2, 7, 23}) {
    const std::uint64_t samples = 2 * world * batch + rest;
    ProducerOptions stream = small_stream(samples, 2);
    stream.wait_for = 3;  // groups
    Server server(std::move(stream), {});
    std::vector<std::thread> groups;
    std::map<Tail, std::vector<Ranked>> ranks;
    for (const Tail tail : {Tail::keep, Tail::drop, Tail::pad}) ranks[tail] = {};
    for (auto& [tail, ranked] : ranks) {
      ConsumerOptions options = rank_options(0, world, batch);
      options.tail = tail;
      options.group.name = std::string(name_of(tail));
      groups.emplace_back([options, &ranked = ranked] { ranked = run_ranks(options, loops(2)); });
    }
    for (std::thread& group : groups) group.join();
    for (const auto& [tail, ranked] : ranks) {
      CAPTURE(rest, name_of(tail));
      check_sound(ranked);
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        ConsumerOptions options = rank_options(rank, world, batch);
        options.tail = tail;
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          CHECK((ranked[rank].loops[epoch] ==
                 parts_of(options, epoch * samples, (epoch + 1) * samples)));
        }
        CHECK(ranked[rank].stats.epochs_matched == 2);
      }
    }
  }
}

TEST_CASE("without a group a tail is padded too", "[groups][short]") {
  const OwnDirectory directory;
  Server server(small_stream(21, 2), {});
  for (const Access access : {Access::shared, Access::private_copy}) {
    ConsumerOptions options = stream_options();
    options.batch_size = 16;
    options.tail = Tail::pad;
    options.access = access;
    options.join = Join::at;
    Consumer consumer(options);
    std::vector<std::uint64_t> sizes;
    for (const Batch& batch : consumer) {
      sizes.push_back(batch.size());
      if (batch.padding() == 0) continue;
      CHECK((batch.position() == 16 && batch.padding() == 11 && batch.writable()));
      for (std::size_t i = 0; i < 16; ++i) CHECK(batch.sample_ids()[i] == id_at(16 + i % 5));
      CHECK(consumer.cursor() == 21);
    }
    CHECK((sizes == std::vector<std::uint64_t>{16, 16}));
    CHECK(consumer.stats().epochs_matched == 1);
  }
}

TEST_CASE("a group begins when its last rank has come, in any order", "[groups][short]") {
  const OwnDirectory directory;
  ProducerOptions options = small_stream(100);
  options.wait_for = 1;  // the group is one trainer
  Server server(std::move(options), {});
  std::vector<Process> ranks;
  for (const int rank : {2, 0}) {
    ranks.emplace_back("rank", std::vector<std::string>{"batch=8", "world=3", "epochs=2",
                                                        "rank=" + std::to_string(rank)});
  }
  CHECK(eventually([&] {
    const auto forming = server.producer().stats().forming;
    return forming.size() == 1 && forming[0].missing == std::vector<std::uint32_t>{1};
  }));
  CHECK(server.producer().stats().consumers.empty());
  CHECK(server.producer().stats().published == 0);
  CHECK(server.producer().stats().waits_for == WaitsFor::consumers);
  CHECK(server.producer().stats().consumers_to_come == 1);
  CHECK_FALSE(server.producer().stop_if_unattended(0, "nobody is there"));
  ranks.emplace_back("rank", std::vector<std::string>{"batch=8", "world=3", "epochs=2", "rank=1"});
  for (Process& rank : ranks) CHECK(rank.expect("attached").number("cursor") == 0);
  for (Process& rank : ranks) {
    const Words done = rank.expect("done");
    INFO(done.line());
    CHECK((done.text("sound") == "yes" && done.text("over") == "left"));
    CHECK(done.number("cursor") == 200);
  }
}

TEST_CASE("what is known of a group's ranks", "[groups][short]") {
  const OwnDirectory directory;
  Server server(small_stream(100), {});
  std::optional<Consumer> first;
  std::thread other([&] { first.emplace(rank_options(0, 2, 8)); });
  Consumer second(rank_options(1, 2, 8));
  other.join();
  const ProducerStats stats = server.producer().stats();
  REQUIRE(stats.consumers.size() == 2);
  for (const ConsumerInfo& row : stats.consumers) {
    CHECK((row.group.name == "ddp" && row.group.world == 2 && row.group.rank < 2));
  }
  CHECK(stats.consumers[0].group.rank != stats.consumers[1].group.rank);
  CHECK(stats.forming.empty());
  CHECK_THROWS_AS(second.set_batch_size(9), InvalidArgument);
  second.set_batch_size(8);
}

TEST_CASE("ranks that do not fit their group are refused with what differs", "[groups][short]") {
  const OwnDirectory directory;
  Server server(small_stream(100), {});
  Process waits("rank", {"batch=8", "world=3", "rank=0"});
  CHECK(eventually([&] { return !server.producer().stats().forming.empty(); }));
  const auto refusal = [](const ConsumerOptions& options) {
    const Ranked ranked = run_rank(options, {});
    INFO(ranked.text);
    CHECK((ranked.over == "Refused" || ranked.over == "RingTooSmall" ||
           ranked.over == "InvalidArgument"));
    return ranked.text;
  };
  CHECK_THAT(refusal(rank_options(1, 4, 8)), Contains("world = 4") && Contains("rank 0"));
  CHECK_THAT(refusal(rank_options(1, 3, 9)), Contains("batch_size = 9") && Contains("has 8"));
  CHECK_THAT(refusal(rank_options(0, 3, 8)),
             Contains("waits already") && Contains(std::to_string(waits.pid())));
  ConsumerOptions other = rank_options(1, 3, 8);
  other.tail = Tail::pad;
  CHECK_THAT(refusal(other), Contains("tail = pad"));
  other = rank_options(1, 3, 8);
  other.join = Join::at;
  other.cursor = 48;
  CHECK_THAT(refusal(other), Contains("join = at 48"));
  other = rank_options(1, 3, 8);
  other.pace = Pace::free;
  CHECK_THAT(refusal(other), Contains("lockstep"));
  other = rank_options(1, 3, 8);
  other.between_epochs = BetweenEpochs::let_go;
  CHECK_THAT(refusal(other), Contains("let_go"));
  other = rank_options(3, 3, 8);
  CHECK_THAT(refusal(other), Contains("counted from 0"));
  other = rank_options(0, 3, 34);
  other.group.name = "larger";
  CHECK_THAT(refusal(other), Contains("102 at a time") && Contains("only 100"));
  other = rank_options(0, 60, server.producer().capacity() / 50);
  other.group.name = "larger";
  CHECK_THAT(refusal(other), Contains(std::to_string(server.producer().capacity())));
  other = rank_options(0, 100, 1);
  other.group.name = "larger";
  CHECK_THAT(refusal(other), Contains("--max-consumers"));
}

TEST_CASE("a rank gives up after its connect time-out and says who is missing", "[groups][short]") {
  const OwnDirectory directory;
  Server server(small_stream(100), {});
  ConsumerOptions options = rank_options(2, 4, 8);
  options.connect_timeout_ms = 700;
  const Ranked gave_up = run_rank(options, {});
  CHECK(gave_up.over == "Refused");
  CHECK_THAT(gave_up.text, Contains("ranks 0, 1 and 3 of 4 have not come") &&
                               Contains("not complete after ") && Contains("--connect-timeout"));
  CHECK(eventually([&] { return server.producer().stats().forming.empty(); }));
  // A group whose ranks have partly gone goes on forming.
  std::thread leaves([&] {
    ConsumerOptions early = rank_options(0, 2, 8);
    early.connect_timeout_ms = 700;
    CHECK(run_rank(early, {}).over == "Refused");
  });
  leaves.join();
  check_sound(run_ranks(rank_options(0, 2, 8), loops(1)));
}

TEST_CASE("no rank waits for a group on a stream that is over", "[groups][short]") {
  const OwnDirectory directory;
  Producer producer(small_stream(100));
  producer.stop("for a test");
  CHECK_THROWS_AS(Consumer(rank_options(0, 2, 10)), Stopped);
}

TEST_CASE("ranks that wait for others are told when the stream is over", "[groups][short]") {
  const OwnDirectory directory;
  Producer producer(small_stream(100));
  std::string over;
  std::thread waits([&] { over = run_rank(rank_options(0, 2, 10), {}).over; });
  CHECK(eventually([&] { return !producer.stats().forming.empty(); }));
  producer.stop("for a test");
  waits.join();
  CHECK(over == "Stopped");
}

TEST_CASE("where one rank leaves a loop early it ends there for all", "[groups][short]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("a loop left early");
  std::mt19937_64 random(seed);
  constexpr std::uint32_t world = 3;
  constexpr std::uint64_t count = 5, samples = 400, batch = 8;
  Server server(small_stream(samples), {});
  for (int round = 0; round < 3; ++round) {
    const auto leaver = static_cast<std::uint32_t>(random() % world);
    const std::uint64_t loop = 1 + random() % (count - 1);
    const std::uint64_t after = 1 + random() % 15;
    CAPTURE(leaver, loop, after);
    const std::vector<Ranked> ranks = run_ranks(rank_options(0, world, batch), [&](auto rank) {
      RankPlan plan{.epochs = count};
      if (rank == leaver) plan.leave_loop = loop, plan.leave_after = after;
      return plan;
    });
    check_sound(ranks);
    const std::uint64_t first = ranks[0].first;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      ConsumerOptions options = rank_options(rank, world, batch);
      CHECK(ranks[rank].first == first);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t start = first + i * samples;
        const std::vector<Part> whole = parts_of(options, start, start + samples);
        const std::vector<Part>& parts = ranks[rank].loops[i];
        REQUIRE(parts.size() <= whole.size());
        CHECK(std::equal(parts.begin(), parts.end(), whole.begin()));
        if (i != loop) {
          CHECK(parts.size() == whole.size());
        } else {
          // Those that were beyond when it left end at their next batch.
          CHECK((rank == leaver ? parts.size() == after : parts.size() >= after));
        }
      }
      CHECK(ranks[rank].cursor == first + count * samples);
      CHECK(ranks[rank].stats.epochs_matched + ranks[rank].stats.epochs_unknown == count);
      CHECK(ranks[rank].stats.epochs_unknown <= 1);
    }
  }
}

TEST_CASE("ranks that wait for samples end their loop when one leaves it", "[groups][short]") {
  const OwnDirectory directory;
  Producer producer(small_stream(1'000));
  std::optional<Consumer> left;
  std::thread other([&] { left.emplace(rank_options(0, 2, 10)); });
  Consumer waits(rank_options(1, 2, 10));
  other.join();
  publish(producer, 45);  // two batches, and not enough for a third
  for (Consumer* consumer : {&*left, &waits}) {
    CHECK(consumer->next()->size() == 10);
    CHECK(consumer->next()->size() == 10);
  }
  std::optional<Batch> third;
  std::uint64_t ended_ns = 0;
  std::thread waiter([&] {
    third = waits.next();
    ended_ns = now_ns();
  });
  pause_us(2'000);
  const std::uint64_t left_ns = now_ns();
  left->leave_epoch();
  waiter.join();
  CHECK_FALSE(third);
  CHECK(seconds_from_ns(ended_ns - left_ns) < (slow_build() ? 5 : 1));
  std::thread producing([&] { publish(producer, 955 + 40); });
  CHECK(left->next()->position() == 1'000);
  CHECK(waits.next()->position() == 1'010);
  producing.join();
}

TEST_CASE("an exception that leaves a rank's loop ends no epoch", "[groups][short]") {
  const OwnDirectory directory;
  Log log;
  ProducerOptions stream = small_stream(1'000);
  stream.log = log.callback();
  Producer producer(std::move(stream));
  std::optional<Consumer> fails;
  std::thread other([&] { fails.emplace(rank_options(0, 2, 10)); });
  Consumer waits(rank_options(1, 2, 10));
  other.join();
  publish(producer, 60);
  std::vector<std::uint64_t> positions;
  const auto fail_in_loop = [&] {
    for (const Batch& batch : *fails) {
      positions.push_back(batch.position());
      throw std::logic_error("of the trainer");
    }
  };
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(fail_in_loop(), std::logic_error);
  CHECK(positions == std::vector<std::uint64_t>{0, 20});
  CHECK((fails->cursor() == 40 && fails->epoch() == 0));
  for (const std::uint64_t position : {10, 30, 50}) {
    const std::optional<Batch> batch = waits.next();
    REQUIRE(batch);
    CHECK(batch->position() == position);
  }
  fails.reset();
  CHECK_THROWS_WITH(waits.next(), Contains("is broken: rank 0 (pid") && Contains(") left"));
  CHECK(eventually([&] {
    return log.count("group `ddp` is broken: rank 0 (pid ") == 1 &&
           log.count("is gone (its group broke)") == 1;
  }));
}

TEST_CASE("a rank that waits is told of another one that was refused", "[groups][short]") {
  const OwnDirectory directory;
  Log log;
  ProducerOptions stream = small_stream(100);
  stream.log = log.callback();
  Producer producer(std::move(stream));
  std::string text;
  std::thread waits([&] {
    ConsumerOptions first = rank_options(0, 2, 16);
    first.connect_timeout_ms = 1'000;
    text = run_rank(first, {}).text;
  });
  CHECK(eventually([&] { return !producer.stats().forming.empty(); }));
  for (int i = 0; i < 2; ++i) CHECK(run_rank(rank_options(1, 2, 32), {}).over == "Refused");
  waits.join();
  CHECK_THAT(text, Contains("rank 1 of 2 has not come (rank 1 came and was refused: its batch_size "
                            "is 32, not 16)"));
  CHECK(log.count("rank 1 of group `ddp` (pid ") == 1);
}

TEST_CASE("a group comes again under its name while its last ranks are just leaving",
          "[groups][short]") {
  const OwnDirectory directory;
  Server server(small_stream(64), {});
  std::optional<Consumer> before(rank_options(0, 1, 16));
  std::string refused;
  std::thread again([&] {
    try {
      const Consumer consumer(rank_options(0, 1, 16));
    } catch (const Error& error) {
      refused = error.what();
    }
  });
  pause_us(50'000);  // it asks, and the name is not free yet
  before.reset();
  again.join();
  CHECK(refused.empty());
}

TEST_CASE("epochs of unknown length end for all ranks at once", "[groups][short]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("a group in epochs of unknown length");
  std::mt19937_64 random(seed);
  ProducerOptions options = producer_options("small", 0, 64 << 10);
  options.wait_for = 1;
  Producer producer(std::move(options));
  constexpr std::uint64_t epochs = 8;
  std::vector<std::uint64_t> ends = {0};
  std::thread producing([&] {
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      std::uint64_t samples = 1 + random() % 300;
      ends.push_back(ends.back() + samples);
      while (samples != 0) {
        auto loan = producer.loan(samples);
        if (!loan) return;
        samples -= loan->size();
        fill(*loan);
        loan->publish();
      }
      producer.end_epoch();
    }
    CHECK(producer.finish(20'000));
  });
  const std::vector<Ranked> ranks = run_ranks(rank_options(0, 3, 9));
  producing.join();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    INFO(ranks[rank].text);
    CHECK(ranks[rank].over == "StreamFinished");
    CHECK(ranks[rank].fault.empty());
    REQUIRE(ranks[rank].loops.size() == epochs + 1);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      CHECK((ranks[rank].loops[epoch] ==
             parts_of(rank_options(rank, 3, 9), ends[epoch], ends[epoch + 1])));
    }
    CHECK(ranks[rank].stats.epochs_matched == epochs);
  }
}

TEST_CASE("a checkpoint of a group is good for another world", "[groups][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("small", 500, 32 << 10);
  options.pure = true;
  Server server(std::move(options), {});
  REQUIRE(server.producer().capacity() < 1'500);
  const std::vector<Ranked> before = run_ranks(rank_options(0, 4, 10), [](std::uint32_t) {
    return RankPlan{.drop_in_loop = 6, .drop_after = 5};
  });
  for (const Ranked& rank : before) {
    // The first to go breaks the group: the others may miss the last of these.
    INFO(rank.text);
    CHECK((rank.over.empty() || rank.over == "GroupBroken"));
    REQUIRE(rank.loops.size() == 7);
    for (std::size_t i = 0; i < 12; ++i) CHECK(rank.loops[0][i].cursor == (i + 1) * 40);
  }
  CHECK(eventually([&] { return server.producer().stats().consumers.empty(); }));
  // The ring has lost these positions: the stream goes back.
  for (const std::uint64_t cursor : {before[2].loops[0][4].cursor, before[1].loops[0][12].cursor}) {
    CAPTURE(cursor);
    ConsumerOptions again = rank_options(0, 3, 7);
    again.join = Join::at;
    again.cursor = cursor;
    const std::vector<Ranked> ranks = run_ranks(again, loops(4));
    check_sound(ranks);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      again.group.rank = rank;
      const std::vector<Part> first =
          cursor == 500 ? parts_of(again, 500, 1'000) : parts_of(again, cursor, 500);
      CHECK((ranks[rank].loops[0] == first));
    }
    CHECK(eventually([&] { return server.producer().stats().consumers.empty(); }));
  }
}

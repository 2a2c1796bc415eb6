// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "../ring/child.hpp"
#include "consume.hpp"
#include "kept_batch.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/ring/fault_message.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// Batches that a trainer keeps while the ring has to go on: they become its own.
namespace {

/// Reads so many samples, over the ends of epochs. False if none comes for ten seconds.
bool read_on(Consumer& consumer, std::uint64_t samples) {
  Checker checker(consumer.samples_per_epoch());
  for (std::uint64_t read = 0; read < samples;) {
    const NextBatch next = consumer.try_next(10'000);
    if (next.outcome == Outcome::timed_out) return false;
    if (next.outcome == Outcome::end_of_epoch) continue;
    checker.see(next.batch);
    read += next.batch.size();
  }
  CHECK(checker.fault() == "");
  return true;
}

std::uint64_t kib_of_this_process(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::uint64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == key + ":") status >> kib;
  }
  return kib;
}

std::size_t descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:") != std::string::npos) ++count;
  }
  return count;
}

/// The next batch; drops half of what it keeps where that has reached its limit, and not before.
std::optional<Batch> next_beside(Consumer& consumer, std::vector<Kept>& kept) {
  for (;;) {
    try {
      return consumer.next();
    } catch (const RingTooSmall&) {
      std::uint64_t samples = 0;
      for (const Kept& one : kept) samples += one.batch.size();
      if (samples < consumer.capacity() / 2) throw;
      kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>((kept.size() + 1) / 2));
    }
  }
}

/// Empty if all show what they have to.
std::string what_is_lost(const std::vector<Kept>& kept, const std::string& when) {
  for (const Kept& one : kept) {
    if (!one.shows_it()) return "a kept batch shows other bytes " + when;
    one.batch.check();
  }
  return {};
}

/// Keeps batches in all ways that there are, at random; empty if all was sound.
std::string keep_at_random(std::mt19937_64& random, std::uint64_t rounds) {
  std::vector<Kept> of_others;  // consumers that have left
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<Kept> kept;
    ConsumerOptions options = quiet(1 + random() % 60);
    options.name = "keeper";
    options.join = random() % 2 == 0 ? Join::now : Join::rewind;
    if (random() % 3 == 0) options.between_epochs = BetweenEpochs::let_go;
    Consumer consumer(options);
    const std::uint64_t most = 1 + random() % 40;
    for (std::uint64_t i = 0; i < most; ++i) {
      auto batch = next_beside(consumer, kept);
      if (!batch) continue;
      if (const auto fault = fault_of(*batch); !fault.empty()) return fault;
      if (random() % 4 == 0) kept.emplace_back(std::move(*batch));
      if (!kept.empty() && random() % 8 == 0) kept[random() % kept.size()].write(random() % 3);
      if (!kept.empty() && random() % 5 == 0) kept.erase(kept.begin() + random() % kept.size());
      if (random() % 16 == 0) consumer.leave_epoch();
    }
    if (const auto fault = what_is_lost(kept, "beside its consumer"); !fault.empty()) return fault;
    if (random() % 2 == 0) of_others.clear();
    for (Kept& one : kept) of_others.push_back(std::move(one));
  }
  return what_is_lost(of_others, "after its consumer left");
}

int keep_batches(const Words& words) {
  std::mt19937_64 random(static_cast<std::uint64_t>(words.number("seed")));
  const std::string fault =
      keep_at_random(random, static_cast<std::uint64_t>(words.number("rounds")));
  say("done sound=" + std::string(fault.empty() ? "yes" : "no") + " " + fault);
  return 0;
}

const RoleRegistration role("keep_batches", keep_batches);

}  // namespace

TEST_CASE("a batch that is kept after its consumer left holds nobody up", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options(GENERATE("mixed", "padded")), {});
  Consumer other(quiet());
  std::optional<Kept> kept;
  {
    Consumer consumer(quiet());
    kept.emplace(consumer.next().value());
  }
  CHECK(read_on(other, 3 * other.capacity()));
  CHECK(kept->shows_it());
  kept->batch.check();
  CHECK(eventually([&] { return server.producer().stats().consumers.size() == 1; }));
  kept->write(0);
  CHECK(kept->shows_it());
  CHECK(read_on(other, other.capacity()));
  CHECK(kept->shows_it());
}

TEST_CASE("what an exception keeps holds nobody up", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  Consumer other(quiet());
  std::vector<Kept> kept;
  try {
    Consumer consumer(quiet());
    for (Batch& batch : consumer) {
      kept.emplace_back(batch.share());
      if (kept.size() == 3) throw std::runtime_error("pruned");
    }
  } catch (const std::runtime_error&) {
  }
  CHECK(read_on(other, 3 * other.capacity()));
  for (const Kept& one : kept) CHECK(one.shows_it());
}

TEST_CASE("the next loop has room although the last one's batch is kept", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", GENERATE(0, 3'000)), {});
  Consumer consumer(quiet());
  const std::uint64_t large = consumer.capacity() * 2 / 3;  // the ring has one and a half
  consumer.set_batch_size(large);
  std::vector<Kept> kept;
  for (int loop = 0; loop < 3; ++loop) {
    if (consumer.samples_per_epoch() == 0) {
      kept.emplace_back(consumer.next().value());
    } else {
      for (Batch& batch : consumer) {
        kept.emplace_back(batch.share());
        break;
      }
      REQUIRE(consumer.has_next_epoch());
    }
    CHECK(fault_of(kept.back().batch) == "");
    kept.erase(kept.begin(), kept.end() - 1);
    CHECK(kept.front().shows_it());
  }
}

TEST_CASE("an epoch of unknown length can be left with a batch in hand", "[kept][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("mixed", 0);
  Producer producer(std::move(options));
  std::atomic<bool> ends{false};
  std::atomic<std::uint64_t> epochs{0};
  std::thread feeds([&] {
    while (!ends) {
      for (int i = 0; i < 40 && !ends; ++i) {  // several rings long
        while (auto loan = producer.try_loan(100, 50)) {
          fill(*loan);
          loan->publish();
          break;
        }
      }
      producer.end_epoch();
      ++epochs;
    }
  });
  {
    Consumer consumer(quiet());
    Kept kept(consumer.next().value());
    consumer.leave_epoch();
    const NextBatch next = consumer.try_next(20'000);
    CHECK(next.outcome == Outcome::batch);
    if (next.outcome == Outcome::batch) {
      CHECK(next.batch.epoch() > kept.batch.epoch());
      CHECK(fault_of(next.batch) == "");
    }
    CHECK(kept.shows_it());
  }
  ends = true;
  producer.stop("the test is over");
  feeds.join();
}

TEST_CASE("a consumer that waits for its own leases makes what they protect its own",
          "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000), {});
  std::string warned;
  ConsumerOptions options = quiet(20);
  options.log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warned += std::string(text) + "\n";
  };
  Consumer consumer(options);
  std::vector<Kept> kept;
  for (std::uint64_t read = 0; read < consumer.capacity() * 3 / 2; read += 20) {
    kept.emplace_back(consumer.next().value());
  }
  for (const Kept& one : kept) {
    CHECK(one.shows_it());
    one.batch.check();
  }
  INFO(warned);
  CHECK(std::count(warned.begin(), warned.end(), '\n') == 1);
  for (const char* part : {"`s`", "keeps ", "epoch 0", "position 0", "troubleshooting"}) {
    CHECK(warned.find(part) != std::string::npos);
  }
  // At most the ring's size is kept, and as much copied beside it; one is in hand.
  CHECK_THROWS_AS(
      [&] {
        for (;;) kept.emplace_back(consumer.next().value());
      }(),
      RingTooSmall);
  CHECK(kept.size() * 20 <= 2 * consumer.capacity() + 3 * 20);
  for (const Kept& one : kept) CHECK(one.shows_it());
  const std::uint64_t cursor = consumer.cursor();
  kept.clear();
  CHECK(consumer.next().value().position() == cursor);
  CHECK(read_on(consumer, 2 * consumer.capacity()));
}

TEST_CASE("a look without a wait leaves leases where they are", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000), {});
  Consumer consumer(quiet());
  consumer.set_batch_size(consumer.capacity() * 2 / 3);
  Kept kept(consumer.next().value());
  CHECK(consumer.poll().outcome == Outcome::timed_out);
  CHECK(consumer.stats().leases_held == 1);
  CHECK(consumer.try_next(10'000).outcome == Outcome::batch);
  CHECK(kept.shows_it());
}

TEST_CASE("a loop that lets go does so with a batch in hand", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 1'000), {});
  Consumer other(quiet());
  ConsumerOptions options = quiet();
  options.between_epochs = BetweenEpochs::let_go;
  Consumer consumer(options);
  std::optional<Kept> last;
  while (auto batch = consumer.next()) last.emplace(std::move(*batch));
  CHECK(consumer.stats().leases_held == 0);
  CHECK(read_on(other, 3 * other.capacity()));
  CHECK(last->shows_it());
  CHECK(consumer.has_next_epoch());
}

TEST_CASE("batches show the ring again once nothing that is kept lies there", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 1'000'000, GENERATE(512 << 10, 12 << 20)), {});
  Consumer consumer(quiet());
  // Several rounds begin at several places of the ring, its end among them.
  for (int round = 0; round < 12; ++round) {
    REQUIRE(read_on(consumer, consumer.capacity() * 3 / 10));
    std::optional<Kept> kept(consumer.next().value());
    REQUIRE_FALSE(kept->batch.writable());
    consumer.leave_epoch();  // the stream has epochs enough
    bool copies = false;
    std::vector<Kept> meanwhile;
    for (std::uint64_t read = 0; read < consumer.capacity(); read += 64) {
      auto batch = consumer.next();
      if (!batch) continue;
      CHECK(fault_of(*batch) == "");
      copies |= batch->writable();
    }
    CHECK(copies);
    CHECK(kept->shows_it());
    kept.reset();
    for (std::uint64_t read = 0; read < consumer.capacity() * 3 / 2; read += 64) {
      auto batch = consumer.next();
      if (!batch) continue;
      REQUIRE(fault_of(*batch) == "");
      REQUIRE_FALSE(batch->writable());
    }
  }
}

TEST_CASE("a write beside what is kept stays, and the ring comes back after both",
          "[kept][write][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 1'000'000), {});
  Consumer consumer(quiet(16));
  std::optional<Kept> kept(consumer.next().value());
  consumer.leave_epoch();
  kept->write(0);
  auto later = consumer.next();
  while (!later) later = consumer.next();
  CHECK(later->writable());  // beside what is kept: a copy
  kept->write(1);
  CHECK(kept->shows_it());
  later.reset();
  kept.reset();
  // A write into what is kept is no reason to copy for good.
  bool shown = false;
  for (int i = 0; i < 200; ++i) {
    if (auto batch = consumer.next()) shown |= !batch->writable();
  }
  CHECK(shown);
}

TEST_CASE("threads that read and write kept batches meanwhile lose nothing", "[kept][write]") {
  const std::uint64_t seed = test_seed("kept");
  std::mt19937_64 random(seed);
  const OwnDirectory directory;
  Server server(producer_options("mixed", 1'000, 12 << 20), {2});
  Consumer other(quiet());
  for (std::uint64_t round = 0; round < scaled(40, 4); ++round) {
    auto consumer = std::make_unique<Consumer>(quiet(1 + random() % 900));
    std::vector<Kept> kept;
    while (kept.size() < 4) {
      if (auto batch = consumer->next()) kept.emplace_back(std::move(*batch));
    }
    std::atomic<bool> ends{false};
    std::atomic<int> faults{0};
    std::thread reader([&] {
      while (!ends) {
        if (!kept[1].shows_it()) ++faults;
      }
    });
    std::thread writer([&, delay_us = random() % 300] {
      pause_us(delay_us);
      kept[0].write(0);
      kept[2].write(1);
    });
    pause_us(random() % 300);
    consumer.reset();
    writer.join();
    ends = true;
    reader.join();
    CHECK(faults == 0);
    for (const Kept& one : kept) REQUIRE(one.shows_it());
    REQUIRE(read_on(other, other.capacity() / 4));
    for (const Kept& one : kept) REQUIRE(one.shows_it());
  }
}

TEST_CASE("a child has what its parent keeps, and writes apart", "[kept][fork][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000), {});
  auto consumer = std::make_unique<Consumer>(quiet());
  Kept before(consumer->next().value());
  Kept left(consumer->next().value());
  consumer->leave_epoch();
  const auto child = [&] {
    return in_child([&] {
      FaultRange::come_first();
      before.write(1);
      const bool sound = before.shows_it() && left.shows_it();
      consumer.reset();  // nothing in a child
      return sound && before.shows_it() ? 7 : 8;
    });
  };
  CHECK(child().exited_with(7));
  CHECK(before.shows_it());
  consumer.reset();
  CHECK(child().exited_with(7));
  CHECK(before.shows_it());
  CHECK(left.shows_it());
}

TEST_CASE("two consumers of one process keep apart", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000), {});
  auto one = std::make_unique<Consumer>(quiet());
  Consumer two(quiet());
  Kept mine(one->next().value());
  Kept theirs(two.next().value());
  one.reset();
  mine.write(0);
  CHECK(theirs.shows_it());
  two.leave_epoch();
  CHECK(read_on(two, 2 * two.capacity()));
  CHECK(mine.shows_it());
  CHECK(theirs.shows_it());
}

TEST_CASE("a batch of an evicted consumer is told as such, kept or not", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000), {});
  ConsumerOptions options = quiet();
  options.name = "slow";
  auto consumer = std::make_unique<Consumer>(options);
  Batch sound = consumer->next().value();
  consumer->leave_epoch();  // kept before the eviction: the trainer's own
  auto torn = consumer->next();
  while (!torn) torn = consumer->next();
  REQUIRE(server.producer().evict("slow", "a test"));
  REQUIRE(eventually([&] {
    try {
      consumer->check();
      return false;
    } catch (const Revoked&) {
      return true;
    }
  }));
  consumer.reset();
  sound.check();
  CHECK(fault_of(sound) == "");
  if (!torn->writable()) CHECK_THROWS_AS(torn->check(), Revoked);
}

TEST_CASE("what is kept takes its own memory, and nothing else", "[kept][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000, 32 << 20), {});
  Consumer other(quiet(1'000));
  std::atomic<bool> ends{false};
  std::thread reads([&] {
    while (!ends) static_cast<void>(other.try_next(100));
  });
  constexpr std::uint64_t trials = 100;
  constexpr std::uint64_t batch_size = 200;
  const std::uint64_t sample_bytes = [] {
    std::uint64_t bytes = 8;
    for (const FieldSpec& field : schema_of("mixed")) bytes += field.byte_count();
    return bytes;
  }();
  std::vector<Kept> kept;
  const auto keep_one = [&] {
    ConsumerOptions options = quiet(batch_size);
    options.join = Join::now;
    Consumer consumer(options);
    auto batch = consumer.next();
    while (!batch) batch = consumer.next();
    kept.emplace_back(std::move(*batch));
    kept.back().fields.clear();  // only the ring's memory is counted here
  };
  keep_one();
  const std::uint64_t before_kib = kib_of_this_process("RssAnon");
  const std::size_t descriptors_before = descriptors();
  const std::size_t segments_before = mapped_segments();
  for (std::uint64_t trial = 1; trial < trials; ++trial) keep_one();
  const std::uint64_t after_kib = kib_of_this_process("RssAnon");
  // The producer, which is in this process, closes its ends a moment later.
  CHECK(eventually([&] { return descriptors() <= descriptors_before; }));
  CHECK(eventually([&] { return mapped_segments() <= segments_before; }));
  const std::uint64_t samples_kib = trials * batch_size * sample_bytes / 1024;
  const std::uint64_t fields = 5;
  const std::uint64_t edges_kib = trials * fields * 2 * 4;  // a page at either end
  INFO("KiB: " << before_kib << " -> " << after_kib << ", samples " << samples_kib);
  if (!slow_build()) CHECK(after_kib - before_kib <= samples_kib + edges_kib + 4'000);
  for (const Kept& one : kept) REQUIRE(fault_of(one.batch) == "");
  ends = true;
  reads.join();
}

TEST_CASE("keepers at random, killed or not, disturb nobody", "[kept]") {
  const std::uint64_t seed = test_seed("keepers");
  std::mt19937_64 random(seed);
  const OwnDirectory directory;
  Server server(producer_options(GENERATE("mixed", "padded"), 700, 512 << 10), {2});
  Process other("consume", {"name=other"});
  static_cast<void>(other.expect("attached"));
  std::vector<Process> keepers;
  for (int i = 0; i < 2; ++i) {
    keepers.emplace_back("keep_batches",
                         std::vector<std::string>{"seed=" + std::to_string(random() % 1'000'000),
                                                  "rounds=" + std::to_string(scaled(60, 4))});
  }
  for (std::uint64_t i = 0; i < scaled(20, 2); ++i) {
    Process victim("keep_batches",
                   {"seed=" + std::to_string(random() % 1'000'000), "rounds=100000"});
    pause_us(random() % 200'000);
    victim.kill();
    static_cast<void>(victim.wait());
  }
  for (Process& keeper : keepers) {
    const Words done = keeper.expect("done", 120'000);
    INFO(done.line());
    CHECK(done.text("sound") == "yes");
    CHECK(keeper.wait().exited_with(0));
  }
  server.stop();
  static_cast<void>(expect_sound(other, "Stopped"));
}

TEST_CASE("a trainer that waits says for whom", "[kept][wait]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000), {});
  Process holder("hold_one", {"name=holder", "batch=8"});
  static_cast<void>(holder.expect("holds"));
  std::vector<std::string> lines;
  ConsumerOptions options = quiet();
  options.name = "waiter";
  options.log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::info) lines.emplace_back(text);
  };
  Consumer consumer(options);
  const auto said = [&] {
    return std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("has waited") != std::string::npos;
    });
  };
  for (int i = 0; i < 1'000 && said() == lines.end(); ++i) {
    static_cast<void>(consumer.try_next(1'000));
  }
  REQUIRE(said() != lines.end());
  INFO(*said());
  for (const std::string& part :
       {std::string("`waiter`"), std::string("stream `s`"), std::string("consumer `holder`"),
        "process " + std::to_string(holder.pid())}) {
    CHECK(said()->find(part) != std::string::npos);
  }
}

TEST_CASE("a trainer that waits for others to come says how many are missing", "[kept][wait]") {
  const OwnDirectory directory;
  ProducerOptions waiting = producer_options("mixed", 100'000);
  waiting.wait_for = 3;
  Server server(std::move(waiting), {});  // the ring becomes full meanwhile
  Consumer second(quiet());
  std::string said;
  ConsumerOptions options = quiet();
  options.log = [&](LogLevel, std::string_view text) {
    if (text.find("has waited") != text.npos) said = text;
  };
  Consumer consumer(options);
  for (int i = 0; i < 60 && said.empty(); ++i) {
    CHECK(consumer.try_next(1'000).outcome == Outcome::timed_out);
  }
  INFO(said);
  CHECK(said.ends_with("waits until 1 more trainer comes (wait_for)."));
  const Consumer third(quiet());
  CHECK(consumer.next());
  server.producer().stop("the test is over");
}

TEST_CASE("a large batch becomes the trainer's own in little time", "[kept][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("mixed", 100, 320 << 20);
  options.schema = {{"image", DType::u8, {3, 1'024, 512}}};
  Producer producer(std::move(options));
  auto loan = producer.loan(100);
  loan->publish();
  auto consumer = std::make_unique<Consumer>(quiet(100));
  const Batch batch = consumer->next().value();
  const std::uint64_t started_ns = now_ns();
  consumer.reset();
  const double ms = seconds_from_ns(now_ns() - started_ns) * 1e3;
  std::printf("a kept batch of 157 MB became its trainer's own in %.0f ms\n", ms);
  CHECK(ms < 2'000);
  producer.stop("the test is over");
}

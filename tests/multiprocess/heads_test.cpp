// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Trainers whose samples the leading ring no longer has, and get them from heads.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "ride.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t epoch_samples = 3'000;
constexpr std::uint64_t ring_bytes = 512 << 10;

ProducerOptions heads_options(std::uint32_t heads = 4) {
  ProducerOptions options = phoenix_options(epoch_samples, ring_bytes);
  options.heads = heads;
  return options;
}

/// A trainer of this process that reads on until the test stops it.
class Leader {
 public:
  explicit Leader(std::uint64_t pause_us, std::uint64_t batch_size = 50) {
    ConsumerOptions options = quiet(batch_size);
    options.name = "leader";
    consumer_ = std::make_unique<Consumer>(options);
    thread_ = std::thread([this, pause_us] {
      while (!over_) {
        if (const auto batch = consumer_->next()) {
          checker_.see(*batch);
          reached_ = batch->position() + batch->size();
        }
        batchcast::testing::pause_us(pause_us);
      }
    });
  }
  ~Leader() { stop(); }
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  void stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] std::uint64_t reached() const { return reached_; }
  void wait_for(std::uint64_t position) const {
    REQUIRE(eventually([&] { return reached_ >= position; }, 60'000));
  }
  [[nodiscard]] std::string fault() const { return checker_.fault(); }

 private:
  std::unique_ptr<Consumer> consumer_;
  Checker checker_{epoch_samples};
  std::atomic<bool> over_ = false;
  std::atomic<std::uint64_t> reached_ = 0;
  std::thread thread_;
};

ConsumerOptions at(std::uint64_t cursor, std::uint64_t batch_size = 50) {
  ConsumerOptions options = quiet(batch_size);
  options.join = Join::at;
  options.cursor = cursor;
  options.name = "late";
  return options;
}

/// Reads to that position; false where a batch is not the next one, or of another size.
bool reads_to(Consumer& consumer, Checker& checker, std::uint64_t position) {
  std::uint64_t next = consumer.cursor();
  while (next < position) {
    const auto batch = consumer.next();
    if (!batch) continue;
    checker.see(*batch);
    const std::uint64_t left = epoch_samples - next % epoch_samples;
    if (batch->position() != next) return false;
    if (batch->size() != std::min(consumer.batch_size(), left)) return false;
    next += batch->size();
  }
  return true;
}

}  // namespace

TEST_CASE("a trainer whose samples are gone gets them from a head, and comes to the leading ring",
          "[heads][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  Leader leader(20'000);
  leader.wait_for(2'000);
  Consumer late(at(150));
  CHECK(server.logged("head-1 opens at position 150"));
  CHECK(server.producer().stats().rings.size() == 2);
  Checker checker(epoch_samples);
  const std::string first_ring = late.incarnation();
  const std::uint64_t begun_ns = now_ns();
  while (late.incarnation() == first_ring) {
    REQUIRE(reads_to(late, checker, late.cursor() + 50));
    pause_us(5'000);  // else it overtakes the leader before it is asked, and waits for it there
    REQUIRE(seconds_from_ns(now_ns() - begun_ns) < 60);
  }
  CHECK(server.logged("`late` goes on in the leading ring"));
  REQUIRE(reads_to(late, checker, late.cursor() + 2 * epoch_samples));
  CHECK(checker.fault() == "");
  CHECK(late.stats().epochs_mismatched == 0);
  CHECK(late.stats().epochs_matched >= 2);
  CHECK(eventually([&] { return server.logged("head-1 closes"); }));
  CHECK(server.producer().stats().rings.size() == 1);
  CHECK(server.producer().stats().consumers.size() == 2);
  leader.stop();
  CHECK(leader.fault() == "");
}

TEST_CASE("what a trainer holds of a head stays, and the head closes", "[heads][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  Leader leader(20'000);
  leader.wait_for(2'000);
  Consumer late(at(0));
  Checker checker(epoch_samples);
  const std::string first_ring = late.incarnation();
  std::vector<Batch> held;
  held.push_back(std::move(late.next().value()));
  checker.see(held.front());
  // The batch that it holds is in the way of the head, and becomes its own.
  while (late.incarnation() == first_ring) REQUIRE(reads_to(late, checker, late.cursor() + 50));
  REQUIRE(reads_to(late, checker, late.cursor() + epoch_samples));
  CHECK(fault_of(held.front()) == "");
  CHECK(eventually([&] { return server.logged("head-1 closes"); }));
  CHECK(fault_of(held.front()) == "");
  CHECK_NOTHROW(held.front().check());
  CHECK(checker.fault() == "");
}

TEST_CASE("with one place an old cursor is refused", "[heads][short]") {
  const OwnDirectory directory;
  Server server(heads_options(1), {.threads = 2});
  Leader leader(0);
  leader.wait_for(2'000);
  CHECK_THROWS_AS(Consumer(at(0)), Refused);
}

TEST_CASE("a stream with samples of any length has no heads, and says so", "[heads][short]") {
  const OwnDirectory directory;
  ProducerOptions options = heads_options();
  options.schema = {{"tokens", DType::i32, Axis{"tokens"}}};
  options.rows = {{"tokens", 2'000}};
  Producer producer(options);
  std::thread makes([&] {
    while (auto loan = producer.loan(8)) {
      const std::vector<std::uint64_t> rows(loan->size(), 3);
      if (loan->take_rows("tokens", rows)) loan->publish();
    }
  });
  Consumer first(quiet(16));
  while (first.cursor() < 4 * epoch_samples) static_cast<void>(first.next());
  CHECK_THROWS_WITH(Consumer(at(0)),
                    Catch::Contains("Streams with samples of any length get no heads"));
  producer.stop("the test is over");
  makes.join();
}

TEST_CASE("a trainer alone makes the stream go back", "[heads][short]") {
  const OwnDirectory directory;
  Server server(heads_options(), {.threads = 2});
  {
    Leader leader(0);
    leader.wait_for(4'000);
  }
  Consumer late(at(10));
  Checker checker(epoch_samples);
  CHECK(reads_to(late, checker, epoch_samples));
  CHECK(server.logged("goes back"));
  CHECK_FALSE(server.logged("opens"));
}

TEST_CASE("trainers of a head come to a leading ring that has lost its own", "[heads][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  auto leader = std::make_unique<Leader>(1'000);
  leader->wait_for(9'000);
  Consumer late(at(0));
  Checker checker(epoch_samples);
  REQUIRE(reads_to(late, checker, 500));
  leader.reset();
  const std::string first_ring = late.incarnation();
  while (late.incarnation() == first_ring) {
    REQUIRE(reads_to(late, checker, late.cursor() + 50));
    REQUIRE(late.cursor() < 100'000);
    pause_us(10'000);
  }
  CHECK(server.logged("the leading ring has no trainer any more"));
  REQUIRE(reads_to(late, checker, late.cursor() + epoch_samples));
  CHECK(checker.fault() == "");
  CHECK(eventually([&] { return server.logged("head-1 closes"); }));
}

TEST_CASE("without a free place a trainer waits behind a ring, or at the door", "[heads][short]") {
  const OwnDirectory directory;
  Server server(heads_options(2), {.threads = 2});
  Leader leader(5'000);
  leader.wait_for(2'500);
  auto first = std::make_unique<Consumer>(at(500));
  Checker checker(epoch_samples);
  REQUIRE(reads_to(*first, checker, 600));
  // Behind: it gets its samples once that head is there.
  Consumer second(at(1'400));
  CHECK(server.logged("waits for head-1"));
  CHECK(second.cursor() == 1'400);
  // Before it there is none.
  ConsumerOptions options = at(100);
  options.connect_timeout_ms = 700;
  std::string told;
  options.log = [&](LogLevel, std::string_view line) { told += line; };
  CHECK_THROWS_AS(Consumer(options), Refused);
  CHECK(told.find("all 2 places (--heads) are taken") != std::string::npos);
  REQUIRE(reads_to(*first, checker, 1'500));
  Checker behind(epoch_samples);
  REQUIRE(reads_to(second, behind, 1'700));
  CHECK(checker.fault() == "");
  CHECK(behind.fault() == "");
}

TEST_CASE("places for consumers are counted over all heads", "[heads][short]") {
  const OwnDirectory directory;
  ProducerOptions options = heads_options();
  options.max_consumers = 2;
  Server server(options, {.threads = 2});
  Leader leader(20'000);
  leader.wait_for(1'500);
  Consumer late(at(0));
  ConsumerOptions third = at(0);
  third.connect_timeout_ms = 100;
  CHECK_THROWS_AS(Consumer(third), Refused);
}

TEST_CASE("a head that finds no memory is refused with the numbers", "[heads][short]") {
  const OwnDirectory directory;
  ProducerOptions options = heads_options();
  options.head_memory = std::uint64_t{1} << 46;
  Server server(options, {.threads = 2});
  Leader leader(1'000);
  leader.wait_for(2'000);
  std::string why;
  try {
    const Consumer late(at(0));
  } catch (const Refused& refused) {
    why = refused.what();
  }
  INFO(why);
  CHECK(why.find("--head-memory") != std::string::npos);
  CHECK(why.find("67108863 MiB") != std::string::npos);
}

TEST_CASE("rewind opens a head where it would wait for more than half an epoch", "[heads][short]") {
  const OwnDirectory directory;
  ProducerOptions producer = heads_options(2);
  producer.samples_per_epoch = 20'000;
  Server server(producer, {.threads = 2});
  ConsumerOptions options = quiet(50);
  Consumer leader(options);
  while (leader.cursor() < 3'000) static_cast<void>(leader.next());
  Consumer late(options);
  CHECK(late.cursor() == 0);
  CHECK(server.logged("opens at position 0"));
}

namespace {

/// Reads until the consumer is in another ring; false after 30 s.
bool reads_until_moved(Consumer& consumer, Checker& checker, std::uint64_t pause_between_us) {
  const std::string ring = consumer.incarnation();
  const std::uint64_t begun_ns = now_ns();
  while (consumer.incarnation() == ring) {
    if (seconds_from_ns(now_ns() - begun_ns) > 30) return false;
    if (!reads_to(consumer, checker, consumer.cursor() + 50)) return false;
    pause_us(pause_between_us);
  }
  return true;
}

ProducerOptions own_place_options(std::uint32_t heads = 4) {
  ProducerOptions options = heads_options(heads);
  options.on_stall = OnStall::own_place;
  options.stall_timeout_ms = 3'000;
  return options;
}

ConsumerOptions slow_one() {
  ConsumerOptions options = quiet(50);
  options.name = "slow";
  return options;
}

}  // namespace

TEST_CASE("a slow trainer gets a head, and the others wait for it no longer", "[own-place]") {
  const OwnDirectory directory;
  Process producer("phoenix", {"n=3000", "threads=2", "heads=3", "own_place=1",
                               "stall_timeout_ms=2000", "wait_for=3"});
  static_cast<void>(producer.expect("serves"));
  // Its epochs take 6 s.
  Process slow("rider", {"batch=50", "until_told=1", "pause_us=100000", "hold=2"});
  Process fast("rider", {"batch=64", "epochs=20", "pause_us=2000"});
  Process other("rider", {"batch=37", "epochs=20", "pause_us=1000"});
  for (Process* const one : {&slow, &fast, &other}) static_cast<void>(one->expect("attached"));
  const Words fast_line = expect_sound(fast, "left", 180'000);
  const Words other_line = expect_sound(other, "left", 180'000);
  slow.tell("enough");
  const Words slow_line = expect_sound(slow, "left", 60'000);
  const auto slow_epochs = static_cast<std::uint64_t>(slow_line.number("epochs"));
  CHECK(slow_epochs < 10);
  CHECK(fast_line.text("digest") == digest_of_ride(64, 20, epoch_samples));
  CHECK(other_line.text("digest") == digest_of_ride(37, 20, epoch_samples));
  CHECK(slow_line.text("digest") == digest_of_ride(50, slow_epochs, epoch_samples));
  CHECK(slow_line.number("lives") == 2);
  CHECK(slow_line.number("mismatched") == 0);
}

TEST_CASE("a slow trainer stays in its head for a while, and then may come back", "[own-place]") {
  const OwnDirectory directory;
  ProducerOptions options = own_place_options();
  options.stall_timeout_ms = 6'000;
  Server server(options, {.threads = 2});
  Consumer slow(slow_one());
  const std::string first_ring = slow.incarnation();
  Leader leader(50'000);
  Checker checker(epoch_samples);
  REQUIRE(reads_until_moved(slow, checker, 250'000));
  const std::uint64_t moved_ns = now_ns();
  CHECK(server.logged("`slow` let the others wait for "));
  CHECK(server.logged("opens at position"));
  CHECK(server.logged("`slow` goes on in head-1"));
  // It catches up at once, and then is as fast as the leading ring.
  const std::string head = slow.incarnation();
  while (slow.incarnation() == head && seconds_from_ns(now_ns() - moved_ns) < 30) {
    if (slow.cursor() >= server.producer().stats().published) {
      pause_us(1'000);
    } else {
      REQUIRE(reads_to(slow, checker, slow.cursor() + 50));
    }
  }
  CHECK(seconds_from_ns(now_ns() - moved_ns) > 1.5);
  CHECK(slow.incarnation() == first_ring);
  CHECK(server.logged("`slow` goes on in the leading ring"));
  CHECK(eventually([&] { return server.logged("head-1 closes"); }));
  CHECK(checker.fault() == "");
  CHECK(slow.stats().epochs_mismatched == 0);
  leader.stop();
  CHECK(leader.fault() == "");
}

TEST_CASE("a trainer that stands still is reported, and gets no head", "[own-place]") {
  const OwnDirectory directory;
  Server server(own_place_options(), {.threads = 2});
  Process stopped("rider", {"batch=50", "epochs=1", "pause_us=20000"});
  static_cast<void>(stopped.expect("attached"));
  stopped.signal(SIGSTOP);
  Leader leader(1'000);
  CHECK(eventually([&] { return server.logged("has held the stream up for"); }, 20'000));
  CHECK_FALSE(server.logged("it is asked to go on in a head"));
  CHECK(server.producer().stats().consumers.size() == 2);
  stopped.signal(SIGCONT);
  static_cast<void>(expect_sound(stopped, "left", 60'000));
}

TEST_CASE("where no head is free, or may be had, a slow trainer stays", "[own-place]") {
  const OwnDirectory directory;
  const bool is_free = GENERATE(false, true);
  Server server(own_place_options(is_free ? 4 : 2), {.threads = 2});
  ConsumerOptions options = slow_one();
  options.join = Join::now;
  if (is_free) options.between_epochs = BetweenEpochs::let_go;  // such a one gets none
  Leader leader(1'000);
  leader.wait_for(2'000);
  std::unique_ptr<Consumer> behind;
  if (!is_free) behind = std::make_unique<Consumer>(at(100));
  Consumer slow(options);
  const std::string first_ring = slow.incarnation();
  const std::uint64_t begun_ns = now_ns();
  while (seconds_from_ns(now_ns() - begun_ns) < 4) {
    static_cast<void>(slow.next());
    pause_us(100'000);
  }
  CHECK(slow.incarnation() == first_ring);
  CHECK_FALSE(server.logged("it is asked to go on in a head"));
  CHECK(server.logged("and all 2 places (--heads) are taken") == !is_free);
}

TEST_CASE("own places are for streams that may have heads", "[own-place][short]") {
  const OwnDirectory directory;
  CHECK_THROWS_WITH(Server(own_place_options(1), {}),
                    Catch::Contains("where the stream may have heads"));
}

TEST_CASE("trainers of heads ride through a death", "[heads][ride]") {
  const OwnDirectory directory;
  const std::vector<std::string> words = {"n=3000", "threads=2", "heads=3"};
  Process producer("phoenix", words);
  static_cast<void>(producer.expect("serves"));
  Process leads("rider", {"batch=50", "epochs=6", "pause_us=10000"});
  static_cast<void>(leads.expect("attached"));
  pause_us(700'000);
  std::optional<Consumer> late(at(0));
  Checker checker(epoch_samples);
  REQUIRE(reads_to(*late, checker, 200));
  const std::string first_ring = late->incarnation();
  producer.kill();
  static_cast<void>(producer.wait());
  producer = Process("phoenix", words);
  static_cast<void>(producer.expect("serves"));
  REQUIRE(reads_to(*late, checker, 6 * epoch_samples));
  CHECK(late->incarnation() != first_ring);
  CHECK(checker.fault() == "");
  late.reset();  // where it was asked to come to the leading ring, that waits for it
  const Words line = expect_sound(leads, "left", 60'000);
  CHECK(line.text("digest") == digest_of_ride(50, 6, epoch_samples));
}

TEST_CASE("a trainer of a head that comes back late is let in where a newcomer has the last place",
          "[heads][ride]") {
  const OwnDirectory directory;
  Process producer("phoenix", {"n=3000", "threads=2", "heads=3"});
  static_cast<void>(producer.expect("serves"));
  Process leads("rider", {"batch=50", "pause_us=10000", "until_told=1"});
  static_cast<void>(leads.expect("attached"));
  pause_us(700'000);
  Process late("rider", {"batch=50", "epochs=1", "pause_us=20000", "join=at", "cursor=0"});
  static_cast<void>(late.expect("attached"));
  pause_us(300'000);
  late.signal(SIGSTOP);
  pause_us(1'200'000);  // its place is noted
  producer.kill_and_wait();
  ProducerOptions again = heads_options(3);
  again.max_consumers = 2;
  Server server(again, {.threads = 2});
  std::optional<Consumer> newcomer(quiet(50));
  CHECK(server.producer().stats().consumers.size() == 2);
  late.signal(SIGCONT);
  const Words line = expect_sound(late, "left", 30'000);
  CHECK(line.text("digest") == digest_of_ride(50, 1, epoch_samples));
  newcomer.reset();
  leads.tell("enough");
  static_cast<void>(expect_sound(leads, "left", 60'000));
}

/// Trials are killed, stopped, and started again from old checkpoints, and so is their producer, at
/// random moments. In the end each has had what no death disturbs, and so has one that none killed.
TEST_CASE("a storm of checkpoints and restarts", "[heads-storm]") {
  std::mt19937_64 random(test_seed("heads storm"));
  const std::uint64_t restarts = scaled(50, 8);
  const std::vector<std::uint64_t> sizes = {37, 64, 7, 250};
  const OwnDirectory directory;
  const TemporaryFolder checkpoints;
  std::vector<std::string> producer_words = {
      "n=3000", "threads=2", "heads=" + std::to_string(2 + random() % 4), "head_memory=524288"};
  // The survivor is slow then.
  const bool has_own_places = random() % 2 == 0;
  if (has_own_places) {
    producer_words.insert(producer_words.end(), {"own_place=1", "stall_timeout_ms=300"});
  }
  Process producer("phoenix", producer_words);
  static_cast<void>(producer.expect("serves"));
  Process survivor("rider", {"batch=50", "until_told=1", "hold=1",
                             has_own_places ? "pause_us=15000" : "pause_us=3000"});
  static_cast<void>(survivor.expect("attached"));
  const auto words_of = [&](std::size_t i) {
    return std::vector<std::string>{
        "batch=" + std::to_string(sizes[i]), "file=" + checkpoints.path() + "/" + std::to_string(i),
        "pause_us=" + std::to_string(60 * sizes[i]), "hold=" + std::to_string(i)};
  };
  std::vector<Process> trials;
  for (std::size_t i = 0; i < sizes.size(); ++i) trials.emplace_back("trial", words_of(i));
  std::uint64_t producers_killed = 0;
  for (std::uint64_t restart = 0; restart < restarts; ++restart) {
    pause_us(random() % (random() % 4 == 0 ? 900'000 : 200'000));
    const std::size_t which = random() % trials.size();
    trials[which].kill();
    static_cast<void>(trials[which].wait());
    if (random() % 2 == 0) pause_us(random() % 300'000);
    if (random() % 5 == 0) {
      producer.kill();
      static_cast<void>(producer.wait());
      ++producers_killed;
      producer = Process("phoenix", producer_words);
      static_cast<void>(producer.expect("serves"));
    }
    trials[which] = Process("trial", words_of(which));
    if (random() % 4 != 0) continue;
    Process& stopped = random() % 3 == 0 ? producer : trials[random() % trials.size()];
    stopped.signal(SIGSTOP);
    pause_us(random() % 200'000);
    stopped.signal(SIGCONT);
  }
  for (Process& trial : trials) trial.tell("enough");
  survivor.tell("enough");
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Words words = trials[i].expect("done", 120'000);
    INFO(words.line() << "\n" << trials[i].errors());
    CHECK(words.text("sound") == "yes");
    CHECK(words.number("mismatched") == 0);
    const auto had = static_cast<std::uint64_t>(words.number("epochs"));
    CHECK(had >= 1);
    CHECK(words.text("digest") == digest_of_ride(sizes[i], had, epoch_samples));
  }
  const Words words = expect_sound(survivor, "left", 120'000);
  CHECK(words.text("digest") ==
        digest_of_ride(50, static_cast<std::uint64_t>(words.number("epochs")), epoch_samples));
  std::printf("heads storm: %llu killed, of them %llu producers%s\n",
              static_cast<unsigned long long>(restarts + producers_killed),
              static_cast<unsigned long long>(producers_killed),
              has_own_places ? ", with own places" : "");
}

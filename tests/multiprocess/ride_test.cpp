// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Trainers of a stream that can be made again, over the lives of its producers.
#include "ride.hpp"
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "samples.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t epoch_samples = 3'000;

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Process serve_again(const std::vector<std::string>& more = {}) {
  Process producer("phoenix", with({"n=3000", "threads=2"}, more));
  static_cast<void>(producer.expect("serves"));
  return producer;
}

}  // namespace

TEST_CASE("trainers ride through kills of their producer", "[ride][device][short]") {
  std::mt19937_64 random(test_seed("ride"));
  const std::size_t trainers = GENERATE(std::size_t{1}, std::size_t{4});
  const std::uint64_t kills = scaled(12, 3);
  constexpr std::uint64_t epochs = 12;
  const std::vector<std::uint64_t> sizes = {37, 64, 7, 250};
  const std::vector<std::uint64_t> pauses_us = {5'000, 8'000, 800, 30'000};
  const OwnDirectory directory;
  // The last one is waited for, so that all trainers begin at 0.
  const std::vector<std::string> more = {"wait_for=" + std::to_string(trainers)};
  Process producer = serve_again(more);
  std::vector<Process> riders;
  for (std::size_t i = 0; i < trainers; ++i) {
    riders.emplace_back(
        "rider", std::vector<std::string>{
                     "batch=" + std::to_string(sizes[i]), "epochs=" + std::to_string(epochs),
                     "hold=" + std::to_string(i), "pause_us=" + std::to_string(pauses_us[i])});
    static_cast<void>(riders.back().expect("attached"));
  }
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    pause_us(1'000 + random() % (random() % 3 == 0 ? 150'000 : 900'000));
    producer.kill();
    static_cast<void>(producer.wait());
    if (random() % 3 == 0) pause_us(random() % 100'000);
    producer = serve_again(more);
  }
  std::uint64_t rides = 0;
  for (std::size_t i = 0; i < trainers; ++i) {
    const Words words = expect_sound(riders[i], "left", 60'000);
    CHECK(words.text("digest") == digest_of_ride(sizes[i], epochs, epoch_samples));
    CHECK(words.number("samples") == static_cast<std::int64_t>(epochs * epoch_samples));
    rides += static_cast<std::uint64_t>(words.number("lives")) - 1;
  }
  std::printf("%zu trainers rode through %llu kills, %llu times\n", trainers,
              static_cast<unsigned long long>(kills), static_cast<unsigned long long>(rides));
  CHECK(rides >= trainers);
  producer.tell("stop");
  static_cast<void>(producer.wait());
  CHECK(directory.entries() == 0);
}

TEST_CASE("a batch that a death cuts short is withheld", "[ride][short]") {
  const OwnDirectory directory;
  // Without a trainer that asks for more, 1,000 samples are made: no multiple of 64.
  Process first = serve_again({"stop_at=1000"});
  ConsumerOptions options = stream_options();
  options.batch_size = 64;
  Consumer consumer(options);
  for (int i = 0; i < 10; ++i) CHECK(consumer.next().value().size() == 64);
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  for (int i = 10; i < 15; ++i) CHECK(consumer.next().value().size() == 64);  // drained
  CHECK(consumer.try_next(100).outcome == Outcome::timed_out);
  CHECK(consumer.cursor() == 960);
  Process second = serve_again();
  const std::uint64_t served_ns = now_ns();
  const Batch batch = consumer.next().value();
  const double seconds = seconds_from_ns(now_ns() - served_ns);
  std::printf("the first batch came %.0f ms after the next producer served\n", seconds * 1e3);
  CHECK(seconds <= (slow_build() ? 20 : 1));
  CHECK(batch.position() == 960);
  CHECK(batch.size() == 64);
  CHECK(fault_of(batch) == "");
}

TEST_CASE("a look beyond an epoch's dropped rest does not merge two epochs", "[ride][short]") {
  const OwnDirectory directory;
  Process first("phoenix", {"n=1000", "stop_at=1000"});
  static_cast<void>(first.expect("serves"));
  ConsumerOptions options = stream_options();
  options.batch_size = 300;
  options.tail = Tail::drop;
  Consumer consumer(options);
  for (int i = 0; i < 3; ++i) CHECK(consumer.next().value().size() == 300);
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  const bool looks = GENERATE(true, false);
  if (looks) CHECK_FALSE(consumer.peek(100));
  Process second("phoenix", {"n=1000"});
  static_cast<void>(second.expect("serves"));
  if (looks) CHECK(consumer.peek().value().position() == 1'000);
  CHECK(consumer.try_next(20'000).outcome == Outcome::end_of_epoch);
  for (int i = 0; i < 3; ++i) {
    CHECK(consumer.next().value().position() == 1'000 + static_cast<std::uint64_t>(i) * 300);
  }
  CHECK(consumer.try_next(20'000).outcome == Outcome::end_of_epoch);
  CHECK(consumer.stats().epochs_matched == 2);
  CHECK(consumer.stats().epochs_unknown == 0);
}

TEST_CASE("an epoch in which a producer died has a receipt where the order is known",
          "[ride][short]") {
  const OwnDirectory directory;
  const bool is_known = GENERATE(true, false);
  const std::vector<std::string> order =
      is_known ? std::vector<std::string>{"ordered=1"} : std::vector<std::string>();
  Process first = serve_again(with({"stop_at=1000"}, order));
  ConsumerOptions options = stream_options();
  options.batch_size = 100;
  Consumer consumer(options);
  for (int i = 0; i < 10; ++i) CHECK(consumer.next().value().size() == 100);
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  Process second = serve_again(order);
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (consumer.next()) continue;
  }
  CHECK(consumer.stats().epochs_matched == (is_known ? 2 : 1));
  CHECK(consumer.stats().epochs_unknown == (is_known ? 0 : 1));
  CHECK(consumer.stats().epochs_mismatched == 0);
}

TEST_CASE("what a trainer holds of a dead producer's ring stays as it is",
          "[ride][device][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=1000"});
  ConsumerOptions options = stream_options();
  options.batch_size = 100;
  options.access = GENERATE(Access::shared, Access::private_copy);
  Consumer consumer(options);
  std::vector<Batch> held;
  for (int i = 0; i < 4; ++i) held.push_back(std::move(consumer.next().value()));
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  while (consumer.try_next(100).outcome == Outcome::batch) continue;
  for (const Batch& batch : held) CHECK(fault_of(batch) == "");
  const std::uint64_t drained = consumer.cursor();  // a mirror has not copied all
  CHECK((drained == 1'000 || !test_placement().is_host()));
  Process second = serve_again();
  CHECK(consumer.next().value().position() == drained);
  for (const Batch& batch : held) {
    CHECK(fault_of(batch) == "");
    CHECK_NOTHROW(batch.check());
  }
}

TEST_CASE("a trainer that validates meanwhile keeps its place", "[ride][device][short]") {
  const OwnDirectory directory;
  Process first = serve_again();
  ConsumerOptions options = stream_options();
  options.batch_size = 50;
  std::optional<Consumer> validates(options);
  Checker checker(epoch_samples);
  for (int i = 0; i < 10; ++i) checker.see(validates->next().value());
  Process trains("rider", {"batch=64", "epochs=4", "pause_us=1000"});
  static_cast<void>(trains.expect("attached"));
  pause_us(100'000);
  for (int life = 0; life < 2; ++life) {  // it comes to neither of these
    first.kill();
    static_cast<void>(first.wait());
    first = serve_again();
    pause_us(500'000);
  }
  // The other one cannot have gone further than the ring is long.
  CHECK_FALSE(trains.line(200));
  while (checker.next() < 4 * epoch_samples) {
    if (const auto batch = validates->next()) checker.see(*batch);
  }
  validates.reset();  // the other one may have begun an epoch later
  CHECK(checker.fault() == "");
  static_cast<void>(expect_sound(trains, "left"));
}

TEST_CASE("a trainer that lets go keeps its place within a loop", "[ride][device][short]") {
  const OwnDirectory directory;
  Process first = serve_again();
  ConsumerOptions options = stream_options();
  options.batch_size = 50;
  options.between_epochs = BetweenEpochs::let_go;
  Consumer validates(options);
  Checker checker(epoch_samples);
  for (int i = 0; i < 10; ++i) checker.see(validates.next().value());
  Process trains("rider", {"batch=64", "epochs=40", "pause_us=1000"});
  static_cast<void>(trains.expect("attached"));
  const auto end_loop = [&] {
    while (const auto batch = validates.next()) checker.see(*batch);
  };
  const bool pauses = GENERATE(false, true);  // then no one waits for it
  if (pauses) end_loop();
  pause_us(300'000);
  first.kill();
  static_cast<void>(first.wait());
  first = serve_again();
  pause_us(600'000);
  if (!pauses) end_loop();
  CHECK(checker.fault() == "");
  CHECK(checker.next() == epoch_samples);
  static_cast<void>(expect_sound(trains, "left", 30'000));
}

TEST_CASE("a group that comes before the trainers begins where the stream goes on",
          "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again();
  ConsumerOptions options = stream_options();
  options.batch_size = 64;
  Consumer validates(options);
  Checker checker(epoch_samples);
  for (int i = 0; i < 25; ++i) checker.see(validates.next().value());
  pause_us(1'500'000);  // its place is noted
  first.kill();
  static_cast<void>(first.wait());
  Process second = serve_again();
  std::vector<Process> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back("rank", std::vector<std::string>{"group=g", "rank=" + std::to_string(rank),
                                                        "world=2", "batch=50", "epochs=2"});
  }
  for (Process& rank : ranks) {  // the place of the other one is kept
    CHECK(rank.expect("attached").number("cursor") == epoch_samples);
  }
  while (checker.next() < 3 * epoch_samples) {
    if (const auto batch = validates.next()) checker.see(*batch);
  }
  CHECK(checker.fault() == "");
  for (Process& rank : ranks) {
    static_cast<void>(rank.expect("loop"));
    static_cast<void>(rank.expect("loop"));
    const Words words = rank.expect("done");
    INFO(words.line());
    CHECK(words.text("sound") == "yes");
    CHECK(words.text("over") == "left");
    CHECK(words.number("cursor") == 3 * epoch_samples);
  }
}

TEST_CASE("a trainer that dies meanwhile gives its place up", "[ride][short]") {
  const OwnDirectory directory;
  const bool forks = GENERATE(false, true);  // a child that lives on keeps no place
  Process first = serve_again();
  std::vector<std::string> words = {"batch=50", "stops_after=10"};
  if (forks) words.emplace_back("forks=1");
  Process dies("rider", words);
  static_cast<void>(dies.expect("stops"));
  Process trains("rider", {"batch=64", "epochs=4"});
  static_cast<void>(trains.expect("attached"));
  pause_us(100'000);
  first.kill();
  static_cast<void>(first.wait());
  const bool before = GENERATE(false, true);
  if (before) dies.kill();
  Process second = serve_again();
  if (!before) {
    pause_us(500'000);  // its place is kept by now
    dies.kill();
  }
  static_cast<void>(expect_sound(trains, "left"));
  second.tell("stop");
  static_cast<void>(second.wait());
}

TEST_CASE("a trainer that asks for errors gets ProducerGone", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=1000"});
  ConsumerOptions options = stream_options();
  options.batch_size = 64;
  options.on_producer_gone = OnProducerGone::error;
  Consumer consumer(options);
  static_cast<void>(consumer.next());
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  std::uint64_t last = 0;
  CHECK_THROWS_AS(
      [&] {
        for (;;) last = consumer.next().value().size();
      }(),
      ProducerGone);
  CHECK(last == 1'000 % 64);  // all that there is, as ever
}

TEST_CASE("a wait for the next producer ends, and the next call waits again", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=1000"});
  ConsumerOptions options = stream_options();
  options.batch_size = 100;
  options.gone_timeout_s = 0.3;
  std::string told;
  options.log = [&](LogLevel, std::string_view line) { told += line; };
  Consumer consumer(options);
  for (int i = 0; i < 9; ++i) static_cast<void>(consumer.next().value());
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  static_cast<void>(consumer.next().value());
  std::string why;
  try {
    static_cast<void>(consumer.next());
  } catch (const ProducerGone& gone) {
    why = gone.what();
  }
  CHECK(why.find("position 1000") != std::string::npos);
  CHECK(why.find("0.3 s") != std::string::npos);
  Process second = serve_again();
  CHECK(consumer.next().value().position() == 1'000);
}

TEST_CASE("a wait for a place with the next producer ends, and says why", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=640", "wait_for=2"});
  Process other("rider", {"batch=64", "stops_after=3"});
  ConsumerOptions options = stream_options();
  options.batch_size = 64;
  options.gone_timeout_s = 1;
  std::string told;
  options.log = [&](LogLevel, std::string_view line) { told += line; };
  Consumer consumer(options);
  static_cast<void>(other.expect("stops"));  // it lives, and its place is kept
  for (int i = 0; i < 10; ++i) static_cast<void>(consumer.next().value());
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  const bool is_stopped = GENERATE(false, true);
  Process second = serve_again({"max_consumers=1"});
  if (is_stopped) second.signal(SIGSTOP);
  const std::uint64_t began_ns = now_ns();
  std::string why;
  try {
    static_cast<void>(consumer.next());
  } catch (const ProducerGone& gone) {
    why = gone.what();
  }
  CHECK(seconds_from_ns(now_ns() - began_ns) < 20);
  INFO(why << "; " << told);
  const std::string reason = is_stopped ? "is stopped" : "--max-consumers";
  CHECK(why.find("did not let this consumer in within 1 s") != std::string::npos);
  CHECK(why.find(reason) != std::string::npos);
  CHECK(told.find(reason) != std::string::npos);
  second.signal(SIGCONT);
}

TEST_CASE("a wait for the next producer is given up by while_waiting", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=1000"});
  ConsumerOptions options = stream_options();
  options.batch_size = 1'000;
  bool gives_up = false;
  options.while_waiting = [&] {
    if (gives_up) throw std::runtime_error("enough");
  };
  Consumer consumer(options);
  static_cast<void>(consumer.next().value());
  first.kill();
  static_cast<void>(first.wait());
  gives_up = true;
  const std::uint64_t began_ns = now_ns();
  CHECK_THROWS_WITH(consumer.next(), "enough");
  CHECK(seconds_from_ns(now_ns() - began_ns) < (slow_build() ? 2 : 0.3));
  gives_up = false;
  Process second = serve_again();
  CHECK(consumer.next().value().position() == 1'000);
}

TEST_CASE("a producer of another recipe is refused by those that ride", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=1000"});
  ConsumerOptions options = stream_options();
  options.batch_size = 1'000;
  Consumer consumer(options);
  static_cast<void>(consumer.next().value());
  first.kill();
  static_cast<void>(first.wait());
  Process second = serve_again({"recipe=another"});
  CHECK_THROWS_AS(consumer.next(), RecipeMismatch);
  second.kill();
  static_cast<void>(second.wait());
  Process third = serve_again();
  CHECK(consumer.next().value().position() == 1'000);
}

TEST_CASE("a producer that is stopped in order ends its trainers", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again();
  Process rider("rider", {"batch=64", "pause_us=1000"});
  static_cast<void>(rider.expect("attached"));
  first.tell("stop");
  static_cast<void>(first.wait());
  static_cast<void>(expect_sound(rider, "Stopped"));
}

TEST_CASE("a trainer without memory for the next ring keeps its place", "[ride][short]") {
  const OwnDirectory directory;
  const std::string memory = "memory=67108864";
  Process first = serve_again({"stop_at=640", memory});
  // Address space, or descriptors: for none, for a connection, for parts of what comes with a
  // place.
  const std::string lacks =
      GENERATE("space=none", "descriptors=0", "descriptors=1", "descriptors=3", "descriptors=5");
  CAPTURE(lacks);
  Process starved("starved_rider", {"batch=64", "before=10", "after=40", lacks});
  static_cast<void>(starved.expect("stands"));
  first.expect("made");
  first.kill();
  static_cast<void>(first.wait());
  starved.tell("it is dead");
  static_cast<void>(starved.expect("starves"));
  Process second = serve_again({"n=3000", memory});
  // Where the place were given up, this one would read on, and the ring would lose those samples.
  // A trainer that has a connection, and not what comes with a place, gives the place back.
  const bool keeps_place = lacks == "space=none" || lacks == "descriptors=0";
  Process other;
  if (keeps_place) {
    other = Process("rider", {"batch=250", "epochs=0"});
    static_cast<void>(other.expect("attached"));
  }
  pause_us(700'000);
  starved.tell("there is room");
  const Words words = starved.expect("done");
  INFO(words.line());
  CHECK(words.text("over") == "left");
  CHECK(words.text("sound") == "yes");
  if (lacks == "space=none") CHECK(words.text("tried") == "yes");
}

TEST_CASE("what a trainer holds of a loop that it left does not end its ride", "[ride][short]") {
  const OwnDirectory directory;
  Process first = serve_again({"stop_at=1700"});  // a ring has no epoch
  ConsumerOptions options = quiet(64);
  Consumer consumer(options);
  std::optional<Batch> held;
  const bool dies_in_loop = GENERATE(true, false);
  const auto kill = [&] {
    first.kill();
    static_cast<void>(first.wait());
  };
  first.expect("made");
  for (Batch& batch : consumer) {
    held = batch.share();
    if (dies_in_loop) kill();
    break;
  }
  if (!dies_in_loop) kill();
  CHECK(consumer.try_next(200).outcome == Outcome::timed_out);
  Process second = serve_again();
  CHECK(consumer.next().value().position() == epoch_samples);
  CHECK(fault_of(*held) == "");
}

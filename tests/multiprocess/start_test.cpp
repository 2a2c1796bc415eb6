// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "control/transport.hpp"
#include "process.hpp"
#include "start_support.hpp"
#include "stream/stream_directory.hpp"

#include <batchcast/batchcast.hpp>

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

TEST_CASE("of many trainers that come at once one starts the producer", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  const std::string threads = GENERATE("threads=1", "threads=3");
  std::vector<Process> trainers;
  for (int i = 0; i < 8; ++i) trainers.push_back(trainer(ledger.words(), {threads}));
  for (Process& one : trainers) static_cast<void>(one.expect("attached"));
  CHECK(ledger.runs() == 1);
  static_cast<void>(ledger.serving());
  CHECK(ledger.lines("serves").size() == 1);
  for (Process& one : trainers) leave(one);
  end(ledger, directory);
  CHECK(ledger.runs() == 1);
}

TEST_CASE("a started producer is nobody's child and has nothing of its starter's",
          "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words(), {"odd_signals=yes"});
  const Words attached = first.expect("attached");
  CHECK(attached.text("childless") == "yes");
  CHECK(attached.text("name") == "c");  // it has not met itself on its way in
  const Words producer = ledger.serving();
  const auto pid = static_cast<pid_t>(producer.number("pid"));
  CHECK(producer.text("descriptors") == "0,1,2");
  CHECK(std::stoull(producer.text("blocked"), nullptr, 16) == 0);
  // Under sanitizers a run time of its own may ignore some.
  CHECK((std::stoull(producer.text("ignored"), nullptr, 16) & (1U << (SIGINT - 1))) == 0);
  CHECK(producer.number("session") != ::getsid(0));
  CHECK(producer.number("session") != pid);  // and it cannot get a terminal
  CHECK(producer.text("directory") == std::filesystem::current_path());
  CHECK(eventually([&] { return parent_of(pid) != first.pid(); }));
  CHECK(parent_of(pid) != ::getpid());

  first.kill();
  static_cast<void>(first.wait());
  CHECK(runs(pid));
  Process second = trainer(ledger.words());
  static_cast<void>(second.expect("attached"));
  CHECK(ledger.runs() == 1);
  leave(second);
  end(ledger, directory);
}

TEST_CASE("a starter that is killed leaves its producer to the others", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words_with_gate());
  static_cast<void>(first.expect("starts"));
  REQUIRE(eventually([&] { return ledger.runs() == 1; }));
  Process second = trainer(ledger.words_with_gate());
  static_cast<void>(second.expect("waits"));
  first.kill();
  static_cast<void>(first.wait());
  Process third = trainer(ledger.words_with_gate());
  pause_us(50'000);  // long enough for either to start another one, if it would
  ledger.open_gate();
  static_cast<void>(second.expect("attached"));
  static_cast<void>(third.expect("attached"));
  CHECK(ledger.runs() == 1);
  leave(second);
  leave(third);
  end(ledger, directory);
}

TEST_CASE("a starter may be killed at any moment", "[start][short]") {
  std::mt19937_64 random(test_seed("starters killed"));
  for (std::uint64_t round = 0; round < scaled(15, 3); ++round) {
    const OwnDirectory directory;
    const Ledger ledger;
    Process first = trainer(ledger.words());
    pause_us(random() % 15'000 * (slow_build() ? 10 : 1));
    first.kill();
    Process second = trainer(ledger.words());
    Process third = trainer(ledger.words());
    static_cast<void>(first.wait());
    static_cast<void>(second.expect("attached"));
    static_cast<void>(third.expect("attached"));
    static_cast<void>(ledger.serving());
    CHECK(ledger.lines("serves").size() == 1);
    CHECK(ledger.runs() == 1);
    leave(second);
    leave(third);
    end(ledger, directory);
  }
}

TEST_CASE("all who waited for a start that fails are told why", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  const std::string how = GENERATE("fail=no_such_file", "fail=kill");
  std::vector<Process> trainers;
  trainers.push_back(trainer(ledger.words_with_gate(), {how}));
  static_cast<void>(trainers.back().expect("starts"));
  for (int i = 0; i < 3; ++i) {
    trainers.push_back(trainer(ledger.words_with_gate(), {how}));
    static_cast<void>(trainers.back().expect("waits"));
  }
  ledger.open_gate();
  for (Process& one : trainers) {
    const Words words = one.expect("threw");
    CHECK(words.text("kind") == "StartFailed");
    CHECK_THAT(words.line(), Contains("the dataset is broken: " + how.substr(5)));
    CHECK_THAT(words.line(), Contains(how == "fail=kill" ? "signal 9 (Killed)" : "exit code 7"));
    CHECK_THAT(words.line(), Contains("serve synthetic:3x8x8 --stream s"));
  }
  CHECK(ledger.runs() == 1);
  CHECK(std::filesystem::exists(directory.path() + "/s/serve.log"));  // to be read

  Process same_again = trainer(ledger.words_with_gate(), {how});  // who comes later tries anew
  CHECK(same_again.expect("threw").text("kind") == "StartFailed");
  CHECK(ledger.runs() == 2);
  Process another = trainer(ledger.words());
  static_cast<void>(another.expect("attached"));
  CHECK(ledger.runs() == 3);
  leave(another);
  end(ledger, directory);
}

TEST_CASE("who waited for a start of something else starts what it wants", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process wrong = trainer(ledger.words_with_gate(), {"fail=no_such_file"});
  static_cast<void>(wrong.expect("starts"));
  Process right = trainer(ledger.words());
  static_cast<void>(right.expect("waits"));
  ledger.open_gate();
  CHECK(wrong.expect("threw").text("kind") == "StartFailed");
  static_cast<void>(right.expect("attached"));
  leave(right);
  end(ledger, directory);
}

TEST_CASE("a command that cannot be run is named", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  const std::string file =
      std::filesystem::temp_directory_path() / ("bc-no-" + std::to_string(::getpid()));
  std::ofstream(file) << "\x7f"
                         "ELF, but no program";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  Process one = trainer(ledger.words(), {"command=" + file});
  const Words words = one.expect("threw");
  std::filesystem::remove(file);
  CHECK(words.text("kind") == "StartFailed");
  CHECK_THAT(words.line(), Contains(file) && Contains("cannot be run: Exec format error"));
}

TEST_CASE("a start that takes too long is waited for by whoever comes next", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words_with_gate(), {"connect_ms=300"});
  const Words words = first.expect("threw");
  CHECK(words.text("kind") == "StreamNotFound");
  CHECK_THAT(words.line(), Contains("connect_timeout_ms") && Contains("serve.log"));
  take_what_was_started(ledger, directory);
}

TEST_CASE("a killed producer is replaced by a trainer that rides", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words());
  static_cast<void>(first.expect("attached"));
  ::kill(static_cast<pid_t>(ledger.serving().number("pid")), SIGKILL);
  CHECK(eventually([&] { return ledger.lines("serves").size() == 2; }));
  Process second = trainer(ledger.words());
  static_cast<void>(second.expect("attached"));
  CHECK(ledger.runs() == 2);
  leave(second);
  leave(first);  // it goes on, too
  end(ledger, directory);
}

TEST_CASE("a started producer ends when its trainers are gone for long enough", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words(), {"idle_exit=0.4"});
  static_cast<void>(first.expect("attached"));
  pause_us(600'000);  // it is not the time that it serves
  CHECK_FALSE(ledger.all_gone(0));
  ConsumerOptions onlooker;
  onlooker.stream = "s";
  onlooker.observes = true;
  const Consumer looking(onlooker);
  leave(first);
  check_nothing_stays(ledger, directory);  // whoever looks on
}

TEST_CASE("who comes while a producer ends for want of trainers gets the next one",
          "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  std::mt19937_64 random(test_seed("idle exits"));
  ConsumerOptions options;
  options.stream = "s";
  options.connect_timeout_ms = 20'000;
  options.start.source = "synthetic:3x8x8";
  options.start.command = "/proc/self/exe";
  options.start.memory = 512 << 10;
  options.start.idle_exit_s = 0.02;
  options.start.arguments = ledger.words();
  for (std::uint64_t round = 0; round < scaled(40, 5); ++round) {
    {
      Consumer consumer(options);
      for (int i = 0; i < 3; ++i) REQUIRE(consumer.next().has_value());
    }
    pause_us(10'000 + random() % 30'000);
  }
  CHECK(ledger.runs() > 1);
  check_nothing_stays(ledger, directory);
  CHECK(ledger.runs() == ledger.lines("serves").size());
}

TEST_CASE("a stream of another recipe is refused with what differs", "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  Process first = trainer(ledger.words(), {"seed=1"});
  static_cast<void>(first.expect("attached"));
  Process second = trainer(ledger.words(), {"seed=2", "source=synthetic:3x8x9"});
  const Words words = second.expect("threw");
  CHECK(words.text("kind") == "RecipeMismatch");
  CHECK_THAT(words.line(), Contains("seed: the stream has 1, asked for 2"));
  CHECK_THAT(words.line(), Contains("shape: the stream has [3,8,8], asked for [3,8,9]"));
  leave(first);
  end(ledger, directory);
}

TEST_CASE("who comes while the last epoch's end is read waits for the next stream",
          "[start][short]") {
  const OwnDirectory directory;
  const Ledger ledger;
  ConsumerOptions options;
  options.stream = "s";
  options.batch_size = 100;
  options.start.source = "synthetic:3x8x8";
  options.start.command = "/proc/self/exe";
  options.start.memory = 512 << 10;  // some 650 samples of an epoch of 1,000
  options.start.epochs = 1;
  options.start.arguments = ledger.words();
  options.start.arguments.emplace_back("--samples=1000");
  std::optional<Consumer> slow(options);
  // Of the last batches some are still to be read, and the epoch's beginning is gone.
  for (int i = 0; i < 5; ++i) REQUIRE(slow->next().has_value());
  const std::string control = find_stream("s").places.at(0).control;
  REQUIRE(eventually([&] {
    const auto stats = ask_control(control, R"({"command":"stats"})", 1'000);
    return stats && Contains("\"published\":1000").match(*stats);
  }));
  ConsumerOptions hurried = options;
  hurried.connect_timeout_ms = 1'000;
  CHECK_THROWS_AS(Consumer(hurried), StreamFinished);
  CHECK_THROWS_WITH(Consumer(hurried), Contains("All its epochs are made"));
  Process next = trainer(ledger.words(), {"of_epochs=1", "--samples=1000"});
  static_cast<void>(next.expect("waits for the end"));
  CHECK(ledger.runs() == 1);
  slow.reset();
  static_cast<void>(next.expect("attached"));
  CHECK(ledger.runs() == 2);
  next.kill();  // it may have read its epoch by now, or not
  static_cast<void>(next.wait());
  end(ledger, directory);
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/deadline.hpp>
#include <batchcast/starting/start_command.hpp>
#include "control/control_support.hpp"
#include "read_all.hpp"
#include "start/serve_log.hpp"
#include "start/start_lock.hpp"

#include <batchcast/batchcast.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using namespace batchcast::detail;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) { return fs::exists(path); }

std::string make_program(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

}  // namespace

TEST_CASE("the command is looked for where the header says, in that order") {
  const TemporaryDirectory base;
  const fs::path root(base.path());
  const Environment unset("BATCHCAST_COMMAND", nullptr);
  CommandPlaces places;
  places.program = (root / "build/examples/05").string();
  places.path = (root / "nowhere").string() + ":" + (root / "path").string();
  places.installed = (root / "installed/batchcast").string();
  places.own = (root / "own/batchcast").string();

  CHECK_THROWS_AS(find_command("", places), StartFailed);
  CHECK_THROWS_WITH(find_command("", places),
                    Contains((root / "build/examples/batchcast").string()) &&
                        Contains((root / "build/bin/batchcast").string()) &&
                        Contains((root / "build/batchcast").string()) &&
                        Contains((root / "path/batchcast").string()) &&
                        Contains(places.installed) && Contains("Set BATCHCAST_COMMAND"));
  // From the last place to the first.
  for (const fs::path& place :
       {root / "path/batchcast", root / "installed/batchcast", root / "build/batchcast",
        root / "build/bin/batchcast", root / "build/examples/batchcast", root / "own/batchcast"}) {
    CHECK(find_command("", places) == make_program(place));
  }
  const std::string named = make_program(root / "other");
  {
    const Environment variable("BATCHCAST_COMMAND", named.c_str());
    CHECK(find_command("", places) == named);
    CHECK(find_command("batchcast", places) == (root / "path/batchcast").string());
  }
  const Environment wrong("BATCHCAST_COMMAND", "/no/such/file");
  CHECK_THROWS_WITH(find_command("", places),
                    Contains("BATCHCAST_COMMAND") && Contains("/no/such/file"));
  CHECK(find_command(named, places) == named);
  CHECK_THROWS_WITH(find_command("no-such-command", places), Contains("on the PATH"));
}

TEST_CASE("folders and files that cannot be run are not taken for the command") {
  const TemporaryDirectory base;
  const fs::path root(base.path());
  const Environment unset("BATCHCAST_COMMAND", nullptr);
  CommandPlaces places;
  places.program = (root / "a/b/program").string();
  fs::create_directories(root / "a/b/batchcast");
  std::ofstream(root / "a/batchcast") << "text";
  CHECK_THROWS_AS(find_command("", places), StartFailed);
}

TEST_CASE("the place that a CMake package says is looked at") {
  CHECK(note_installed_command("/opt/batchcast/bin/batchcast"));
  CHECK(command_places().installed == "/opt/batchcast/bin/batchcast");
}

TEST_CASE("the command that a program brings along is looked at") {
  note_own_command("/opt/own/batchcast");
  CHECK(command_places().own == "/opt/own/batchcast");
  note_own_command(nullptr);
}

TEST_CASE("ensure gets what the options say") {
  StartTarget target{.stream = "s"};
  StartOptions options;
  options.source = "imagefolder:a b";
  options.recipe = "imagenet-train";
  options.seed = 7;
  options.memory = 1'000'000;
  options.epochs = 3;
  options.wait_for = 2;
  options.idle_exit_s = 0.5;
  options.arguments = {"--workers", "2"};
  CHECK(shell_text(ensure_words("/bin/batchcast", target, options)) ==
        "/bin/batchcast ensure s 'imagefolder:a b' --with-parent --timeout 30 "
        "--recipe imagenet-train --seed 7 --memory 1000000 --epochs 3 --wait-for 2 "
        "--idle-exit 0.5 --workers 2");
  target = {.stream = "s", .directory = "/d", .timeout_ms = 1'500, .allow_uids = {7, 8}};
  options = {.source = "synthetic:8", .idle_exit_s = -1};
  CHECK(shell_text(ensure_words("batchcast", target, options)) ==
        "batchcast ensure s synthetic:8 --with-parent --timeout 1.5 --directory /d --trust-uid 7 "
        "--trust-uid 8 --memory 268435456");
  // A seed that is given is said, though it is the default.
  options.seed = 0;
  CHECK_THAT(shell_text(ensure_words("batchcast", target, options)), Contains(" --seed 0 "));
  target.timeout_ms = -5;
  CHECK_THAT(shell_text(ensure_words("batchcast", target, options)), Contains("--timeout -1 "));
  // The command would refuse these too, but by the name of its own option.
  options.idle_exit_s = GENERATE(0.0, 2'000'001.0, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_WITH(ensure_words("batchcast", target, options),
                    Contains("idle_exit_s") && Contains("at most 2000000"));
  options.idle_exit_s = limits::waiting_seconds_max;
  CHECK_NOTHROW(ensure_words("batchcast", target, options));
  CHECK_THROWS_AS(ensure_words("batchcast", target, {}), InvalidArgument);
  options = {.source = "synthetic:8", .arguments = {"--seed=3"}};
  CHECK_THROWS_WITH(ensure_words("batchcast", target, options), Contains("--seed"));
  const std::string twice =
      GENERATE("--recipe", "--recipe=mnist", "--seed", "--idle-exit=3", "--timeout");
  options = {.source = "synthetic:8", .arguments = {twice, "mnist"}};
  CHECK_THROWS_WITH(ensure_words("batchcast", target, options),
                    Contains(twice.substr(0, twice.find('='))) && Contains("StartOptions"));
  CHECK(shell_text({"it's"}) == "'it'\\''s'");
}

TEST_CASE("a time-out with some more time never gets out of an int") {
  constexpr int most = std::numeric_limits<int>::max();
  CHECK(longer_timeout(1'000, 500) == 1'500);
  CHECK(longer_timeout(most, 500) == most);
  CHECK(longer_timeout(most - 500, 500) == most);
  CHECK(longer_timeout(-7, 500) == -1);
}

TEST_CASE("the end of a log is shown, line by line") {
  const TemporaryDirectory base;
  const std::string path = base.path() + "/log";
  CHECK(last_lines(path) == "");
  std::ofstream(path) << "one\n\ntwo\nthree";
  CHECK(last_lines(path) == "\n  one\n  two\n  three");
  {
    std::ofstream file(path);
    for (int i = 0; i < 10'000; ++i) file << "line " << i << "\n";
  }
  const std::string shown = last_lines(path);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 20);
  CHECK_THAT(shown, Catch::Matchers::EndsWith("\n  line 9999"));
}

TEST_CASE("one of those who queue holds the start lock, and a failure reaches only them") {
  const TemporaryDirectory base;
  std::optional<StartLock> holder(std::in_place, base.path(), "s");
  REQUIRE(holder->try_take());
  CHECK_FALSE(holder->failed_meanwhile());
  StartLock waiter(base.path(), "s");
  REQUIRE_FALSE(waiter.try_take());
  holder->tell_failure({{"batchcast", "serve"}, "no such file"});
  CHECK_FALSE(waiter.try_take());
  holder.reset();
  REQUIRE(waiter.try_take());
  const auto failure = waiter.failed_meanwhile();
  REQUIRE(failure);
  CHECK(failure->text == "no such file");
  CHECK(failure->words == std::vector<std::string>{"batchcast", "serve"});
  StartLock later(base.path(), "s");
  CHECK_FALSE(later.try_take());
  CHECK_FALSE(later.failed_meanwhile());
  waiter.tell_failure({{"batchcast"}, std::string(60'000, 'x')});
  waiter.tell_failure({{"batchcast"}, "\xff is no UTF-8"});
  REQUIRE(later.failed_meanwhile());
  CHECK_THAT(later.failed_meanwhile()->text, Contains("is no UTF-8"));
}

TEST_CASE("a start lock whose file was replaced is taken at its new place") {
  const TemporaryDirectory base;
  std::optional<StartLock> first(std::in_place, base.path(), "s");
  REQUIRE(first->try_take());
  StartLock second(base.path(), "s");
  REQUIRE_FALSE(second.try_take());
  fs::remove_all(base.path() + "/s");
  REQUIRE(second.try_take());
  StartLock third(base.path(), "s");
  CHECK_FALSE(third.try_take());
  first.reset();  // lets go of what nobody can see any more
  CHECK_FALSE(third.try_take());
}

TEST_CASE("a producer's end leaves nothing but what a start under way needs") {
  const TemporaryDirectory base;
  const StreamPaths paths = stream_paths(base.path(), "s");
  std::optional<StartLock> start(std::in_place, base.path(), "s");
  REQUIRE(start->try_take());
  static_cast<void>(start->make_log());
  std::optional<StreamDirectory> directory(
      std::in_place, StreamDirectory::Options{.stream = "s", .base = base.path()});
  SECTION("a start is under way") {
    directory->forget_log();
    directory.reset();
    CHECK(exists(paths.start));
    CHECK(exists(paths.log));
    CHECK_FALSE(exists(paths.lock));
  }
  SECTION("it failed") {
    start.reset();
    directory.reset();
    CHECK(exists(paths.log));
    CHECK_FALSE(exists(paths.start));
    CHECK_FALSE(exists(paths.lock));
  }
  SECTION("it came to its end") {
    start.reset();
    directory->forget_log();
    directory.reset();
    CHECK_FALSE(exists(paths.directory));
  }
}

TEST_CASE("a stream is stopped for want of consumers only when nobody was attached for so long") {
  const TemporaryDirectory base;
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.directory = base.path();
  Producer producer(made);
  ConsumerOptions options;
  options.stream = "s";
  options.directory = base.path();
  options.observes = true;
  const Consumer onlooker(options);  // who is nobody
  options.observes = false;
  CHECK_FALSE(producer.stop_if_unattended(3'600, "idle"));
  std::optional<Consumer> consumer(std::in_place, options);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK_FALSE(producer.stop_if_unattended(0, "idle"));
  const std::uint64_t left_ns = now_ns();
  consumer.reset();
  while (producer.stats().consumers.size() > 1) std::this_thread::yield();
  if (producer.stop_if_unattended(0.5, "idle")) {
    CHECK(seconds_from_ns(now_ns() - left_ns) >= 0.5);  // it did not leave just now
  } else {
    CHECK(producer.stop_if_unattended(0, "idle"));
  }
  CHECK(producer.stats().state == StreamState::stopped);
  CHECK_FALSE(producer.stop_if_unattended(0, "idle"));
  CHECK_THROWS_AS(Consumer(options), Stopped);
}

TEST_CASE("a stream that all have read lets nobody in any more") {
  const TemporaryDirectory base;
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.samples_per_epoch = 10;
  made.epochs = 1;
  made.directory = base.path();
  Producer producer(made);
  ConsumerOptions options;
  options.stream = "s";
  options.directory = base.path();
  read_all(producer, base.path());
  CHECK_THROWS_AS(Consumer(options), StreamFinished);
}

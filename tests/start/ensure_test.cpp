// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "start/ensure.hpp"
#include <batchcast/starting/start_answer.hpp>
#include "control/control_support.hpp"
#include "read_all.hpp"
#include "start/recipe_check.hpp"
#include "start/serve_log.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/data/synthetic.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using namespace batchcast::detail;
using Catch::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

std::string make_command(const TemporaryDirectory& base, const std::string& script) {
  const std::string path = base / "command";
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

/// What a trainer that asks `command` is told: the exception's text behind its kind.
std::string told(const TemporaryDirectory& base, const std::string& script,
                 int timeout_ms = 60'000) {
  const StartTarget target{.stream = "s", .directory = base.path(), .timeout_ms = timeout_ms};
  const StartOptions options{.source = "synthetic:8", .command = make_command(base, script)};
  try {
    ensure_served(target, options);
  } catch (const RecipeMismatch& error) {
    return std::string("RecipeMismatch ") + error.what();
  } catch (const StartFailed& error) {
    return std::string("StartFailed ") + error.what();
  } catch (const StreamNotFound& error) {
    return std::string("StreamNotFound ") + error.what();
  } catch (const Refused& error) {
    return std::string("Refused ") + error.what();
  } catch (const InvalidArgument& error) {
    return std::string("InvalidArgument ") + error.what();
  }
  return "served";
}

SyntheticRecipe recipe_of(std::uint64_t seed) {
  SyntheticRecipe recipe = SyntheticRecipe::parse("synthetic:8");
  recipe.seed = seed;
  recipe.samples_per_epoch = 10;
  return recipe;
}

ProducerOptions stream_with(const TemporaryDirectory& base, std::uint64_t seed) {
  ProducerOptions made;
  made.stream = "s";
  made.schema = {{"x", DType::u8, {8}}};
  made.memory = 1 << 16;
  made.samples_per_epoch = 10;
  made.recipe_json = recipe_of(seed).to_json();
  made.directory = base.path();
  return made;
}

EnsureRequest request_for(const TemporaryDirectory& base, std::uint64_t seed) {
  EnsureRequest request;
  request.stream = "s";
  request.directory = base.path();
  request.timeout_ms = 20'000;
  request.serve = {"/no/such/command", "serve"};
  request.asked = {.source = "synthetic:8", .seed = seed, .arguments = {"--samples=10"}};
  return request;
}

}  // namespace

TEST_CASE("ensure says in a word what it found") {
  const TemporaryDirectory base;
  SECTION("served") {
    const Producer producer(stream_with(base, 1));
    const EnsureAnswer answer = ensure(request_for(base, 1));
    CHECK(answer.word == ensure_word::served);
    CHECK(answer.recipe_json == recipe_of(1).to_json());
    CHECK(producer.stats().state == StreamState::starting);
  }
  SECTION("mismatch, word for word") {
    const Producer producer(stream_with(base, 1));
    const EnsureRequest request = request_for(base, 2);
    std::string text;
    try {
      check_recipe("s", recipe_of(1).to_json(), request.asked);
    } catch (const RecipeMismatch& mismatch) {
      text = mismatch.what();
    }
    const EnsureAnswer answer = ensure(request);
    CHECK(answer.word == ensure_word::mismatch);
    CHECK(answer.text == text);
    CHECK_THAT(text, Contains("seed: the stream has 1, asked for 2"));
  }
  SECTION("invalid") {
    const Producer producer(stream_with(base, 1));
    EnsureRequest request = request_for(base, 1);
    request.asked.arguments = {"--samples=many"};
    CHECK(ensure(request).word == ensure_word::invalid);
    request.stream = "a/b";
    CHECK(ensure(request).word == ensure_word::invalid);
  }
  SECTION("refused") {
    ProducerOptions made = stream_with(base, 1);
    made.epochs = 1;
    Producer producer(std::move(made));
    read_all(producer, base.path());
    const EnsureAnswer answer = ensure(request_for(base, 1));
    CHECK(answer.word == ensure_word::refused);
    CHECK_FALSE(answer.text.empty());
  }
  SECTION("failed") {
    EnsureRequest request = request_for(base, 1);
    CHECK(ensure(request).word == ensure_word::failed);
    request.serve = {make_command(base, "echo no such dataset; exit 7"), "serve"};
    const EnsureAnswer answer = ensure(request);
    CHECK(answer.word == ensure_word::failed);
    CHECK_THAT(answer.text, Contains("exit code 7") && Contains("\n  no such dataset"));
  }
  SECTION("timeout") {
    EnsureRequest request = request_for(base, 1);
    request.timeout_ms = 200;
    request.serve = {make_command(base, "echo opening; exec sleep 20"), "serve"};
    const EnsureAnswer answer = ensure(request);
    CHECK(answer.word == ensure_word::timeout);
    CHECK_THAT(answer.text, Contains("goes on"));
    // The command's start may take longer than that: a second request shows what it said.
    const std::string log = stream_paths(base.path(), "s").log;
    REQUIRE(holds_within(10'000, [&] { return last_lines(log) == "\n  opening"; }));
    const EnsureAnswer later = ensure(request);
    CHECK(later.word == ensure_word::timeout);
    CHECK_THAT(later.text, Contains("does not serve it yet") && Contains("\n  opening"));
  }
}

namespace {

/// A stream of one epoch that is made, with a trainer that has not read all of it.
class Ending {
 public:
  /// `samples` that fit into the ring or not: where they do, a second trainer would be let in.
  Ending(const TemporaryDirectory& base, std::uint64_t samples) {
    ProducerOptions made = stream_with(base, 1);
    made.schema = {{"x", DType::u8, {4096}}};
    made.samples_per_epoch = samples;
    made.epochs = 1;
    producer_.emplace(std::move(made));
    reader_ = attached(base);
    for (std::uint64_t published = 0; published < samples;) {
      if (auto loan = producer_->try_loan(1, 0)) {
        loan->publish();
        ++published;
      } else {
        REQUIRE(reader_->next());
      }
    }
    REQUIRE(producer_->stats().state == StreamState::draining);
  }

  static std::unique_ptr<Consumer> attached(const TemporaryDirectory& base) {
    ConsumerOptions options;
    options.stream = "s";
    options.batch_size = 1;
    options.directory = base.path();
    options.connect_timeout_ms = 0;
    return std::make_unique<Consumer>(options);
  }
  static void read_all(Consumer& consumer) {
    while (consumer.next()) {
    }
  }
  void read_to_the_end() {
    read_all(*reader_);
    reader_.reset();
    REQUIRE(holds_within(10'000, [&] {
      const std::vector<ConsumerInfo> consumers = producer_->stats().consumers;
      return std::all_of(consumers.begin(), consumers.end(), [](const ConsumerInfo& one) {
        return one.state == ConsumerState::observing;
      });
    }));
  }
  [[nodiscard]] Producer& producer() { return *producer_; }
  void end() { producer_.reset(); }

 private:
  std::optional<Producer> producer_;
  std::unique_ptr<Consumer> reader_;
};

constexpr std::uint64_t more_than_fits = 100;
constexpr std::uint64_t few = 4;

}  // namespace

TEST_CASE("ensure does not say `served` of a stream that lets no trainer in any more") {
  const TemporaryDirectory base;
  Ending ending(base, more_than_fits);
  EnsureRequest request = request_for(base, 1);
  REQUIRE_THROWS_AS(Ending::attached(base), StreamFinished);
  SECTION("it waits until it is read and its producer is gone, and starts the next") {
    const std::string started = base / "started";
    request.serve = {make_command(base, "touch " + started + "; exit 7"), "serve"};
    std::atomic<bool> waits = false;
    request.log = [&](LogLevel, std::string_view text) {
      if (text.find("waiting for the end of stream `s`") != std::string_view::npos) waits = true;
    };
    std::future<EnsureAnswer> asked =
        std::async(std::launch::async, [&] { return ensure(request); });
    REQUIRE(holds_within(10'000, [&] { return waits.load(); }));
    CHECK_FALSE(fs::exists(started));
    ending.read_to_the_end();
    REQUIRE(ending.producer().finish(10'000));
    ending.end();
    const EnsureAnswer answer = asked.get();
    CHECK(fs::exists(started));
    CHECK(answer.word == ensure_word::failed);
    CHECK_THAT(answer.text, Contains("exit code 7"));
  }
  SECTION("for no longer than it may") {
    request.timeout_ms = 300;
    CHECK(ensure(request).word == ensure_word::refused);
  }
  SECTION("and says at once that the stream is another one") {
    request.asked.seed = 2;
    CHECK(ensure(request).word == ensure_word::mismatch);
    CHECK(ending.producer().stats().state == StreamState::draining);
  }
}

TEST_CASE("ensure refuses a stream that all have read and whose producer stays") {
  const TemporaryDirectory base;
  Ending ending(base, few);
  ending.read_to_the_end();
  CHECK(ensure(request_for(base, 1)).word == ensure_word::refused);
}

TEST_CASE("a stream that ends waits for the trainer that ensure has promised it to") {
  const TemporaryDirectory base;
  Ending ending(base, few);
  REQUIRE(ensure(request_for(base, 1)).word == ensure_word::served);
  ending.read_to_the_end();
  CHECK_FALSE(ending.producer().finish(50));
  const auto next = Ending::attached(base);
  Ending::read_all(*next);
  CHECK(next->stats().samples == few);
  CHECK(ending.producer().finish(10'000));
}

TEST_CASE("a stream whose promised trainer does not come ends after a while") {
  const TemporaryDirectory base;
  Ending ending(base, few);
  REQUIRE(ensure(request_for(base, 1)).word == ensure_word::served);
  ending.read_to_the_end();
  CHECK(ending.producer().finish(60'000));
}

TEST_CASE("what ensure promises begins the idle time anew, and nothing else does") {
  const TemporaryDirectory base;
  Producer producer(stream_with(base, 1));
  constexpr double idle_s = 2;
  const auto idles = [] {
    std::this_thread::sleep_for(std::chrono::duration<double>(idle_s + 0.1));
  };
  idles();
  CHECK(ensure(request_for(base, 1)).word == ensure_word::served);
  CHECK_FALSE(producer.stop_if_unattended(idle_s, "idle"));
  idles();
  CHECK(ensure(request_for(base, 2)).word == ensure_word::mismatch);
  CHECK(producer.stop_if_unattended(idle_s, "idle"));
}

TEST_CASE("a trainer gets each of ensure's words as what it means") {
  const TemporaryDirectory base;
  CHECK(told(base, "printf 'served\\nall well\\nrecipe {}\\n'") == "served");
  CHECK(told(base, "printf 'mismatch\\nfirst line\\n  second: 1, 2\\n'; exit 1") ==
        "RecipeMismatch first line\n  second: 1, 2");
  CHECK(told(base, "printf 'failed\\nwhy\\n'; exit 3") == "StartFailed why");
  CHECK(told(base, "printf 'timeout\\nwhy\\n'; exit 3") == "StreamNotFound why");
  CHECK(told(base, "printf 'refused\\nwhy\\n'; exit 4") == "Refused why");
  CHECK(told(base, "printf 'invalid\\nwhy\\n'; exit 2") == "InvalidArgument why");
}

TEST_CASE("a newer command may say more, and a word too many is shown") {
  const TemporaryDirectory base;
  CHECK(told(base, "printf 'served\\nwhat: ever\\nrecipe {\"a\":1}\\nhost: b\\n'") == "served");
  CHECK_THAT(told(base, "echo postponed; exit 9"),
             StartsWith("StartFailed") &&
                 Contains("`postponed`, which this version does not know") &&
                 Contains("exit code 9"));
  CHECK_THAT(told(base, "printf 'served\\n'"),  // with what?
             StartsWith("StartFailed") && Contains("`served`"));
}

TEST_CASE("a command that is not batchcast, or is too old, is named with what it said") {
  const TemporaryDirectory base;
  CHECK_THAT(
      told(base, "echo 'The following argument was not expected: ensure' >&2; exit 2"),
      StartsWith("StartFailed") && Contains("exit code 2 without an answer") &&
          Contains("It said\n  The following argument was not expected: ensure\nIt may be") &&
          Contains("older than this library") && Contains("ensure s synthetic:8"));
  CHECK_THAT(told(base, "exit 0"), StartsWith("StartFailed") && Contains("without an answer"));
  CHECK_THAT(told(base, "head -c 100000 /dev/urandom"), StartsWith("StartFailed"));
  CHECK_THAT(told(base, "printf served"), StartsWith("StartFailed"));  // and was cut off
  CHECK_THAT(told(base, "exec yes"), StartsWith("StartFailed") && Contains("wrote without end"));
  CHECK_THAT(told(base, "kill -9 $$"), StartsWith("StartFailed") && Contains("signal 9"));
}

TEST_CASE("a command that hangs is ended soon after the time-out") {
  const TemporaryDirectory base;
  const Deadline patience(4'000);
  CHECK_THAT(told(base, "echo thinking >&2; exec sleep 60", 0),
             StartsWith("StreamNotFound") && Contains("gave no answer") && Contains("thinking"));
  CHECK_FALSE(patience.over());
}

TEST_CASE("a trainer takes only the stream that was compared") {
  const TemporaryDirectory base;
  ConsumerOptions options;
  options.stream = "s";
  options.directory = base.path();
  options.start.source = "synthetic:8";
  const std::string right = "served\\nwell\\nrecipe " + recipe_of(1).to_json();
  SECTION("another producer took over in between: it is asked for again") {
    const Producer producer(stream_with(base, 1));
    const std::string asked = base / "asked";
    options.start.command =
        make_command(base, "echo x >>" + asked + "; if [ $(grep -c . " + asked +
                               ") -lt 3 ]; then echo served; echo recipe {}; else printf '" +
                               right + "\\n'; fi");
    const Consumer consumer(options);
    std::ifstream file(asked);
    CHECK(std::count(std::istreambuf_iterator<char>(file), {}, 'x') == 3);
  }
  SECTION("one that never is what was compared is not taken") {
    const Producer producer(stream_with(base, 1));
    options.connect_timeout_ms = 300;
    options.start.command = make_command(base, "echo served; echo 'recipe {}'");
    CHECK_THROWS_AS(Consumer(options), StreamNotFound);
  }
  SECTION("nor is one that could not be compared") {
    ProducerOptions made = stream_with(base, 1);
    made.recipe_json.clear();
    const Producer producer(std::move(made));
    options.connect_timeout_ms = 300;
    options.start.command = make_command(base, "echo refused; echo full");
    CHECK_THROWS_AS(Consumer(options), StreamNotFound);
  }
  SECTION("a refusal has the type that the producer gave it") {
    ProducerOptions made = stream_with(base, 1);
    made.epochs = 1;
    Producer producer(std::move(made));
    read_all(producer, base.path());
    options.start.command = make_command(base, "echo refused; echo finished");
    CHECK_THROWS_AS(Consumer(options), StreamFinished);
    CHECK_THROWS_WITH(Consumer(options), Contains("All its epochs are made"));
  }
}

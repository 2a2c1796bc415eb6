// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Trainers with windows and budgets over the lives of their producers: they go on at the same row.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/data/random.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t samples_per_epoch = 400;

/// Most have some tokens, a few have none, or more than a window.
std::uint64_t tokens_at(std::uint64_t position) {
  const std::uint64_t drawn = detail::mix64(position);
  return drawn % 11 == 0 ? 0 : drawn % 13 == 0 ? 300 : drawn / 16 % 60;
}

std::int32_t token_at(std::uint64_t position, std::uint64_t row) {
  return static_cast<std::int32_t>(detail::mix64(position * 1'009 + row));
}

void serve_tokens(Producer& producer) {
  while (auto loan = producer.loan(3)) {
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 0; i < loan->size(); ++i) {
      counts.push_back(tokens_at(loan->position() + i));
    }
    if (!loan->take_rows("tokens", counts)) continue;
    for (std::size_t i = 0; i < loan->size(); ++i) {
      std::uint64_t row = 0;
      for (std::int32_t& token : loan->rows<std::int32_t>(i, "tokens").span()) {
        token = token_at(loan->position() + i, row++);
      }
    }
    loan->publish();
  }
}

/// Serves until the test tells it to stop, or kills it.
int token_phoenix(const Words& words) {
  ProducerOptions options;
  options.stream = "s";
  options.schema = {{"tokens", DType::i32, Axis{"tokens"}}};
  options.samples_per_epoch = samples_per_epoch;
  options.memory = 64 << 10;
  options.rows = {{"tokens", 2'000}};
  options.recipe_json = R"({"samples": "tokens by position"})";
  options.pure = true;
  // All trainers begin at 0.
  options.wait_for = static_cast<std::uint32_t>(words.number("wait_for", 3));
  options.log = [](LogLevel, std::string_view) {};
  Producer producer(std::move(options));
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { serve_tokens(producer); });
  say("serves");
  static_cast<void>(hear());
  producer.stop("the test is over");
  for (std::thread& thread : threads) thread.join();
  return 0;
}

class TokenDigest {
 public:
  void add(std::uint64_t word) noexcept { digest_ = detail::mix64(digest_ ^ word); }
  /// `rows`: of a window's run, else 0.
  void see(Batch& batch, std::uint64_t rows) {
    add(batch.size());
    for (const std::uint64_t id : batch.sample_ids()) add(id);
    if (rows != 0) {
      const auto runs = batch.field<std::int32_t>("tokens");
      for (std::size_t run = 0; run < batch.size(); ++run) {
        for (std::uint64_t i = 0; i < rows; ++i) add(static_cast<std::uint32_t>(runs[run][i]));
      }
      return;
    }
    const auto tokens = batch.rows<std::int32_t>("tokens");
    for (std::size_t i = 0; i < batch.size(); ++i) {
      for (const std::int32_t token : tokens[i].span()) add(static_cast<std::uint32_t>(token));
    }
  }
  [[nodiscard]] std::string text() const { return std::to_string(digest_); }

 private:
  std::uint64_t digest_ = 1;
};

int token_rider(const Words& words) {
  ConsumerOptions options;
  options.stream = "s";
  options.pace = words.has("free") ? Pace::free : Pace::lockstep;
  const auto rows = static_cast<std::uint64_t>(words.number("rows"));
  const bool is_window = words.has("runs");
  if (is_window) {
    options.window = {"tokens", rows, static_cast<std::uint64_t>(words.number("runs")), 1};
  } else {
    options.budget = {"tokens", rows};
  }
  if (words.has("world")) {
    options.group = {"ddp", words.number("rank"), words.number("world")};
  }
  TokenDigest digest;
  std::string over = "left";
  std::set<std::string> lives;
  std::uint64_t mismatched = 0, unknown = 0;
  try {
    Consumer consumer(options);
    say("attached");
    for (std::int64_t epoch = 0; epoch < words.number("epochs"); ++epoch) {
      for (Batch& batch : consumer) {
        digest.see(batch, is_window ? rows + 1 : 0);
        digest.add(consumer.cursor());
        digest.add(consumer.cursor_row());
        lives.insert(consumer.incarnation());
        pause_us(static_cast<std::uint64_t>(words.number("pause_us")));
      }
    }
    mismatched = consumer.stats().epochs_mismatched;
    unknown = consumer.stats().epochs_unknown;
  } catch (const Error& error) {
    over = kind_of(error) + " (" + error.what() + ")";
  }
  say("done over=" + over + " digest=" + digest.text() + " lives=" + std::to_string(lives.size()) +
      " mismatched=" + std::to_string(mismatched) + " unknown=" + std::to_string(unknown));
  return 0;
}

const RoleRegistration phoenix_role("token_phoenix", token_phoenix);
const RoleRegistration rider_role("token_rider", token_rider);

Process serve_again(std::uint64_t trainers = 3) {
  Process producer("token_phoenix", {"wait_for=" + std::to_string(trainers)});
  static_cast<void>(producer.expect("serves"));
  return producer;
}

using Kinds = std::vector<std::vector<std::string>>;
const Kinds single_trainers = {{"rows=16", "runs=4"}, {"rows=37", "runs=1"}, {"rows=400"}};
const Kinds ranks_with_windows = {{"rows=16", "runs=4", "rank=0", "world=2"},
                                  {"rows=16", "runs=4", "rank=1", "world=2"}};
const Kinds ranks_with_budgets = {{"rows=400", "rank=0", "world=2"},
                                  {"rows=400", "rank=1", "world=2"}};

std::vector<Process> trainers(const Kinds& kinds, std::uint64_t pause_us) {
  std::vector<Process> trainers;
  for (std::vector<std::string> words : kinds) {
    words.emplace_back("epochs=6");
    words.emplace_back("pause_us=" + std::to_string(pause_us));
    trainers.emplace_back("token_rider", words);
  }
  for (Process& trainer : trainers) static_cast<void>(trainer.expect("attached"));
  return trainers;
}

}  // namespace

TEST_CASE("trainers with windows and budgets ride through kills", "[ride][short][rows]") {
  std::mt19937_64 random(test_seed("ride with rows"));
  const Kinds& kinds = GENERATE(std::cref(single_trainers), std::cref(ranks_with_windows),
                                std::cref(ranks_with_budgets));
  const std::uint64_t jobs = kinds.size() == 3 ? 3 : 1;  // a group is one
  const OwnDirectory directory;
  std::vector<std::string> undisturbed;
  {
    Process producer = serve_again(jobs);
    std::vector<Process> calm = trainers(kinds, 0);
    for (Process& trainer : calm) {
      const Words words = trainer.expect("done", 60'000);
      INFO(words.line());
      REQUIRE(words.text("over") == "left");
      undisturbed.push_back(words.text("digest"));
    }
    producer.tell("stop");
    CHECK(producer.wait().ended);
  }
  Process producer = serve_again(jobs);
  std::vector<Process> riders = trainers(kinds, 4'000);
  const std::uint64_t kills = scaled(8, 3);
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    pause_us(1'000 + random() % 500'000);
    producer.kill();
    static_cast<void>(producer.wait());
    producer = serve_again(jobs);
  }
  std::int64_t rides = 0;
  for (std::size_t i = 0; i < riders.size(); ++i) {
    const Words words = riders[i].expect("done", 60'000);
    INFO(words.line());
    CHECK(words.text("over") == "left");
    CHECK(words.text("digest") == undisturbed[i]);
    CHECK(words.number("mismatched") == 0);
    rides += words.number("lives") - 1;
  }
  CHECK(rides >= static_cast<std::int64_t>(riders.size()));
  std::printf("trainers with windows and budgets rode %lld times\n", static_cast<long long>(rides));
}

TEST_CASE("what a trainer sets while its producer is dead is checked at once",
          "[ride][short][rows]") {
  const OwnDirectory directory;
  Process first = serve_again(1);
  ConsumerOptions options;
  options.stream = "s";
  options.budget = {"tokens", 400};
  Consumer consumer(options);
  static_cast<void>(consumer.next().value());
  pause_us(300'000);
  first.kill();
  static_cast<void>(first.wait());
  while (consumer.try_next(200).outcome != Outcome::timed_out) continue;  // drained
  CHECK_THROWS_AS(consumer.set_budget({"tokens", 1'000'000}), RingTooSmall);
  CHECK_THROWS_AS(consumer.set_budget({"no such axis", 10}), InvalidArgument);
  CHECK_THROWS_AS(consumer.set_window({"tokens", 16, 4, 1}), InvalidArgument);  // beside a budget
  CHECK(consumer.budget().rows == 400);
  consumer.set_budget({});
  CHECK_THROWS_AS(consumer.set_window({"tokens", 1'000'000, 4, 1}), RingTooSmall);
  consumer.set_window({"tokens", 16, 4, 1});
  CHECK_THROWS_AS(consumer.set_budget({"tokens", 50}), InvalidArgument);
  Process second = serve_again(1);
  const Batch batch = consumer.next().value();
  CHECK(batch.size() == 4);  // of the window
  CHECK(consumer.window().rows == 16);
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

struct TrainAndTest {
  Consumer train;
  Consumer test;
  Checker train_checker;
  Checker test_checker;

  static ConsumerOptions options_of(const Words& words, const char* stream, BetweenEpochs between) {
    ConsumerOptions options = stream_options();
    options.stream = stream;
    options.name = words.text("name");
    options.batch_size = static_cast<std::uint64_t>(words.number("batch"));
    options.between_epochs = between;
    return options;
  }
  explicit TrainAndTest(const Words& words)
      : train(options_of(words, "train", BetweenEpochs::hold)),
        test(options_of(words, "test", BetweenEpochs::let_go)),
        train_checker(train.samples_per_epoch()),
        test_checker(test.samples_per_epoch()) {}

  /// One whole epoch; how many samples came.
  static std::uint64_t loop(Consumer& consumer, Checker& checker) {
    std::uint64_t samples = 0;
    for (const Batch& batch : consumer) {
      checker.see(batch);
      samples += batch.size();
    }
    return samples;
  }
};

/// Trains some epochs, and evaluates after every so-many-th.
int trainer(const Words& words) {
  TrainAndTest both(words);
  say("attached");
  std::uint64_t short_epochs = 0;
  for (std::int64_t epoch = 1; epoch <= words.number("epochs"); ++epoch) {
    short_epochs += both.loop(both.train, both.train_checker) != both.train.samples_per_epoch();
    if (epoch % words.number("every") == 0) {
      both.test_checker.expect_gap();
      short_epochs += both.loop(both.test, both.test_checker) != both.test.samples_per_epoch();
    }
  }
  const bool sound = both.train_checker.fault().empty() && both.test_checker.fault().empty() &&
                     both.train.stats().epochs_mismatched == 0 &&
                     both.test.stats().epochs_mismatched == 0 && short_epochs == 0;
  say("trained sound=" + std::string(sound ? "yes" : "no") +
      " late=" + std::to_string(both.train.stats().late_wakeups + both.test.stats().late_wakeups) +
      " short=" + std::to_string(short_epochs) + " " + both.train_checker.fault() +
      both.test_checker.fault());
  return 0;
}

const RoleRegistration role("trainer", trainer);

ProducerOptions options_of(const char* stream, std::uint64_t samples) {
  ProducerOptions options = producer_options("mixed", samples, 200 << 10);
  options.stream = stream;
  return options;
}

}  // namespace

TEST_CASE("two trainers that evaluate at different cadences do not wait for each other for ever",
          "[cadence][short][device]") {
  const OwnDirectory directory;
  ProducerOptions train_options = options_of("train", 1'500);
  train_options.wait_for = 2;
  Server train(std::move(train_options), {.threads = 2});
  Server test(options_of("test", 1'100), {});
  REQUIRE(train.producer().capacity() < 1'100);
  std::vector<Process> trainers;
  trainers.emplace_back("trainer",
                        std::vector<std::string>{"name=often", "batch=37", "every=1", "epochs=24"});
  trainers.emplace_back(
      "trainer", std::vector<std::string>{"name=seldom", "batch=64", "every=5", "epochs=24"});
  for (Process& trainer : trainers) {
    const Words words = trainer.expect("trained", 60'000);
    INFO(words.line());
    CHECK(words.text("sound") == "yes");
    CHECK(words.number("late") == 0);
    CHECK(trainer.wait().exited_with(0));
  }
  CHECK(train.producer().stats().late_wakeups + test.producer().stats().late_wakeups == 0);
}

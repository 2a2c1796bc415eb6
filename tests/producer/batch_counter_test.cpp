// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/batch_counter.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/producer.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;
using detail::BatchCounter;

namespace {

using Answers = std::vector<std::pair<ConsumerKey, std::uint64_t>>;
constexpr std::uint64_t unknown = ~std::uint64_t{0};
constexpr std::uint64_t second_ns = 1'000'000'000;

CountBatches question(std::uint64_t epoch) {
  CountBatches request;
  request.epoch = epoch;
  request.batch_size = 100;
  request.budget = {"tokens", 10};
  return request;
}

/// Each look at it is 0.4 ms later.
std::uint64_t slow_clock() {
  static std::atomic<std::uint64_t> now{0};
  return now += 400'000;
}

/// Samples of one row, so that ten are a batch.
struct Counting {
  explicit Counting(std::uint64_t samples) : counter(samples, lengths) {}

  Answers answers() {
    Answers all;
    for (const auto& [key, count] : counter.take_answers()) {
      all.emplace_back(key, count.known ? count.batches : unknown);
    }
    return all;
  }
  int finish() {
    int parts = 0;
    for (; counter.has_work(); ++parts) counter.work(slow_clock);
    return parts;
  }

  std::uint64_t asked = 0;  ///< lengths
  BatchCounter::Lengths lengths = [this](std::string_view axis) -> RowsOf {
    if (axis != "tokens") return {};
    return [this](std::uint64_t, std::uint64_t) { return ++asked, std::uint64_t{1}; };
  };
  BatchCounter counter;
};

}  // namespace

TEST_CASE("batches are counted in parts, and answers are kept", "[rows][batches]") {
  Counting it(5'000);
  it.counter.ask(1, question(0), 0);
  CHECK(it.answers().empty());
  CHECK(it.finish() > 3);
  CHECK(it.answers() == Answers{{1, 500}});
  CHECK(it.asked == 5'000);
  // Two jobs ask in turn, and nothing is counted again.
  it.counter.ask(2, question(1), 0);
  it.finish();
  for (const ConsumerKey key : {3, 4, 5}) it.counter.ask(key, question(key % 2), 0);
  CHECK_FALSE(it.counter.has_work());
  CHECK(it.answers() == Answers{{2, 500}, {3, 500}, {4, 500}, {5, 500}});
  CHECK(it.asked == 10'000);
}

TEST_CASE("consumers that ask the same share one count, and counts take turns", "[rows][batches]") {
  Counting it(100'000);
  it.counter.ask(1, question(0), 0);
  it.counter.ask(2, question(0), 0);
  it.counter.ask(3, question(1), 0);
  for (int i = 0; i < 10; ++i) it.counter.work(slow_clock);
  const std::uint64_t done = it.asked;
  it.counter.forget(3);
  for (int i = 0; i < 10; ++i) it.counter.work(slow_clock);
  CHECK(it.asked == 2 * done);
  it.finish();
  CHECK(it.answers() == Answers{{1, 10'000}, {2, 10'000}});
  CHECK(it.asked == 100'000 + done / 2);  // what consumer 3 asked for was not counted further
}

TEST_CASE("a consumer has one question, and each has an answer in its order", "[rows][batches]") {
  Counting it(5'000);
  for (std::uint64_t epoch = 0; epoch < 100; ++epoch) it.counter.ask(1, question(epoch), 0);
  CHECK(it.answers() == Answers(99, {1, unknown}));
  it.counter.ask(1, question(99), 0);  // the same once more
  CHECK(it.answers() == Answers{{1, unknown}});
  it.finish();
  CHECK(it.answers() == Answers{{1, 500}});
  CHECK(it.asked == 5'000);
}

TEST_CASE("a count that takes too long is answered as unknown, and known later",
          "[rows][batches]") {
  Counting it(50'000);
  it.counter.ask(1, question(0), slow_clock());
  it.counter.work(slow_clock);
  CHECK(it.answers().empty());
  it.counter.work([] { return slow_clock() + 9 * second_ns; });
  CHECK(it.answers() == Answers{{1, unknown}});
  it.finish();
  CHECK(it.answers().empty());
  it.counter.ask(1, question(0), 0);
  CHECK(it.answers() == Answers{{1, 5'000}});
}

TEST_CASE("batches that cannot be counted are unknown at once", "[rows][batches]") {
  Counting endless(0);
  endless.counter.ask(1, question(0), 0);
  CHECK(endless.answers() == Answers{{1, unknown}});
  Counting it(10);
  CountBatches of_boxes = question(0);
  of_boxes.budget.axis = "boxes";
  it.counter.ask(1, of_boxes, 0);
  CHECK(it.answers() == Answers{{1, unknown}});
  CHECK_FALSE(it.counter.has_work());
  it.lengths = [](std::string_view) -> RowsOf {
    return [](std::uint64_t, std::uint64_t) -> std::uint64_t { throw std::runtime_error("lost"); };
  };
  it.counter.ask(2, question(0), 0);
  CHECK_THROWS_AS(it.counter.work(slow_clock), std::runtime_error);
  CHECK(it.answers() == Answers{{2, unknown}});
  CHECK_FALSE(it.counter.has_work());
}

TEST_CASE("other trainers join while the batches of ten million samples are counted",
          "[rows][batches]") {
  const testing::TemporaryFolder directory;
  constexpr std::uint64_t samples = 20'000'000;  // more than 2^24
  std::atomic<std::uint64_t> counted{0};
  ProducerOptions options;
  options.stream = "long";
  options.schema = {{"tokens", DType::i32, Axis{"tokens"}}};
  options.samples_per_epoch = samples;
  options.rows_per_sample = {{"tokens", 12}};
  options.directory = directory.path();
  options.linger_ms = 0;
  options.log = [](LogLevel, std::string_view) {};
  options.lengths = [&](std::string_view) -> RowsOf {
    return [&](std::uint64_t, std::uint64_t index) {
      counted.store(index, std::memory_order_relaxed);
      std::uint64_t rows = index;  // takes some time, as the order of an epoch does
      for (int i = 0; i < 20; ++i) rows = rows * 6364136223846793005U + 1442695040888963407U;
      return rows % 5;
    };
  };
  Producer producer(options);
  ConsumerOptions joining;
  joining.stream = "long";
  joining.directory = directory.path();
  joining.budget = {"tokens", 100};
  Consumer asks(joining);
  std::optional<std::uint64_t> told;
  // On a slow machine a count goes on behind its first answer, which says nothing.
  std::thread asking([&] {
    for (int i = 0; i < 20 && !told; ++i) told = asks.batches_of_epoch();
  });
  while (counted.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
  // How much is counted while a trainer joins. Other work on the machine makes some of them late,
  // and not the one in the middle.
  std::vector<std::uint64_t> meanwhile;
  while (counted.load(std::memory_order_relaxed) < samples / 2) {
    const std::uint64_t began = counted.load(std::memory_order_relaxed);
    const Consumer other(joining);
    meanwhile.push_back(counted.load(std::memory_order_relaxed) - began);
  }
  asking.join();
  REQUIRE(meanwhile.size() > 2);
  std::sort(meanwhile.begin(), meanwhile.end());
  CHECK(meanwhile[meanwhile.size() / 2] < samples / 20);
  CHECK(told.has_value());
  CHECK(asks.batches_of_epoch() == told);
  producer.stop("the test is over");
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/batches_in.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/producer.hpp>

#include <array>
#include <random>
#include <thread>
#include <vector>

#include "../ring/rows_model.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;

namespace {

using Lengths = std::vector<std::uint64_t>;

std::uint64_t counted(const CountBatches& request, const Lengths& lengths) {
  return detail::batches_in(request, lengths.size(),
                            [&](std::uint64_t index) { return lengths[index]; });
}

}  // namespace

TEST_CASE("the batches of an epoch are counted as the ring cuts them", "[rows][batches]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3'000; ++round) {
    const std::uint64_t budget = 1 + random() % 30;
    Lengths lengths(random() % 40);
    for (std::uint64_t& length : lengths) {
      const std::uint64_t kinds[] = {0, 1, budget - 1, budget, budget + 1, random() % 40};
      length = kinds[random() % 6];
    }
    CountBatches request;
    request.batch_size = 1 + random() % 12;
    request.budget = {"tokens", budget};
    request.oversize = static_cast<Oversize>(random() % 4);
    request.world = static_cast<std::uint32_t>(1 + random() % 4);
    const auto expected = testing::rows_model::batches(lengths, budget, request.batch_size,
                                                       request.world, request.oversize);
    REQUIRE(counted(request, lengths) == expected.size());
  }
}

TEST_CASE("the batches of an epoch are counted as a window cuts them", "[rows][batches][windows]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3'000; ++round) {
    Lengths lengths(random() % 30);
    for (std::uint64_t& length : lengths) length = random() % 3 == 0 ? 0 : random() % 12;
    CountBatches request;
    request.window = {"tokens", 1 + random() % 9, 1 + random() % 5, random() % 4};
    request.tail = std::array{Tail::keep, Tail::drop, Tail::pad}[random() % 3];
    request.world = static_cast<std::uint32_t>(1 + random() % 4);
    const Window& window = request.window;
    const auto expected = testing::rows_model::windows(lengths, window.rows, window.runs,
                                                       window.extra, request.world, request.tail);
    CAPTURE(window.rows, window.runs, window.extra, request.world, request.tail);
    REQUIRE(counted(request, lengths) == expected.batches.size());
  }
  // What no ring holds does not overflow.
  CountBatches large;
  large.window = {"tokens", std::uint64_t{1} << 62, std::uint64_t{1} << 62, 1};
  large.world = 64;
  CHECK(counted(large, {100, 200}) == 0);
}

TEST_CASE("a trainer with a budget or a window asks how many batches its epoch has",
          "[rows][batches]") {
  const bool is_known = GENERATE(true, false);
  const testing::TemporaryFolder directory;
  constexpr std::uint64_t samples = 300;
  const auto rows_at = [](std::uint64_t epoch, std::uint64_t index) {
    return (index * (7 + epoch)) % 23;
  };
  ProducerOptions options;
  options.stream = "counted";
  options.schema = {{"tokens", DType::i32, Axis{"tokens"}}};
  options.samples_per_epoch = samples;
  options.epochs = 2;
  options.rows_per_sample = {{"tokens", 12}};
  options.directory = directory.path();
  options.linger_ms = 0;
  options.log = [](LogLevel, std::string_view) {};
  if (is_known) {
    options.lengths = [&](std::string_view axis) -> RowsOf {
      return axis == "tokens" ? RowsOf(rows_at) : RowsOf();
    };
  }
  Producer producer(options);
  std::thread makes([&] {
    while (auto loan = producer.loan(16)) {
      Lengths lengths;
      for (std::uint64_t i = 0; i < loan->size(); ++i) {
        lengths.push_back(rows_at(loan->epoch(), loan->index_in_epoch() + i));
      }
      if (loan->take_rows("tokens", lengths)) loan->publish();
    }
  });
  ConsumerOptions joining;
  joining.stream = "counted";
  joining.directory = directory.path();
  const bool has_window = GENERATE(false, true);
  if (has_window) {
    joining.window = {"tokens", 50, 3, 1};
    joining.tail = GENERATE(Tail::keep, Tail::drop, Tail::pad);
  } else {
    joining.budget = {"tokens", 100};
    joining.oversize = Oversize::drop;
  }
  {
    Consumer consumer(joining);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto told = consumer.batches_of_epoch();
      CHECK(told.has_value() == is_known);
      std::uint64_t batches = 0;
      for (const Batch& batch : consumer) {
        static_cast<void>(batch);
        if (++batches == 3) CHECK(consumer.batches_of_epoch() == told);
      }
      if (is_known) CHECK(told == batches);
      if (epoch == 0 && !has_window) consumer.set_budget({"tokens", 31});
      if (epoch == 0 && has_window) consumer.set_window({"tokens", 7, 11});
    }
  }
  makes.join();
}

TEST_CASE("batches of one size are counted without a question", "[batches]") {
  const Tail tail = GENERATE(Tail::keep, Tail::drop, Tail::pad);
  const testing::TemporaryFolder directory;
  ProducerOptions options;
  options.stream = "fixed";
  options.schema = {{"value", DType::u64}};
  options.samples_per_epoch = 100;
  options.epochs = 1;
  options.directory = directory.path();
  options.linger_ms = 0;
  options.log = [](LogLevel, std::string_view) {};
  Producer producer(options);
  std::thread makes([&] {
    while (auto loan = producer.loan(16)) loan->publish();
  });
  ConsumerOptions joining;
  joining.stream = "fixed";
  joining.directory = directory.path();
  joining.batch_size = 30;
  joining.tail = tail;
  {
    Consumer consumer(joining);
    const auto told = consumer.batches_of_epoch();
    std::uint64_t batches = 0;
    for (const Batch& batch : consumer) batches += batch.size() != 0 ? 1 : 0;
    CHECK(told == batches);
  }
  makes.join();
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;

namespace {

using Directory = batchcast::testing::TemporaryFolder;

ProducerOptions serving(const Directory& directory) {
  return {.stream = "observed",
          .schema = {{"value", DType::u64}},
          .memory = 64 << 10,
          .samples_per_epoch = 1000,
          .ahead = 0,
          .directory = directory.path()};
}

Consumer observer(const Directory& directory) {
  return Consumer({.stream = "observed",
                   .batch_size = 1,
                   .name = "observer",
                   .directory = directory.path(),
                   .observes = true});
}

/// As many samples as there is demand for; value is the position.
std::uint64_t produce(Producer& producer) {
  std::uint64_t made = 0;
  while (auto loan = producer.try_loan(64, 20)) {
    const auto values = loan->field<std::uint64_t>(0);
    for (std::size_t i = 0; i < loan->size(); ++i) values[i][0] = loan->position() + i;
    made += loan->size();
    loan->publish();
  }
  return made;
}

}  // namespace

TEST_CASE("an observer sees the newest samples and moves nothing") {
  const Directory directory;
  Producer producer(serving(directory));
  Consumer onlooker = observer(directory);
  CHECK_FALSE(onlooker.newest(10));
  const std::uint64_t capacity = producer.capacity();
  CHECK(produce(producer) == capacity);  // the ring is filled, and waits for somebody
  for (int i = 0; i < 3; ++i) {
    const auto batch = onlooker.newest(10);
    REQUIRE(batch);
    CHECK(batch->size() == 10);
    CHECK(batch->position() == capacity - 10);
    CHECK(batch->epoch() == batch->position() / 1000);
    for (std::size_t j = 0; j < 10; ++j) {
      CHECK(batch->field<std::uint64_t>(0)[j][0] == batch->position() + j);
    }
  }
  CHECK(produce(producer) == 0);
  CHECK(producer.stats().consumers.at(0).state == ConsumerState::observing);

  // Whoever comes now still gets the stream from its start.
  Consumer trainer({.stream = "observed", .batch_size = 8, .directory = directory.path()});
  {
    const auto first = trainer.next();
    REQUIRE(first);
    CHECK(first->position() == 0);
  }
  // And the producer waits for nobody else.
  for (std::uint64_t taken = 8; taken < 800; taken += 8) REQUIRE(trainer.next());
  CHECK(produce(producer) > 700);
  const ProducerStats stats = producer.stats();
  CHECK(stats.consumers.at(0).lag == 0);  // it keeps up with whatever it does not take
  CHECK(stats.consumers.at(0).position == stats.published);
  CHECK(stats.consumers.at(1).lag > 0);
  producer.stop("the test is over");
}

TEST_CASE("an observer gets something of a ring that turns faster than it copies") {
  const Directory directory;
  ProducerOptions options = serving(directory);
  options.free_running = true;
  options.samples_per_epoch = 10'000'000;
  options.memory = 32 << 20;  // which takes longer to copy than anybody gets the processor for
  Producer producer(options);
  Consumer onlooker = observer(directory);
  constexpr auto give_up_after = std::chrono::seconds(5);
  const auto began = std::chrono::steady_clock::now();
  std::atomic<bool> enough{false};
  std::thread turning([&] {
    while (!enough && std::chrono::steady_clock::now() - began < give_up_after) {
      auto loan = producer.loan(256);
      const auto values = loan->field<std::uint64_t>(0);
      for (std::size_t i = 0; i < loan->size(); ++i) values[i][0] = loan->position() + i;
      loan->publish();
    }
  });
  for (int found = 0; found < 5;) {
    const auto batch = onlooker.newest(producer.capacity());
    if (!batch) continue;
    ++found;
    const auto values = batch->field<std::uint64_t>(0);
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < batch->size(); ++i) {
      wrong += values[i][0] == batch->position() + i ? 0 : 1;
    }
    REQUIRE(wrong == 0);
  }
  CHECK(std::chrono::steady_clock::now() - began < give_up_after);
  enough = true;
  turning.join();
  producer.stop("the test is over");
}

TEST_CASE("an observer does not count for wait_for, and has no batches of its own") {
  const Directory directory;
  ProducerOptions options = serving(directory);
  options.wait_for = 1;
  Producer producer(options);
  Consumer onlooker = observer(directory);
  CHECK(produce(producer) > 0);
  CHECK(producer.stats().published == 0);
  CHECK_FALSE(onlooker.newest(10));
  CHECK_THROWS_AS(onlooker.try_next(0), InvalidArgument);
  CHECK_THROWS_AS(onlooker.has_next_epoch(), InvalidArgument);
  const Consumer trainer({.stream = "observed", .batch_size = 8, .directory = directory.path()});
  CHECK(onlooker.newest(10));
  producer.stop("the test is over");
}

TEST_CASE("the newest samples are those of one epoch") {
  const Directory directory;
  ProducerOptions options = serving(directory);
  options.samples_per_epoch = 1000;
  options.free_running = true;
  Producer producer(options);
  Consumer onlooker = observer(directory);
  std::uint64_t published = 0;
  const auto publish_until = [&](std::uint64_t position) {
    while (published < position) {
      auto loan = producer.loan(position - published);
      REQUIRE(loan);
      published += loan->size();
      loan->publish();
    }
  };
  publish_until(1003);
  auto batch = onlooker.newest(10);
  REQUIRE(batch);
  CHECK(batch->epoch() == 0);
  CHECK(batch->position() == 993);
  CHECK(batch->size() == 7);
  publish_until(1006);
  batch = onlooker.newest(10);
  REQUIRE(batch);
  CHECK(batch->epoch() == 1);
  CHECK(batch->position() == 1000);
  CHECK(batch->size() == 6);
  producer.stop("the test is over");
}

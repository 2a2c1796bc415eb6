// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <utility>

using namespace batchcast;

// What it looks for, ThreadSanitizer sees in every round, and luck in few.
TEST_CASE("a place that another thread's last batch gives up is taken again before the next one") {
  const testing::TemporaryFolder directory;
  Producer producer({.stream = "let-go",
                     .schema = {{"value", DType::u64}},
                     .memory = 64 << 10,
                     .samples_per_epoch = 4,
                     .linger_ms = 0,
                     .directory = directory.path()});
  std::thread produces([&] {
    while (auto loan = producer.loan(4)) loan->publish();
  });
  Consumer consumer({.stream = "let-go",
                     .batch_size = 4,
                     .between_epochs = BetweenEpochs::let_go,
                     .directory = directory.path()});
  for (int round = 0; round < 100; ++round) {
    std::optional<Batch> last = consumer.next();
    CHECK_FALSE(consumer.next());  // the pause waits for the batch
    std::latch both(2);
    std::thread drops([&] {
      both.arrive_and_wait();
      last.reset();
    });
    both.arrive_and_wait();
    const std::optional<Batch> next = consumer.next();
    drops.join();
    CHECK(next);
    CHECK(producer.stats().consumers.at(0).state == ConsumerState::running);
    consumer.leave_epoch();
  }
  producer.stop("the test is over");
  produces.join();
}

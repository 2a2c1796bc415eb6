// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "control/control_support.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

using namespace batchcast;

namespace {

using Directory = batchcast::testing::TemporaryFolder;

ProducerOptions pure_stream(const Directory& directory) {
  return {.stream = "s",
          .schema = {{"value", DType::u64}},
          .memory = 64 << 10,
          .samples_per_epoch = 100'000,
          .linger_ms = 0,
          .recipe_json = R"({"kind": "counting"})",
          .pure = true,
          .directory = directory.path()};
}

ConsumerOptions taking(const Directory& directory, std::optional<std::uint64_t> cursor = {}) {
  ConsumerOptions options;
  options.stream = "s";
  options.batch_size = 8;
  options.connect_timeout_ms = 5'000;
  options.directory = directory.path();
  if (cursor) {
    options.join = Join::at;
    options.cursor = *cursor;
  }
  return options;
}

void make(Producer& producer, std::uint64_t samples) {
  while (samples != 0) {
    auto loan = producer.try_loan(samples, 5'000);
    REQUIRE(loan);
    samples -= loan->size();
    loan->publish();
  }
}

void read(Consumer& consumer, std::uint64_t batches) {
  for (; batches != 0; --batches) REQUIRE(consumer.try_next(5'000).batch.size() == 8);
}

}  // namespace

TEST_CASE("samples made after a stream went back were read by nobody") {
  const Directory directory;
  Producer producer(pure_stream(directory));
  const std::uint64_t step = producer.capacity() / 16 * 8;
  {
    Consumer consumer(taking(directory));
    for (int i = 0; i < 4; ++i) {
      make(producer, step);
      read(consumer, step / 8);
    }
  }
  CHECK(producer.stats().unread == 0);
  Consumer consumer(taking(directory, 8));
  make(producer, 48);
  REQUIRE(producer.stats().published == 56);
  CHECK(producer.stats().unread == 48);
  read(consumer, 1);
  CHECK(producer.stats().unread == 40);
}

TEST_CASE("positions that a stream jumped over are no unread samples") {
  const Directory directory;
  Producer producer(pure_stream(directory));
  {
    Consumer consumer(taking(directory));
    make(producer, 24);
    read(consumer, 3);
  }
  // It passes over what is made until it is gone.
  REQUIRE(test::holds_within(5'000, [&] { return producer.stats().consumers.empty(); }));
  make(producer, 16);
  CHECK(producer.stats().unread == 16);
  Consumer consumer(taking(directory, 50'000));
  make(producer, 16);
  REQUIRE(producer.stats().published == 50'016);
  CHECK(producer.stats().unread == 32);
  read(consumer, 1);
  CHECK(producer.stats().unread == 8);
}

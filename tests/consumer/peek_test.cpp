// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A look at the batch that comes next: that it is that batch, and that it changes nothing.
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace batchcast;

namespace {

using Directory = batchcast::testing::TemporaryFolder;

/// A stream whose samples are their positions, made by a thread until this object goes.
class Positions {
 public:
  explicit Positions(std::uint64_t samples_per_epoch, std::uint64_t epochs = 0)
      : producer_({.stream = "peek",
                   .schema = {{"value", DType::u64}},
                   .memory = 64 << 10,
                   .samples_per_epoch = samples_per_epoch,
                   .epochs = epochs,
                   .directory = directory_.path()}),
        makes_([this] { make(); }) {}
  ~Positions() {
    producer_.stop("the test is over");
    makes_.join();
  }
  Positions(const Positions&) = delete;
  Positions& operator=(const Positions&) = delete;

  [[nodiscard]] ConsumerOptions joining(std::uint64_t batch_size) const {
    return {.stream = "peek", .batch_size = batch_size, .directory = directory_.path()};
  }

 private:
  void make() {
    try {
      while (auto loan = producer_.loan(16)) {
        const auto values = loan->field<std::uint64_t>(0);
        for (std::size_t i = 0; i < loan->size(); ++i) values[i][0] = loan->position() + i;
        loan->publish();
      }
    } catch (const StreamOver&) {  // it was stopped
    }
  }

  Directory directory_;
  Producer producer_;
  std::thread makes_;
};

std::vector<std::uint64_t> values_of(const Batch& batch) {
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < batch.size(); ++i)
    values.push_back(batch.field<std::uint64_t>(0)[i][0]);
  return values;
}

/// All that a look has to leave as it is.
auto place_of(const Consumer& consumer) {
  const ConsumerStats stats = consumer.stats();
  return std::make_tuple(consumer.cursor(), consumer.epoch(), stats.samples, stats.batches,
                         stats.skipped, stats.waits, stats.epochs_matched, stats.epochs_unknown,
                         stats.leases_held);
}

std::optional<Batch> look(Consumer& consumer) {
  const auto before = place_of(consumer);
  std::optional<Batch> seen = consumer.peek();
  CHECK(place_of(consumer) == before);
  REQUIRE(seen);
  CHECK(seen->writable());
  return seen;
}

}  // namespace

TEST_CASE("a look is the next batch, of the next epoch at the end of one") {
  const Positions stream(10);
  Consumer consumer(stream.joining(4));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::optional<Batch> seen = look(consumer);
    while (const auto batch = consumer.next()) {
      CHECK(batch->epoch() == epoch);
      CHECK(seen->position() == batch->position());
      CHECK(seen->epoch() == batch->epoch());
      CHECK(values_of(*seen) == values_of(*batch));
      CHECK(values_of(*batch).front() == batch->position());
      seen = look(consumer);
    }
    CHECK(seen->epoch() == epoch + 1);
    CHECK(seen->position() == 10 * (epoch + 1));
  }
  CHECK(consumer.stats().epochs_matched == 3);
}

TEST_CASE("a write into a look is nobody's") {
  const Positions stream(8);
  Consumer consumer(stream.joining(4));
  const std::optional<Batch> seen = look(consumer);
  const auto& values = seen->field<std::uint64_t>(0);
  *const_cast<std::uint64_t*>(values[0].data()) = 99;
  CHECK(values_of(*look(consumer)) == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(values_of(*consumer.next()) == std::vector<std::uint64_t>{0, 1, 2, 3});
}

TEST_CASE("looks between any calls change no batch") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 draws(seed);
  const auto draw = [&](std::uint32_t end) { return draws() % end; };
  for (const Tail tail : {Tail::keep, Tail::drop, Tail::pad}) {
    const Positions stream(30);
    ConsumerOptions options = stream.joining(7);
    options.tail = tail;
    Consumer consumer(options);
    for (int i = 0; i < 300; ++i) {
      std::optional<Batch> seen;
      if (draw(2) == 0) seen = look(consumer);
      if (draw(5) == 0) {
        const bool in_epoch = seen && seen->epoch() == consumer.epoch();
        consumer.leave_epoch();
        if (in_epoch) seen.reset();
        if (draw(2) == 0) seen = look(consumer);
      }
      if (draw(5) == 0) {
        consumer.set_batch_size(1 + draw(30));
        seen.reset();
      }
      std::optional<Batch> batch = consumer.next();
      if (!batch) {
        if (seen) CHECK(seen->epoch() == consumer.epoch());
        continue;
      }
      if (seen && seen->epoch() == batch->epoch()) {
        CHECK(values_of(*seen) == values_of(*batch));
        CHECK(seen->padding() == batch->padding());
      }
    }
    CHECK(consumer.stats().epochs_mismatched == 0);
  }
}

TEST_CASE("a look waits, and says at a time-out that there is nothing") {
  const Directory directory;
  Producer producer({.stream = "peek",
                     .schema = {{"value", DType::u64}},
                     .memory = 64 << 10,
                     .samples_per_epoch = 4,
                     .epochs = 1,
                     .directory = directory.path()});
  Consumer consumer({.stream = "peek", .batch_size = 4, .directory = directory.path()});
  CHECK_FALSE(consumer.peek(0));
  CHECK_FALSE(consumer.peek(20));
  std::thread makes([&] {
    auto loan = producer.loan(4);
    for (std::size_t i = 0; i < 4; ++i) loan->field<std::uint64_t>(0)[i][0] = i;
    loan->publish();
  });
  CHECK(values_of(*look(consumer)) == std::vector<std::uint64_t>{0, 1, 2, 3});
  makes.join();
  CHECK(consumer.next());
  std::thread finishes([&] { producer.finish(); });
  CHECK_THROWS_AS(consumer.peek(), StreamFinished);
  CHECK_FALSE(consumer.next());
  finishes.join();
}

TEST_CASE("a look where no epoch has a whole batch, and none may be short") {
  const Positions stream(10);
  ConsumerOptions options = stream.joining(16);
  options.tail = Tail::drop;
  Consumer consumer(options);
  CHECK_THROWS_AS(consumer.peek(), InvalidArgument);
  CHECK_FALSE(consumer.next());
  consumer.set_batch_size(10);
  CHECK(look(consumer)->position() == 10);
}

TEST_CASE("a look of pace free is whole") {
  const Positions stream(1000);
  ConsumerOptions options = stream.joining(32);
  options.pace = Pace::free;
  Consumer consumer(options);
  for (int i = 0; i < 50; ++i) {
    const auto seen = consumer.peek();
    REQUIRE(seen);
    const std::vector<std::uint64_t> values = values_of(*seen);
    for (std::size_t j = 0; j < values.size(); ++j) REQUIRE(values[j] == seen->position() + j);
    const auto batch = consumer.next();
    if (batch) CHECK(batch->position() >= seen->position());
  }
}

TEST_CASE("a look of one that lets go joins for that time, and begins where it would") {
  const Positions stream(8);
  ConsumerOptions options = stream.joining(4);
  Consumer other(options);
  REQUIRE(other.next());
  options.between_epochs = BetweenEpochs::let_go;
  options.join = Join::at;
  options.cursor = 4;
  Consumer consumer(options);
  CHECK(consumer.peek()->position() == 4);
  CHECK(consumer.peek()->position() == 4);
  CHECK(consumer.next()->position() == 4);
  CHECK_FALSE(consumer.next());
  // It holds nobody up.
  for (int epochs = 0; epochs < 300; ++epochs) {
    while (other.next()) continue;
    if (epochs % 100 == 0) CHECK(consumer.peek());
  }
}

TEST_CASE("an observer has nothing that comes next") {
  const Positions stream(8);
  ConsumerOptions options = stream.joining(4);
  options.observes = true;
  Consumer consumer(options);
  CHECK_THROWS_AS(consumer.peek(), InvalidArgument);
}

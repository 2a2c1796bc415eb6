// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/consumer.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/data/random.hpp>
#include <batchcast/feeder.hpp>

#include "core/usable_processors.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;

namespace {

constexpr std::size_t words = 3;

std::uint64_t id_at(std::uint64_t epoch, std::uint64_t index) { return index * 7 + epoch; }
std::uint64_t word_at(std::uint64_t epoch, std::uint64_t index, std::size_t word) {
  return detail::mix64(detail::fold_key(epoch, index) + word);
}

void sleep_ns(std::uint64_t ns) {
  if (ns != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

/// What a sample costs, and whether it can be made at all.
struct Costs {
  std::function<std::uint64_t(std::uint64_t index)> make_ns = {};
  std::uint64_t read_ns = 0;
  std::function<void(std::uint64_t index)> check = {};
};

class FakeMaker final : public SampleMaker {
 public:
  FakeMaker(std::uint64_t samples_per_epoch, Costs costs = {})
      : costs_(std::move(costs)), samples_per_epoch_(samples_per_epoch) {}
  const Schema& schema() const noexcept override { return schema_; }
  std::uint64_t samples_per_epoch() const noexcept override { return samples_per_epoch_; }
  std::string recipe_json() const override { return "{}"; }
  std::unique_ptr<SampleWorker> worker() const override { return std::make_unique<Worker>(*this); }

  std::uint64_t made_ns() const { return made_ns_.load(); }
  std::uint64_t most_at_once() const { return most_at_once_.load(); }
  unsigned workers() const { return workers_.load(); }

 private:
  class Worker final : public SampleWorker {
   public:
    explicit Worker(const FakeMaker& maker) : maker_(maker) { ++maker_.workers_; }
    ~Worker() override { --maker_.workers_; }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    void make(const SampleSlots& slots) override {
      maker_.most_at_once_.store(std::max<std::uint64_t>(maker_.most_at_once_, slots.size()));
      for (std::size_t i = 0; i < slots.size(); ++i) make_one(slots, i);
    }
    MakerTimes times() const noexcept override { return {read_ns_.load(), make_ns_.load()}; }

   private:
    void make_one(const SampleSlots& slots, std::size_t i) {
      const Costs& costs = maker_.costs_;
      const std::uint64_t index = slots.index_in_epoch + i;
      const std::uint64_t began_ns = now_ns();
      sleep_ns(costs.read_ns);
      const std::uint64_t read_ns = now_ns();
      if (costs.check) costs.check(index);
      if (costs.make_ns) sleep_ns(costs.make_ns(index));
      std::byte* out = slots.fields[0].data + i * slots.fields[0].stride_bytes;
      for (std::size_t word = 0; word < words; ++word) {
        const std::uint64_t value = word_at(slots.epoch, index, word);
        std::memcpy(out + word * sizeof value, &value, sizeof value);
      }
      slots.fields[1].data[i * slots.fields[1].stride_bytes] = static_cast<std::byte>(index);
      slots.sample_ids[i] = id_at(slots.epoch, index);
      const std::uint64_t done_ns = now_ns();
      read_ns_.fetch_add(read_ns - began_ns);
      make_ns_.fetch_add(done_ns - read_ns);
      maker_.made_ns_.fetch_add(done_ns - began_ns);
    }
    const FakeMaker& maker_;
    std::atomic<std::uint64_t> read_ns_{0};
    std::atomic<std::uint64_t> make_ns_{0};
  };

  Schema schema_ = {{"value", DType::u64, {words}}, {"low", DType::u8, {}}};
  Costs costs_;
  std::uint64_t samples_per_epoch_;
  mutable std::atomic<std::uint64_t> made_ns_{0};
  mutable std::atomic<std::uint64_t> most_at_once_{0};
  mutable std::atomic<unsigned> workers_{0};
};

using OwnDirectory = testing::TemporaryFolder;

/// A producer for a maker and whatever consumers a test attaches to it.
struct Stream {
  explicit Stream(const FakeMaker& maker, std::uint64_t epochs = 1,
                  std::uint64_t memory = 256 << 10)
      : producer(options(maker, epochs, memory)) {}

  ProducerOptions options(const FakeMaker& maker, std::uint64_t epochs,
                          std::uint64_t memory) const {
    ProducerOptions result;
    result.stream = "fed";
    result.schema = maker.schema();
    result.samples_per_epoch = maker.samples_per_epoch();
    result.epochs = epochs;
    result.memory = memory;
    result.wait_for = 1;
    result.linger_ms = 0;
    result.directory = directory.path();
    result.log = [](LogLevel, std::string_view) {};
    return result;
  }
  Consumer consumer(std::uint64_t batch_size) const {
    ConsumerOptions result;
    result.stream = "fed";
    result.batch_size = batch_size;
    result.directory = directory.path();
    return Consumer(result);
  }

  OwnDirectory directory;
  Producer producer;
};

/// Samples of one batch that are not what the maker makes at their place.
std::uint64_t wrong_in(const Batch& batch, std::uint64_t samples_per_epoch) {
  const auto value = batch.field<std::uint64_t>("value");
  const auto low = batch.field<std::uint8_t>("low");
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::uint64_t epoch = (batch.position() + i) / samples_per_epoch;
    const std::uint64_t index = (batch.position() + i) % samples_per_epoch;
    bool right = batch.sample_ids()[i] == id_at(epoch, index);
    right = right && low[i][0] == static_cast<std::uint8_t>(index);
    for (std::size_t word = 0; word < words; ++word) {
      right = right && value[i][word] == word_at(epoch, index, word);
    }
    wrong += right ? 0 : 1;
  }
  return wrong;
}

/// Polls until `reached`, at most 10 s.
bool comes_true(const std::function<bool()>& reached) {
  for (int i = 0; i < 1000; ++i) {
    if (reached()) return true;
    sleep_ns(10'000'000);
  }
  return false;
}

}  // namespace

TEST_CASE("a feeder delivers every sample once, whatever the number of workers") {
  const unsigned workers = GENERATE(1U, 2U, 16U, 0U);
  const std::uint64_t n = 5'003;
  const std::uint64_t epochs = 3;
  const FakeMaker maker(n);
  Stream stream(maker, epochs);
  Feeder feeder(stream.producer, maker, {workers});
  Consumer consumer = stream.consumer(37);
  std::uint64_t next = 0;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const Batch& batch : consumer) {
      REQUIRE(batch.position() == next);
      REQUIRE(wrong_in(batch, n) == 0);
      next += batch.size();
    }
  }
  CHECK(next == n * epochs);
  CHECK(feeder.wait(5'000));
  CHECK_FALSE(feeder.running());
  CHECK(feeder.stats().workers == 0);
  CHECK(maker.most_at_once() <= 64);
}

TEST_CASE("a feeder follows a stream that jumps") {
  const std::uint64_t n = 20'000;
  const FakeMaker maker(n);
  Stream stream(maker, 4, 16 << 10);
  Feeder feeder(stream.producer, maker, {4});
  Consumer consumer = stream.consumer(64);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    int batches = 0;
    for (const Batch& batch : consumer) {
      REQUIRE(batch.position() / n == epoch);
      REQUIRE(wrong_in(batch, n) == 0);
      if (++batches == 3 && epoch < 3) break;
    }
  }
  CHECK(feeder.wait(5'000));
}

TEST_CASE("one sample in a hundred that takes a hundred times as long stalls nobody") {
  const std::uint64_t n = 12'000;  // so that starting the threads is a small part of it
  const FakeMaker maker(n, {.make_ns = [](std::uint64_t index) -> std::uint64_t {
                          const bool slow = detail::mix64(index) % 100 == 0 && index < n - 150;
                          return slow ? 30'000'000 : 300'000;
                        }});
  Stream stream(maker, 1, 32 << 10);
  const std::uint64_t began_ns = now_ns();
  Feeder feeder(stream.producer, maker, {4});
  Consumer consumer = stream.consumer(64);
  std::uint64_t seen = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(batch.position() == seen);
    REQUIRE(wrong_in(batch, n) == 0);
    seen += batch.size();
  }
  const double rate =
      static_cast<double>(maker.made_ns()) / 4 / static_cast<double>(now_ns() - began_ns);
  INFO("of the rate that the mean cost allows: " << rate);
  CHECK(rate >= 0.95);
}

TEST_CASE("what failed a stream is known before the last worker ends") {
  std::atomic<bool> ends{false};
  const FakeMaker maker(1000, {.check = [&ends](std::uint64_t index) {
                          if (index == 1) throw BadSample("sample 1 is broken");
                          while (index == 0 && !ends) sleep_ns(1'000'000);
                        }});
  Stream stream(maker);
  Feeder feeder(stream.producer, maker, {2});
  CHECK(comes_true([&] { return !feeder.failure_text().empty(); }));
  CHECK(feeder.failure_text() == "sample 1 is broken");
  CHECK_THROWS_AS(std::rethrow_exception(feeder.failure()), BadSample);
  CHECK_FALSE(feeder.wait(0));
  ends = true;
  CHECK_THROWS_AS(feeder.wait(), BadSample);
}

TEST_CASE("a forked child is told that the feeder's threads are not its own") {
  const FakeMaker maker(100);
  Stream stream(maker);
  Feeder feeder(stream.producer, maker, {1});
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    try {
      static_cast<void>(feeder.wait(-1));
      ::_exit(1);
    } catch (const Forked&) {
      ::_exit(0);
    }
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  stream.producer.stop("the test is over");
}

TEST_CASE("what a worker throws fails the stream with its text, and is what wait throws") {
  const unsigned workers = GENERATE(1U, 4U, 0U);
  const FakeMaker maker(10'000, {.check = [](std::uint64_t index) {
                          if (index == 777) throw BadSample("sample 777 is broken: no eyes");
                        }});
  Stream stream(maker);
  Consumer consumer = stream.consumer(16);
  Feeder feeder(stream.producer, maker, {workers});
  std::string text;
  std::uint64_t seen = 0;
  try {
    for (const Batch& batch : consumer) seen += batch.size();
  } catch (const StreamFailed& failure) {
    text = failure.what();
  }
  CHECK(text.find("sample 777 is broken: no eyes") != std::string::npos);
  CHECK(seen <= 777);
  CHECK_THROWS_AS(feeder.wait(5'000), BadSample);
  CHECK_THROWS_AS(feeder.wait(), BadSample);
  CHECK_FALSE(feeder.running());
}

TEST_CASE("a stopped stream ends its feeder within a second, whatever the workers wait for") {
  const bool somebody_consumes = GENERATE(true, false);
  const unsigned workers = GENERATE(8U, 0U);
  const FakeMaker maker(1'000'000, {.read_ns = 1'000'000});
  Stream stream(maker, 0, 16 << 10);
  Feeder feeder(stream.producer, maker, {workers});
  std::thread trainer;
  if (somebody_consumes) {
    trainer = std::thread([&] {
      try {
        Consumer consumer = stream.consumer(4);
        for (const Batch& batch : consumer) static_cast<void>(batch);
      } catch (const Stopped&) {
      }
    });
  }
  sleep_ns(300'000'000);
  CHECK_FALSE(feeder.wait(0));
  CHECK(feeder.running());
  const std::uint64_t began_ns = now_ns();
  stream.producer.stop("enough");
  CHECK(feeder.wait(2'000));
  CHECK(now_ns() - began_ns < 1'000'000'000);
  if (trainer.joinable()) trainer.join();
}

TEST_CASE("a feeder that ends early stops its stream") {
  const FakeMaker maker(1'000'000);
  Stream stream(maker, 0, 16 << 10);
  Consumer consumer = [&] {
    const Feeder feeder(stream.producer, maker, {3});
    Consumer attached = stream.consumer(4);
    static_cast<void>(attached.next());
    return attached;
  }();
  CHECK_THROWS_AS(([&] {
                    while (consumer.next()) {
                    }
                  }()),
                  Stopped);
}

TEST_CASE("a maker that does not fit the stream is refused") {
  const FakeMaker maker(100);
  const FakeMaker longer(101);
  Stream stream(maker);
  CHECK_THROWS_AS(Feeder(stream.producer, longer), InvalidArgument);
}

TEST_CASE("workers are added where reading takes long, and taken back from a slow consumer") {
  const FakeMaker maker(1'000'000,
                        {.make_ns = [](std::uint64_t) { return 100'000; }, .read_ns = 2'000'000});
  Stream stream(maker, 0, 16 << 10);
  Feeder feeder(stream.producer, maker);
  std::atomic<bool> slow{false};
  std::thread trainer([&] {
    try {
      Consumer consumer = stream.consumer(4);
      for (const Batch& batch : consumer) {
        static_cast<void>(batch);
        if (slow) sleep_ns(20'000'000);
      }
    } catch (const Stopped&) {
    }
  });
  const unsigned many = 3 * usable_processors();
  CHECK(comes_true([&] { return feeder.stats().workers >= many; }));
  // Where other processes take the processor from a worker that makes, that time counts as making:
  // not every span that is measured is one of a quiet machine.
  CHECK(comes_true([&] {
    const FeederStats stats = feeder.stats();
    return stats.bottleneck == Bottleneck::reading && stats.reading > 0.8;
  }));
  CHECK(feeder.stats().workers <= 4 * usable_processors());
  slow = true;
  CHECK(comes_true([&] { return feeder.stats().workers <= 2; }));
  CHECK(comes_true([&] { return maker.workers() <= 2; }));
  CHECK(feeder.stats().bottleneck == Bottleneck::consumers);
  stream.producer.stop("enough");
  trainer.join();
  CHECK(feeder.wait(1'000));
}

TEST_CASE("a feeder says that making limits") {
  const FakeMaker maker(1'000'000, {.make_ns = [](std::uint64_t) { return 1'000'000; }});
  Stream stream(maker, 0, 64 << 10);
  Feeder feeder(stream.producer, maker, {2});
  CHECK(feeder.stats().bottleneck == Bottleneck::none);
  CHECK(comes_true([&] {
    const FeederStats stats = feeder.stats();
    return stats.bottleneck == Bottleneck::making && stats.making > 0.8;
  }));
  CHECK(feeder.stats().workers == 2);
}

TEST_CASE("the number of workers is set while they work") {
  const FakeMaker maker(1'000'000, {.make_ns = [](std::uint64_t) { return 100'000U; }});
  Stream stream(maker, 1);
  Feeder feeder(stream.producer, maker, {1});
  Consumer consumer = stream.consumer(8);
  REQUIRE(consumer.next());
  stream.producer.set({{"workers", "5"}});
  CHECK(comes_true([&] { return feeder.stats().workers == 5; }));
  CHECK(comes_true([&] { return maker.workers() >= 5; }));
  REQUIRE(consumer.next());
  stream.producer.set({{"workers", "2"}});
  CHECK(comes_true([&] { return maker.workers() == 2; }));
  feeder.set_workers(3);
  CHECK(comes_true([&] { return feeder.stats().workers == 3; }));
  stream.producer.set({{"workers", "default"}});
  CHECK(comes_true([&] { return maker.workers() == 1; }));
  stream.producer.set({{"workers", "auto"}});
  CHECK(stream.producer.stats().making->workers_auto);
  CHECK_THROWS_WITH(stream.producer.set({{"workers", "0"}}), Catch::Contains("from 1 to 256"));
}

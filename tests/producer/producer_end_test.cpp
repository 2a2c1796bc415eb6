// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "control/control_support.hpp"
#include "temporary_folder.hpp"

#include <sys/wait.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

using namespace batchcast;

namespace {

using Directory = batchcast::testing::TemporaryFolder;
using test::Child;
using test::holds_within;

constexpr std::uint64_t samples = 32;
constexpr int soon_ms = 10'000;  // against waiting for ever

ProducerOptions one_epoch(const Directory& directory) {
  return {.stream = "s",
          .schema = {{"value", DType::u64}},
          .memory = 64 << 10,
          .samples_per_epoch = samples,
          .epochs = 1,
          .directory = directory.path()};
}

ConsumerOptions taking(const Directory& directory) {
  ConsumerOptions options;
  options.stream = "s";
  options.batch_size = 8;
  options.name = "trainer";
  options.connect_timeout_ms = soon_ms;
  options.directory = directory.path();
  return options;
}

void make(Producer& producer, std::uint64_t count = samples) {
  auto loan = producer.loan(count);
  if (!loan || loan->size() != count) throw Error("no loan");
  loan->publish();
}

/// A child that would wait for ever is killed with its object.
bool ends_within(const Child& child, int timeout_ms) {
  return holds_within(timeout_ms, [&] {
    siginfo_t info{};
    const auto pid = static_cast<id_t>(child.pid());
    return ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  });
}

/// Exit code 0: the exception came out of `body`.
int throws_in_time(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return std::string_view(error.what()) == "of the program" ? 0 : 2;
  }
  return 3;
}

/// What a producer logs.
class Messages {
 public:
  [[nodiscard]] LogCallback callback() {
    return [this](LogLevel level, std::string_view text) {
      const std::lock_guard lock(mutex_);
      if (level == LogLevel::warning) text_ += std::string(text) + "\n";
    };
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// The samples up to the end of the epoch.
std::uint64_t read_epoch(Consumer& consumer) {
  std::uint64_t read = 0;
  for (;;) {
    const NextBatch next = consumer.try_next(soon_ms);
    if (next.outcome != Outcome::batch) return read;
    read += next.batch.size();
  }
}

/// Ends it on another thread.
std::thread ending(std::optional<Producer>& producer) {
  return std::thread([&producer] { producer.reset(); });
}

struct AtExit {
  std::function<void()> body;
  ~AtExit() { body(); }
};

}  // namespace

TEST_CASE("an exception after the last epoch is told although nobody has read the stream") {
  const Directory directory;
  Child child([&] {
    return throws_in_time([&] {
      Producer producer(one_epoch(directory));
      make(producer);
      throw std::runtime_error("of the program");
    });
  });
  REQUIRE(ends_within(child, soon_ms));
  CHECK(child.wait() == 0);
}

TEST_CASE("an exception passes a producer whose batches this process still holds") {
  const Directory directory;
  Child child([&] {
    Batch held;
    const int code = throws_in_time([&] {
      Producer producer(one_epoch(directory));
      Consumer consumer(taking(directory));
      make(producer);
      held = consumer.try_next(soon_ms).batch;
      throw std::runtime_error("of the program");
    });
    return held.size() == 8 && held.position() == 0 ? code : 4;
  });
  REQUIRE(ends_within(child, soon_ms));
  CHECK(child.wait() == 0);
}

TEST_CASE("trainers read all of a stream that an exception ended after its last epoch") {
  const Directory directory;
  std::optional<Consumer> consumer;
  try {
    Producer producer(one_epoch(directory));
    consumer.emplace(taking(directory));
    make(producer);
    throw std::runtime_error("of the program");
  } catch (const std::runtime_error&) {
    CHECK(read_epoch(*consumer) == samples);
    CHECK_THROWS_AS(consumer->try_next(soon_ms), StreamFinished);
  }
}

TEST_CASE("an exception before the last epoch is whole fails the stream") {
  const Directory directory;
  std::optional<Consumer> consumer;
  try {
    Producer producer(one_epoch(directory));
    consumer.emplace(taking(directory));
    make(producer, 8);
    throw std::runtime_error("of the program");
  } catch (const std::runtime_error&) {
    CHECK(consumer->try_next(soon_ms).batch.size() == 8);
    CHECK_THROWS_AS(consumer->try_next(soon_ms), StreamFailed);
  }
}

TEST_CASE("a producer that is made while an exception unwinds ends in order") {
  const Directory directory;
  std::optional<Consumer> consumer;
  Messages messages;
  try {
    const AtExit unwinding{[&] {
      ProducerOptions options = one_epoch(directory);
      options.log = messages.callback();
      Producer producer(std::move(options));
      consumer.emplace(taking(directory));
      make(producer, 8);
    }};
    throw std::runtime_error("of the program");
  } catch (const std::runtime_error&) {
    CHECK(consumer->try_next(soon_ms).batch.size() == 8);
    CHECK_THROWS_AS(consumer->try_next(soon_ms), Stopped);
  }
}

TEST_CASE("a producer that waits for its first consumer at its end says so") {
  const Directory directory;
  Messages messages;
  ProducerOptions options = one_epoch(directory);
  options.log = messages.callback();
  std::optional<Producer> producer(std::move(options));
  make(*producer);
  std::thread end = ending(producer);
  const bool said = holds_within(soon_ms, [&] {
    return messages.text().find("waits for a first consumer") != std::string::npos;
  });
  Consumer consumer(taking(directory));
  CHECK(read_epoch(consumer) == samples);
  end.join();
  CHECK(said);
  CHECK(messages.text().find("batchcast stop s") != std::string::npos);
}

TEST_CASE("a producer that waits at its end names the consumers and its own process") {
  const Directory directory;
  Messages messages;
  ProducerOptions options = one_epoch(directory);
  options.log = messages.callback();
  std::optional<Producer> producer(std::move(options));
  Consumer consumer(taking(directory));
  make(*producer);
  std::optional<Batch> held(consumer.try_next(soon_ms).batch);
  std::thread end = ending(producer);
  const bool said = holds_within(soon_ms, [&] {
    return messages.text().find("`trainer` (this process, 32 behind)") != std::string::npos;
  });
  CHECK(messages.text().find("Batches that this process holds") != std::string::npos);
  held.reset();
  CHECK(read_epoch(consumer) == samples - 8);
  end.join();
  CHECK(said);
}

TEST_CASE("a producer whose end waits for nobody says nothing") {
  const Directory directory;
  Messages messages;
  ProducerOptions options = one_epoch(directory);
  options.log = messages.callback();
  options.linger_ms = 0;
  {
    Producer producer(std::move(options));
    make(producer);
  }
  CHECK(messages.text().empty());
}

TEST_CASE("a producer that ends before its first consumers have come tells those that have") {
  const Directory directory;
  ProducerOptions options = one_epoch(directory);
  options.wait_for = 2;
  options.linger_ms = 0;
  std::optional<Producer> producer(std::move(options));
  Consumer consumer(taking(directory));
  make(*producer);
  producer.reset();
  CHECK_THROWS_AS(consumer.try_next(soon_ms), Stopped);
}

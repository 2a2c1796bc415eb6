// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A consumer that lets go between its loops: when it pauses and leaves, and what it is told then.
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;

namespace {

/// One epoch of a stream that goes on, and a consumer of it.
struct LettingGo {
  batchcast::testing::TemporaryFolder folder;
  std::optional<Producer> producer;
  std::optional<Consumer> consumer;

  explicit LettingGo(Access access = Access::shared) {
    producer.emplace(ProducerOptions{.stream = "let-go",
                                     .schema = {{"value", DType::u64}},
                                     .memory = 64 << 10,
                                     .samples_per_epoch = 4,
                                     .linger_ms = 0,
                                     .directory = folder.path()});
    consumer.emplace(ConsumerOptions{.stream = "let-go",
                                     .batch_size = 4,
                                     .between_epochs = BetweenEpochs::let_go,
                                     .access = access,
                                     .directory = folder.path()});
  }

  /// The batch of one loop, which is over.
  Batch loop() {
    std::thread produces([this] { producer->loan(4)->publish(); });
    std::optional<Batch> batch = consumer->next();
    produces.join();
    REQUIRE(batch);
    CHECK_FALSE(consumer->next());
    return std::move(*batch);
  }

  /// Of the consumer at its producer; `gone` without one.
  [[nodiscard]] std::string state() const {
    const ProducerStats stats = producer->stats();
    return stats.consumers.empty() ? "gone" : std::string(name_of(stats.consumers.front().state));
  }
  [[nodiscard]] bool comes_to_be(const std::string& wanted) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (state() != wanted) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

}  // namespace

TEST_CASE("a consumer that lets go pauses with a batch in hand, which is dropped on any thread") {
  LettingGo scene;
  std::optional<Batch> batch = scene.loop();
  CHECK(scene.comes_to_be("paused"));
  batch->check();
  std::thread([&] { batch.reset(); }).join();
  const Batch another = scene.loop();
  CHECK(another.position() >= 4);
}

TEST_CASE("a consumer that is gone leaves at once, and its batch stays, on any thread") {
  LettingGo scene;
  std::optional<Batch> batch = scene.loop();
  std::optional<Batch> shared = batch->share();
  const std::vector<std::uint64_t> ids(batch->sample_ids().begin(), batch->sample_ids().end());
  scene.consumer.reset();
  CHECK(scene.comes_to_be("gone"));
  batch.reset();
  shared->check();
  CHECK(std::equal(ids.begin(), ids.end(), shared->sample_ids().begin()));
  std::thread([&] { shared.reset(); }).join();
}

TEST_CASE("a consumer that is gone leaves at once where its batches are copies") {
  LettingGo scene(Access::private_copy);
  const Batch batch = scene.loop();
  scene.consumer.reset();
  CHECK(scene.comes_to_be("gone"));
  CHECK(batch.size() == 4);
}

TEST_CASE("between two loops a consumer is told how its stream ended") {
  LettingGo scene;
  static_cast<void>(scene.loop());
  REQUIRE(scene.comes_to_be("paused"));
  SECTION("stopped") {
    scene.producer->stop("enough");
    scene.producer.reset();
    CHECK_THROWS_AS(scene.consumer->next(), Stopped);
    CHECK_THROWS_WITH(scene.consumer->next(),
                      Catch::Contains("was stopped between two loops: enough"));
  }
  SECTION("failed") {
    scene.producer->fail("a broken file");
    scene.producer.reset();
    CHECK_THROWS_AS(scene.consumer->next(), StreamFailed);
    CHECK_THROWS_WITH(scene.consumer->next(),
                      Catch::Contains("with this consumer between two loops: a broken file"));
  }
}

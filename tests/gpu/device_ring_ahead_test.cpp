// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

using namespace batchcast;
using namespace batchcast::testing;

TEST_CASE("a ring on a GPU is filled two epochs beyond its trainers, who want for nothing") {
  const FakeGpu fake("granularity=64K delay_us=50");
  KnownHostRing host(small_stream(10));  // without a bound of its own
  const auto ring = host.ring_on(0);
  REQUIRE(ring->capacity() > 100);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  const Producing producing(host, [&] {
    while (host.produce(8, 10'000) != 0) {
    }
  });
  for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
    REQUIRE(soon([&] { return trainer.published() == 10 * (epoch + 2); }));
    Run run;
    REQUIRE(trainer.reader->next(10, 10'000, run) == Next::batch);
    REQUIRE(run.position == 10 * epoch);
    REQUIRE(trainer.is_right(run));
    trainer.reader->give_back(run.lease);
    REQUIRE(trainer.reader->next(10, 10'000, run) == Next::end_of_epoch);
  }
}

TEST_CASE("a ring on a GPU without trainers begins anew behind what it holds", "[fake]") {
  const FakeGpu fake("granularity=64K delay_us=50");
  ProducerOptions options = small_stream(10);
  options.memory = 1 << 20;
  options.device_memory = 256 << 10;
  options.pure = true;
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  REQUIRE(host.fill() > 700);
  REQUIRE(ring->capacity() < 500);
  const auto train = [](DeviceTrainer& trainer, std::uint64_t batches) {
    while (batches != 0) {
      Run run;
      const Next next = trainer.reader->next(10, 10'000, run);
      REQUIRE(next != Next::timed_out);
      if (next != Next::batch) continue;
      REQUIRE(trainer.is_right(run));
      trainer.reader->give_back(run.lease);
      --batches;
    }
  };
  DeviceTrainer first(*ring, joining(Join::rewind));
  train(first, 70);
  const DeviceTrainer late(*ring, joining(Join::at, 103));
  REQUIRE(late.refused);  // the other one reads on
  CHECK_THAT(late.refused->text, Catch::Contains("once no other consumer is attached"));
  first.leave();
  REQUIRE(
      soon([&] { return host.writer->status().consumers.at(0).state == ConsumerState::resting; }));
  DeviceTrainer second(*ring, joining(Join::at, 103));
  INFO((second.refused ? second.refused->text : ""));
  REQUIRE_FALSE(second.refused);
  CHECK(second.admitted.position == 103);
  train(second, 8);
  second.leave();
  const DeviceTrainer third(*ring, joining(Join::at, 53));  // at once
  INFO((third.refused ? third.refused->text : ""));
  REQUIRE_FALSE(third.refused);
  CHECK(third.admitted.position == 53);
}

TEST_CASE("a trainer on a GPU is not placed where the host ring went back from") {
  const FakeGpu fake("granularity=64K delay_us=50");
  ProducerOptions options = small_stream(10);
  options.pure = true;
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  REQUIRE(host.plan.capacity < 500);
  const Producing producing(host, [&] {
    while (host.produce(8, 10'000) != 0) {
    }
  });
  DeviceTrainer first(*ring, joining(Join::rewind));
  for (int i = 0; i < 60; ++i) first.take(10);
  first.leave();
  REQUIRE(
      soon([&] { return host.writer->status().consumers.at(0).state == ConsumerState::resting; }));
  const auto on_host = host.writer->admit(joining(Join::at, 13), std::make_shared<Desk>());
  REQUIRE(std::holds_alternative<Admitted>(on_host));
  DeviceTrainer second(*ring, joining(Join::rewind));
  INFO((second.refused ? second.refused->text : ""));
  REQUIRE_FALSE(second.refused);
  CHECK(second.admitted.position == 20);
  CHECK(second.take(10) == 20);
}

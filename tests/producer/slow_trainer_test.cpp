// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/slow_trainer.hpp"

#include "../catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

using namespace batchcast;
using namespace batchcast::detail;

namespace {

constexpr std::uint64_t tick_ns = 100'000'000;
constexpr std::uint64_t window_ns = 30'000'000'000;
constexpr std::uint64_t capacity = 1'000;

/// A ring with trainers at one place, which a test changes at each tick.
struct Scene {
  explicit Scene(std::size_t trainers) {
    for (std::size_t i = 0; i < trainers; ++i) {
      ConsumerStatus one;
      one.index = static_cast<std::uint32_t>(i);
      one.consumer_id = 100 + i;
      one.name = "trainer-" + std::to_string(i);
      status.consumers.push_back(one);
    }
    status.claimed = capacity;
  }

  /// The last one goes on slowly, and all others wait for that share of each tick.
  void wait_for_last(double share) {
    for (ConsumerStatus& one : status.consumers) {
      const bool is_last = &one == &status.consumers.back();
      one.position += 10;
      if (is_last) continue;
      one.position = status.consumers.back().position + 900;
      one.wait_ns += static_cast<std::uint64_t>(share * static_cast<double>(tick_ns));
    }
    status.claimed = status.consumers.back().position + capacity;
  }

  /// A window, and who was slow in it.
  std::optional<SlowTrainerWatch::Slow> window(const std::function<void()>& tick) {
    for (std::uint64_t i = 0; i <= window_ns / tick_ns; ++i) {
      tick();
      now_ns += tick_ns;
      const auto slow = watch.look(status, capacity, now_ns, window_ns);
      if (slow) return slow;
    }
    return std::nullopt;
  }

  WriterStatus status;
  SlowTrainerWatch watch;
  std::uint64_t now_ns = 1;
};

}  // namespace

TEST_CASE("a trainer is slow for which the others wait half of the time") {
  Scene scene(3);
  const auto slow = scene.window([&] { scene.wait_for_last(0.6); });
  REQUIRE(slow);
  CHECK(slow->name == "trainer-2");
  CHECK(slow->consumer_id == 102);
  CHECK(slow->index == 2);
  CHECK(slow->waited_share == Approx(0.6).epsilon(0.02));
  CHECK_FALSE(scene.window([&] { scene.wait_for_last(0.4); }));
  CHECK(scene.window([&] { scene.wait_for_last(0.6); }));
}

TEST_CASE("while the workers are what others wait for, no trainer is slow") {
  Scene scene(3);
  CHECK_FALSE(scene.window([&] {
    scene.wait_for_last(0.9);
    scene.status.claimed -= 1;  // there is room
  }));
}

TEST_CASE("a trainer that stands still, a rank and a mirror are not slow") {
  Scene scene(3);
  CHECK_FALSE(scene.window([&] {
    scene.wait_for_last(0.9);
    scene.status.consumers.back().position = 0;
    scene.status.claimed = capacity;
  }));
  Scene ranks(3);
  ranks.status.consumers.back().group.world = 2;
  CHECK_FALSE(ranks.window([&] { ranks.wait_for_last(0.9); }));
  Scene mirrors(3);
  mirrors.status.consumers.back().mirrors = true;
  CHECK_FALSE(mirrors.window([&] { mirrors.wait_for_last(0.9); }));
}

TEST_CASE("a trainer alone, and one that only a faster one waits for, are not slow") {
  Scene alone(1);
  CHECK_FALSE(alone.window([&] { alone.wait_for_last(0); }));
  // The first waits all the time, the second never.
  Scene three(3);
  CHECK_FALSE(three.window([&] {
    three.wait_for_last(0.9);
    three.status.consumers[1].wait_ns = 0;
  }));
}

TEST_CASE("of two that are equally slow one is found") {
  Scene scene(6);
  std::uint64_t ticks = 0;
  const auto slow = scene.window([&] {
    scene.wait_for_last(0.9);
    ConsumerStatus& other = scene.status.consumers[1];
    const std::uint64_t last = scene.status.consumers.back().position;
    other.wait_ns = 0;
    other.position = ++ticks % 3 == 0 ? last - 1 : last + 1;
    scene.status.claimed = std::min(last, other.position) + capacity;
  });
  REQUIRE(slow);
  CHECK(slow->name == "trainer-5");
}

TEST_CASE("counts that a desk makes up are not believed beyond the window") {
  Scene scene(4);
  CHECK_FALSE(scene.window([&] {
    scene.wait_for_last(0);
    scene.status.consumers[0].wait_ns = 1'000 * scene.now_ns;
  }));
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Trainers on GPUs over the lives of their producers, over the fake driver. Other tests of rides
// take either kind of ring (BATCHCAST_TEST_PLACEMENT).
#include "../catch.hpp"
#include "../fake_cuda/control.hpp"
#include "consume.hpp"
#include "fake_gpus.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "ride.hpp"

#include <batchcast/core/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t epoch_samples = 3'000;

Process serve_on(const std::string& places, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"n=" + std::to_string(epoch_samples), "threads=2", "places=" + places});
  Process producer("phoenix", more);
  static_cast<void>(producer.expect("serves"));
  return producer;
}

}  // namespace

TEST_CASE("trainers on GPUs ride through kills of their producer", "[ride][gpu][short]") {
  std::mt19937_64 random(test_seed("ride on GPUs"));
  const Gpus gpus("granularity=4K devices=2");
  const OwnDirectory directory;
  constexpr std::uint64_t epochs = 8;
  const std::vector<std::string> placements = {"cuda:0", "cuda:0", "cuda:1", "host"};
  const std::vector<std::uint64_t> sizes = {37, 64, 7, 250};
  const std::vector<std::uint64_t> pauses_us = {5'000, 8'000, 800, 30'000};
  Process producer = serve_on("cuda:0,cuda:1", {"wait_for=4"});
  std::vector<Process> riders;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    riders.emplace_back("rider",
                        std::vector<std::string>{
                            "placement=" + placements[i], "batch=" + std::to_string(sizes[i]),
                            "epochs=" + std::to_string(epochs), "hold=" + std::to_string(i % 2),
                            "pause_us=" + std::to_string(pauses_us[i])});
    static_cast<void>(riders.back().expect("attached"));
  }
  for (std::uint64_t kills = scaled(6, 2); kills > 0; --kills) {
    pause_us(1'000 + random() % 700'000);
    producer.kill_and_wait();
    if (random() % 3 == 0) pause_us(random() % 100'000);
    producer = serve_on("cuda:0,cuda:1");
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Words words = expect_sound(riders[i], "left", 60'000);
    CHECK(words.text("digest") == digest_of_ride(sizes[i], epochs, epoch_samples));
    CHECK(words.number("lives") > 1);
    CHECK(words.number("mismatched") == 0);
  }
  producer.tell("stop");
  static_cast<void>(producer.wait());
}

TEST_CASE("a trainer on a GPU that validates meanwhile keeps its place", "[ride][gpu][short]") {
  const Gpus gpus("granularity=4K");
  const OwnDirectory directory;
  Process producer = serve_on("cuda:0");
  ConsumerOptions options = quiet(50);
  options.placement = "cuda:0";
  Consumer validates(options);
  Checker checker(epoch_samples);
  const auto take = [&](std::uint64_t until) {
    while (checker.next() < until) {
      if (const auto batch = validates.next()) checker.see(*batch);
    }
  };
  take(500);
  Process trains("rider", {"batch=64", "epochs=4", "pause_us=1000"});
  static_cast<void>(trains.expect("attached"));
  pause_us(1'200'000);  // where it is is noted once a second
  for (int life = 0; life < 2; ++life) {
    producer.kill_and_wait();
    producer = serve_on("cuda:0");
    pause_us(500'000);
  }
  CHECK_FALSE(trains.line(200));  // it cannot have gone further than the rings are long
  take(4 * epoch_samples);
  CHECK(checker.fault() == "");
  static_cast<void>(expect_sound(trains, "left"));
}

TEST_CASE("a GPU without room for two rings gets the next one once the last is drained",
          "[ride][gpu][short]") {
  const Gpus gpus("granularity=4K memory=1M");
  const OwnDirectory directory;
  Process producer = serve_on("cuda:0", {"wait_for=2", "device_memory=700000"});
  CHECK(batchcast_fake_cuda_used_bytes(0) > (1 << 19));
  std::vector<Process> riders;
  for (int i = 0; i < 2; ++i) {
    riders.emplace_back("rider", std::vector<std::string>{"placement=cuda:0", "batch=37",
                                                          "epochs=4", "pause_us=1000"});
    static_cast<void>(riders.back().expect("attached"));
  }
  for (int life = 0; life < 2; ++life) {
    pause_us(200'000);
    producer.kill_and_wait();
    producer = serve_on("cuda:0", {"device_memory=700000"});
  }
  for (Process& rider : riders) {
    const Words words = expect_sound(rider, "left", 60'000);
    CHECK(words.text("digest") == digest_of_ride(37, 4, epoch_samples));
    CHECK(words.number("lives") > 1);
  }
  producer.tell("stop");
  static_cast<void>(producer.wait());
}

TEST_CASE("a GPU without room makes its own trainers wait, and no others", "[ride][gpu][short]") {
  const Gpus gpus("granularity=4K memory=1M");
  const OwnDirectory directory;
  const std::vector<std::string> memory = {"memory=800000", "device_memory=700000"};
  Process producer = serve_on("cuda:0", memory);
  ConsumerOptions options = quiet(50);
  options.placement = "cuda:0";
  Consumer on_gpu(options);
  Consumer on_host(quiet(64));
  Checker gpu_checker(epoch_samples);
  Checker host_checker(epoch_samples);
  const auto take = [](Consumer& consumer, Checker& checker, std::uint64_t until) {
    while (checker.next() < until) {
      if (const auto batch = consumer.next()) checker.see(*batch);
    }
  };
  take(on_gpu, gpu_checker, 500);
  take(on_host, host_checker, 500);
  std::optional<Batch> held = on_gpu.next();
  REQUIRE(held);
  gpu_checker.see(*held);
  pause_us(1'200'000);  // where they are is noted once a second
  for (int life = 0; life < 2; ++life) {
    producer.kill_and_wait();
    const std::uint64_t began_ns = now_ns();
    producer = serve_on("cuda:0", memory);
    take(on_host, host_checker, 700 + static_cast<std::uint64_t>(life) * 300);
    CHECK(seconds_from_ns(now_ns() - began_ns) < 10);
    // No further than the ring is long: the samples of the trainer on the GPU stay there.
    for (NextBatch next = on_host.try_next(500); next.outcome != Outcome::timed_out;
         next = on_host.try_next(500)) {
      if (next.outcome == Outcome::batch) host_checker.see(next.batch);
      REQUIRE(host_checker.next() < 4 * epoch_samples);
    }
    CHECK(batchcast_fake_cuda_used_bytes(0) < (1 << 20));  // of the first producer's ring
  }
  CHECK(on_host.stats().epochs_mismatched == 0);
  held.reset();
  for (std::uint64_t until = gpu_checker.next() + 400; until <= 4 * epoch_samples; until += 400) {
    take(on_gpu, gpu_checker, until);
    take(on_host, host_checker, until);
  }
  CHECK(gpu_checker.fault() == "");
  CHECK(host_checker.fault() == "");
  CHECK(gpu_checker.first() == 0);
  producer.tell("stop");
  static_cast<void>(producer.wait());
}

TEST_CASE("ranks on GPUs of their own ride through kills of their producer",
          "[ride][gpu][groups][short]") {
  std::mt19937_64 random(test_seed("ranks ride on GPUs"));
  // Two rings of 700,000 bytes do not fit into 1 MiB: the next one waits until the last is drained.
  const bool have_room = GENERATE(true, false);
  const Gpus gpus(have_room ? "granularity=4K devices=2" : "granularity=4K devices=2 memory=1M");
  const OwnDirectory directory;
  const std::string memory = have_room ? "threads=2" : "device_memory=700000";
  // Ranks that are late would begin at another epoch.
  Process producer = serve_on("cuda:0,cuda:1", {"ordered=1", "wait_for=1", memory});
  std::vector<Process> ranks;
  for (const char* place : {"cuda:0", "cuda:1", "host"}) {
    ranks.emplace_back("rank",
                       std::vector<std::string>{"batch=20", "epochs=4", "pause_us=8000", "world=3",
                                                "placement=" + std::string(place),
                                                "rank=" + std::to_string(ranks.size())});
  }
  for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
  for (int kills = 0; kills < 3; ++kills) {
    pause_us(100'000 + random() % 400'000);
    producer.kill_and_wait();
    producer = serve_on("cuda:0,cuda:1", {"ordered=1", memory});
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ConsumerOptions own = rank_options(static_cast<std::uint32_t>(rank), 3, 20);
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      std::string parts;
      for (const Part& part : parts_of(own, epoch * epoch_samples, (epoch + 1) * epoch_samples)) {
        parts += std::to_string(part.position) + ":" + std::to_string(part.size) + ",";
      }
      CHECK(ranks[rank].expect("loop").text("parts") == parts);
    }
    const Words done = ranks[rank].expect("done");
    INFO(done.line());
    CHECK((done.text("sound") == "yes" && done.text("over") == "left"));
  }
  producer.tell("stop");
  static_cast<void>(producer.wait());
}

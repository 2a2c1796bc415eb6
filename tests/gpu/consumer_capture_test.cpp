// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "capture.hpp"
#include "consumer_scene.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// Trainers that capture CUDA graphs, beside streams and inside of loops over them.
namespace {

constexpr const char* settings = "granularity=4K delay_us=50";

/// What a consumer logs, from whatever thread.
class Log {
 public:
  [[nodiscard]] LogCallback callback() {
    return [this](LogLevel level, std::string_view text) {
      const std::lock_guard lock(mutex_);
      if (level == LogLevel::warning) warnings_.emplace_back(text);
    };
  }
  [[nodiscard]] std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

/// All that a trainer does with a stream, from attaching to leaving.
void train(Scene& scene, ConsumerOptions options) {
  std::optional<Consumer> consumer(std::in_place, std::move(options));
  for (int i = 0; i < 12; ++i) {
    static_cast<void>(scene.publish(16));
    const std::optional<Batch> batch = consumer->next();
    if (!batch) throw Error("no batch");
    if (const std::string fault = fault_of(*batch); !fault.empty()) throw Error(fault);
  }
}

/// What was thrown; empty if nothing was.
template <class Body>
std::string on_another_thread(const Body& body) {
  std::string thrown;
  std::thread([&] {
    try {
      body();
    } catch (const std::exception& error) {
      thrown = error.what();
    }
  }).join();
  return thrown;
}

std::uint64_t leases(const Consumer& consumer) { return consumer.stats().leases_held; }

/// A consumer that holds a batch which its stream reads, and what it logs.
struct Reading {
  Reading(Where where, void* stream) : scene(where), consumer(options()) {
    consumer.set_cuda_stream(stream);
    REQUIRE(scene.publish(16) == 16);
    batch = consumer.next();
    REQUIRE(batch);
  }
  ConsumerOptions options() {
    ConsumerOptions chosen = scene.consumer(16);
    chosen.log = log.callback();
    return chosen;
  }

  Scene scene;
  Log log;
  Consumer consumer;
  std::optional<Batch> batch;
};

}  // namespace

TEST_CASE("a graph that is captured is spoiled by no consumer, and no producer, beside it",
          "[gpu]") {
  const FakeSettings fake(settings);
  const auto device = detail::cuda::Device::open(0);
  const detail::cuda::DeviceBuffer from(device, 4096), to(device, 4096);
  const ForeignStream stream(device);
  Capturing capture(device, stream.handle());
  detail::cuda::copy_on_device(*device, stream.handle(), to.data(), from.data(), 4096);
  SECTION("on another thread") {
    for (const Where where : possible_places()) {
      CHECK(on_another_thread([&] {
              Scene scene(where);
              for (const Access access : {Access::shared, Access::private_copy}) {
                ConsumerOptions options = scene.consumer(16);
                options.access = access;
                train(scene, options);
              }
            }) == "");
    }
  }
  SECTION("on its own") {
    Scene scene(Where::device);
    train(scene, scene.consumer(16));
  }
  CHECK(capture.end() == 0);
  capture.launch();
}

TEST_CASE("a batch that is dropped in a capture is kept until the stream has come further",
          "[gpu]") {
  const FakeSettings fake(settings);
  HeldStream trainer;
  Reading reading(Where::device, trainer.handle());
  auto& [scene, log, consumer, batch] = reading;
  const auto device = detail::cuda::Device::open(0);
  Capturing capture(device, trainer.handle());
  trainer.read(*batch);
  batch.reset();
  scene.fill_up();  // the polling thread looks many times meanwhile
  CHECK(leases(consumer) == 1);
  CHECK(capture.end() == 0);
  scene.fill_up();
  CHECK(leases(consumer) == 1);  // the stream is held still
  trainer.release();
  CHECK(eventually([&] { return leases(consumer) == 0; }));
  REQUIRE(log.warnings().size() == 1);
  CHECK_THAT(log.warnings()[0], Catch::Contains("CUDA graph"));
}

TEST_CASE("a drop on the default stream waits for captures that the stream would wait for",
          "[gpu]") {
  const FakeSettings fake(settings);
  const auto device = detail::cuda::Device::open(0);
  const ForeignStream blocking(device, 0);
  void* const stream = GENERATE(0, 2) == 0 ? nullptr : reinterpret_cast<void*>(2);
  Reading reading(Where::device, stream);
  auto& [scene, log, consumer, batch] = reading;
  // Of the streams that each thread has for itself it is the own one that is captured.
  Capturing capture(device, stream == nullptr ? blocking.handle() : stream);
  batch.reset();
  scene.fill_up();
  CHECK(leases(consumer) == 1);
  CHECK(capture.end() == 0);
  CHECK(eventually([&] { return leases(consumer) == 0; }));
}

TEST_CASE("no error but a lost context's is taken for a stream that has passed", "[gpu][fake]") {
  const int code = GENERATE(900, 907, 1, 999);
  const bool at_record = GENERATE(true, false);
  INFO("CUresult " << code << (at_record ? " of the record" : " of the query"));
  const FakeSettings fake(settings_for(Where::pinned, settings));
  HeldStream trainer;
  Reading reading(Where::pinned, trainer.handle());
  auto& [scene, log, consumer, batch] = reading;
  if (at_record) batchcast_fake_cuda_answer(code);
  batch.reset();
  if (!at_record) batchcast_fake_cuda_answer(code);
  REQUIRE(eventually([&] { return !log.warnings().empty(); }));
  scene.fill_up();
  CHECK(leases(consumer) == 1);
  batchcast_fake_cuda_answer(0);
  scene.fill_up();
  CHECK(leases(consumer) == 1);
  trainer.release();
  CHECK(eventually([&] { return leases(consumer) == 0; }));
  REQUIRE(log.warnings().size() == 1);
  CHECK_THAT(log.warnings()[0], Catch::Contains(code >= 900 && code <= 908
                                                    ? "CUDA graph"
                                                    : "does not say whether a stream has read"));
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/limiter.hpp"
#include "observe/stream_json.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/feeder.hpp>
#include "control/transport.hpp"
#include "core/cpu_time.hpp"
#include "stream/stream_directory.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "catch.hpp"
#include "temporary_folder.hpp"

// Loads whose times are known, and what the counters of a producer say of them.
using namespace batchcast;
using namespace batchcast::observe;

namespace {

struct Load {
  std::uint64_t read_us = 0;  ///< sleeps
  std::uint64_t spin_us = 0;  ///< of a processor, however long that takes
};

void sleep_us(std::uint64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

class LoadMaker final : public SampleMaker {
 public:
  explicit LoadMaker(Load load) : load_(load) {}
  const Schema& schema() const noexcept override { return schema_; }
  std::uint64_t samples_per_epoch() const noexcept override { return 1'000'000; }
  std::string recipe_json() const override { return "{}"; }
  std::unique_ptr<SampleWorker> worker() const override { return std::make_unique<Worker>(load_); }
  MakerCounts counts() const override {
    MakerCounts counts;
    counts.bad_samples = 3;
    return counts;
  }

 private:
  class Worker final : public SampleWorker {
   public:
    explicit Worker(Load load) : load_(load) {}
    void make(const SampleSlots& slots) override {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::uint64_t began_ns = now_ns();
        if (load_.read_us != 0) sleep_us(load_.read_us);
        const std::uint64_t read_ns = now_ns();
        const std::uint64_t cpu_ns = thread_cpu_ns();
        while (thread_cpu_ns() - cpu_ns < load_.spin_us * 1'000) {
        }
        const std::uint64_t index = slots.index_in_epoch + i;
        std::memcpy(slots.fields[0].data + i * slots.fields[0].stride_bytes, &index, sizeof index);
        slots.sample_ids[i] = index;
        read_ns_ += read_ns - began_ns;
        make_ns_ += now_ns() - read_ns;
      }
    }
    MakerTimes times() const noexcept override { return {read_ns_.load(), make_ns_.load()}; }

   private:
    Load load_;
    std::atomic<std::uint64_t> read_ns_{0};
    std::atomic<std::uint64_t> make_ns_{0};
  };

  Schema schema_ = {{"value", DType::u64}};
  Load load_;
};

struct Scene {
  explicit Scene(Load load, unsigned workers = 1)
      : maker(load), producer(options()), feeder(producer, maker, {workers}) {}

  [[nodiscard]] ProducerOptions options() const {
    ProducerOptions options = producer_options(maker, "loaded");
    options.memory = 64 << 10;
    options.linger_ms = 0;
    options.directory = folder.path();
    options.log = [](LogLevel, std::string_view) {};
    return options;
  }
  [[nodiscard]] Consumer consumer(const std::string& name) const {
    ConsumerOptions options;
    options.stream = "loaded";
    options.name = name;
    options.batch_size = 32;
    options.directory = folder.path();
    return Consumer(options);
  }
  [[nodiscard]] Stream look() const {
    const std::string control = stream_paths(folder.path(), "loaded").control;
    const auto answer = ask_control(control, R"({"command":"stats"})", 5'000);
    REQUIRE(answer);
    return stream_of(nlohmann::json::parse(*answer));
  }

  testing::TemporaryFolder folder;
  LoadMaker maker;
  Producer producer;
  Feeder feeder;
};

/// The feeder counts five times a second.
void let_it_count() { sleep_us(450'000); }

const Trainer& named(const Stream& stream, const std::string& name) {
  for (const Trainer& one : stream.trainers) {
    if (one.name == name) return one;
  }
  FAIL("no trainer " << name);
  return stream.trainers.front();
}

}  // namespace

TEST_CASE("a slow source shows in reading, and in what its trainer waits", "[observe]") {
  const Scene scene({.read_us = 1'000});
  Consumer consumer = scene.consumer("hungry");
  const std::uint64_t began_ns = now_ns();
  for (int i = 0; i < 30; ++i) REQUIRE(consumer.next());
  const double took = seconds_from_ns(now_ns() - began_ns);
  let_it_count();
  const Stream stream = scene.look();
  REQUIRE(stream.making);
  const Making& making = *stream.making;
  CHECK(making.workers == 1);
  CHECK(making.reading_seconds >= 0.9);  // 960 samples of a millisecond
  CHECK(making.reading_seconds > 5 * making.making_seconds);
  CHECK(making.cpu_seconds < making.reading_seconds / 2);
  CHECK(making.bad_samples == 3);
  REQUIRE(making.each.size() == 1);
  CHECK(making.each[0].reading_seconds == Approx(making.reading_seconds).margin(0.002));
  const Trainer& hungry = named(stream, "hungry");
  CHECK(hungry.wait_seconds > took / 2);
  CHECK(hungry.wait_seconds <= took);
  CHECK(hungry.samples == 960);
  CHECK(stream.delivered == 960);
  CHECK(limit_of({}, stream, -1).by == Limiter::reading);
}

TEST_CASE("work of a processor shows in making and in processor seconds", "[observe]") {
  const Scene scene({.spin_us = 500});
  Consumer consumer = scene.consumer("hungry");
  for (int i = 0; i < 30; ++i) REQUIRE(consumer.next());
  let_it_count();
  const Stream stream = scene.look();
  REQUIRE(stream.making);
  CHECK(stream.making->making_seconds >= 0.45);  // 960 samples of half a millisecond
  CHECK(stream.making->making_seconds > 5 * stream.making->reading_seconds);
  CHECK(stream.making->cpu_seconds >= 0.45);
  CHECK(stream.making->cpu_seconds < 1.2 * stream.making->making_seconds);
  CHECK(stream.process_cpu_seconds >= stream.making->cpu_seconds);
}

TEST_CASE("a full ring waits for the slow trainer, and others do", "[observe]") {
  const Scene scene({}, 1);
  Consumer slow = scene.consumer("slow");
  Consumer fast = scene.consumer("fast");
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends) static_cast<void>(fast.try_next(100));
  });
  constexpr int batches = 300;
  for (int i = 0; i < batches; ++i) {
    REQUIRE(slow.next());
    sleep_us(4'000);
  }
  const Stream stream = scene.look();
  ends = true;
  reader.join();
  const double slept = batches * 0.004;
  const Trainer& for_slow = named(stream, "slow");
  const Trainer& for_fast = named(stream, "fast");
  CHECK(for_slow.waited_for_seconds > slept / 2);
  CHECK(for_slow.waited_for_seconds <= stream.uptime_seconds);
  CHECK(for_fast.waited_for_seconds < for_slow.waited_for_seconds / 10);
  CHECK(for_slow.wait_seconds < slept / 10);
  CHECK(for_fast.wait_seconds > slept / 4);
  CHECK(stream.rings.at(0).used > stream.capacity / 2);
  const Limit limit = limit_of({}, stream, -1);
  CHECK(limit.by == Limiter::trainer);
  CHECK(limit.trainer == "slow");
}

TEST_CASE("what a trainer had still counts when it has left", "[observe]") {
  const Scene scene({});
  {
    Consumer consumer = scene.consumer("gone");
    for (int i = 0; i < 10; ++i) REQUIRE(consumer.next());
  }
  Consumer consumer = scene.consumer("here");
  REQUIRE(consumer.next());
  std::uint64_t delivered = 0;
  for (int i = 0; i < 500 && delivered != 352; ++i) {  // the door hears of the first one's end
    delivered = scene.look().delivered;
    sleep_us(10'000);
  }
  CHECK(delivered == 352);
}

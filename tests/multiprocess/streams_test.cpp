// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

void publish_some(Producer& producer, std::uint64_t samples) {
  while (samples > 0) {
    auto loan = producer.loan(std::min<std::uint64_t>(samples, 32));
    if (!loan) return;
    samples -= loan->size();
    fill(*loan);
    loan->publish();
  }
}

}  // namespace

TEST_CASE("epochs of unknown length, left early by several consumers", "[streams][short][device]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("unknown epochs");
  std::mt19937_64 random(seed);
  ProducerOptions options = producer_options("mixed", 0, 128 << 10);
  options.wait_for = 4;
  options.linger_ms = 30'000;
  Producer producer(std::move(options));
  std::vector<Process> consumers;
  const std::uint64_t epochs = scaled(60, 6);
  for (int i = 0; i < 4; ++i) {
    consumers.emplace_back(
        "consume", std::vector<std::string>{"batch=" + std::to_string(7 + 10 * i),
                                            "break_every=" + std::to_string(i), "hold=1", "dance=1",
                                            "seed=" + std::to_string(seed % 1'000 + i)});
  }
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    publish_some(producer, 1 + random() % 900);
    producer.end_epoch();
  }
  CHECK(producer.finish());
  const std::uint64_t published = producer.stats().published;
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    const Words words = expect_sound(consumers[i], "StreamFinished");
    CHECK(words.number("cursor") == static_cast<std::int64_t>(published));
    CHECK(words.number("matched") + words.number("unknown") == static_cast<std::int64_t>(epochs));
    if (i == 0) {
      CHECK(words.number("samples") == static_cast<std::int64_t>(published));
      CHECK(words.number("matched") == static_cast<std::int64_t>(epochs));
    }
  }
  CHECK(producer.stats().late_wakeups == 0);
}

TEST_CASE("consumers that came first notice the stream within 50 ms", "[streams][short]") {
  const OwnDirectory directory;
  std::vector<double> delays_ms;
  for (std::uint64_t i = 0; i < scaled(20, 3); ++i) {
    Process early("consume", {"epochs=1", "says_waits=1"});
    static_cast<void>(early.expect("waits"));
    ProducerOptions options = producer_options();
    options.epochs = 1;
    Server server(std::move(options), {});
    const std::uint64_t serves_ns = now_ns();
    static_cast<void>(early.expect("attached"));
    delays_ms.push_back(seconds_from_ns(now_ns() - serves_ns) * 1e3);
    server.join();
    CHECK(server.producer().finish());
    static_cast<void>(expect_sound(early, "left"));
  }
  std::printf("a waiting consumer is attached after p50 %.1f ms, at most %.1f ms\n",
              percentile(delays_ms, 0.5), *std::max_element(delays_ms.begin(), delays_ms.end()));
  CHECK(percentile(delays_ms, 0.5) <= (slow_build() ? 500 : 50));
}

TEST_CASE("the first publication waits for its consumers, also at the end",
          "[streams][short][device]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("small", 50);
  options.epochs = 2;
  options.wait_for = 2;
  auto server = std::make_unique<Server>(std::move(options), ServePlan{});
  server->join();  // all of it fits into the ring
  Process first("consume", {});
  static_cast<void>(first.expect("attached"));
  CHECK(server->producer().stats().published == 0);
  std::atomic<bool> returned = false;
  bool finished = false;
  std::thread finishes([&] {
    finished = server->producer().finish();
    returned = true;
  });
  pause_us(50'000);
  CHECK_FALSE(returned);
  Process second("consume", {});
  finishes.join();
  CHECK(finished);
  for (Process* consumer : {&first, &second}) {
    const Words words = expect_sound(*consumer, "StreamFinished");
    CHECK(words.number("samples") == 100);
    CHECK(words.number("matched") == 2);
  }
}

TEST_CASE("a producer that goes out of scope lets its consumers drain",
          "[streams][short][device]") {
  const OwnDirectory directory;
  Process late;
  {
    ProducerOptions options = producer_options("small", 100);
    options.epochs = 3;
    options.ahead = 0;  // all of it is made before a consumer comes
    options.wait_for = 1;
    Producer producer(std::move(options));
    publish_some(producer, 300);
    late = Process("consume", {"pause_us=200"});
  }
  const Words words = expect_sound(late, "StreamFinished");
  CHECK(words.number("samples") == 300);
}

TEST_CASE("finish waits no longer than its linger", "[streams][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("small", 100);
  options.epochs = 1;
  options.linger_ms = 200;
  Producer producer(std::move(options));
  publish_some(producer, 100);
  const std::uint64_t started_ns = now_ns();
  CHECK_FALSE(producer.finish());
  CHECK(seconds_from_ns(now_ns() - started_ns) > 0.19);
  CHECK(seconds_from_ns(now_ns() - started_ns) < 3);
}

TEST_CASE("one consumer per thread, with batch sizes that change and loops left early",
          "[streams][short][device]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("consumers in threads");
  ProducerOptions options = producer_options("padded", 701, 512 << 10);
  options.wait_for = 4;
  options.epochs = scaled(200, 5);
  const std::uint64_t epochs = options.epochs;
  Server server(std::move(options), {.threads = 2, .drops_per_hundred = 10, .seed = seed});
  std::vector<Consumed> results(4);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      ConsumerOptions mine = stream_options();
      mine.batch_size = 7 + i;
      ConsumePlan plan;
      plan.dance = true;
      plan.hold = 2;
      plan.break_every = i;
      plan.seed = seed + i;
      results[i] = consume(mine, plan);
    });
  }
  for (std::thread& thread : threads) thread.join();
  server.stop();
  for (const Consumed& result : results) {
    INFO(result.line());
    CHECK(result.fault == "");
    CHECK(result.over == "StreamFinished");
    CHECK(result.stats.epochs_mismatched == 0);
    CHECK(result.stats.epochs_matched + result.stats.epochs_unknown == epochs);
    CHECK(result.stats.late_wakeups == 0);
  }
  // Who never left a loop early had every epoch whole.
  CHECK(results[0].stats.epochs_matched == epochs);
  CHECK(server.producer().stats().late_wakeups == 0);
}

TEST_CASE("leases come back from other threads, in any order", "[streams][short][device]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("leases of threads");
  ProducerOptions options = producer_options("mixed", 1'009, 512 << 10);
  Server server(std::move(options), {.threads = 2, .loan_max = 16});
  ConsumerOptions mine = stream_options();
  mine.batch_size = 16;
  Consumer consumer(mine);
  std::mutex mutex;
  std::vector<Batch> shelf;
  std::set<std::uint64_t> out;  // positions of all batches, on the shelf or in a thread's hands
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> faults = 0;
  std::vector<std::thread> returners;
  for (int t = 0; t < 3; ++t) {
    returners.emplace_back([&, t] {
      std::mt19937_64 random(seed + static_cast<std::uint64_t>(t));
      for (;;) {
        Batch batch;
        {
          const std::lock_guard lock(mutex);
          if (shelf.empty() && done) return;
          if (!shelf.empty()) {
            std::swap(shelf[random() % shelf.size()], shelf.back());
            batch = std::move(shelf.back());
            shelf.pop_back();
          }
        }
        if (batch) {
          if (!fault_of(batch).empty()) ++faults;
          const std::uint64_t position = batch.position();
          batch = Batch();
          const std::lock_guard lock(mutex);
          out.erase(position);
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  Checker checker(1'009);
  const auto room = [&] {
    const std::lock_guard lock(mutex);
    return out.empty() || consumer.cursor() + 16 <= *out.begin() + consumer.capacity();
  };
  for (std::uint64_t i = 0; i < scaled(20'000, 500);) {
    while (!room()) std::this_thread::yield();
    auto batch = consumer.next();
    if (!batch) continue;
    ++i;
    checker.see(*batch);
    const std::lock_guard lock(mutex);
    out.insert(batch->position());
    shelf.push_back(std::move(*batch));
  }
  done = true;
  for (std::thread& returner : returners) returner.join();
  CHECK(faults == 0);
  CHECK(checker.fault() == "");
  CHECK(consumer.stats().late_wakeups == 0);
  CHECK(eventually([&] { return consumer.stats().leases_held == 0; }, 1'000));
}

TEST_CASE("batches outlive their loop, their consumer and their producer",
          "[streams][short][device]") {
  const OwnDirectory directory;
  std::deque<Batch> kept;
  {
    auto server = std::make_unique<Server>(producer_options("mixed", 100), ServePlan{});
    {
      ConsumerOptions mine = stream_options();
      mine.batch_size = 20;
      Consumer consumer(mine);
      for (Batch& batch : consumer) {
        kept.push_back(batch.share());
        if (kept.size() == 3) break;
      }
    }
    for (const Batch& batch : kept) CHECK(fault_of(batch) == "");
    // On the host they are this process's own by now, on a GPU the producer counts on them.
    const std::size_t attached = stream_options().placement.is_host() ? 0 : 1;
    CHECK(eventually([&] { return server->producer().stats().consumers.size() == attached; }));
    kept.pop_front();
    for (const Batch& batch : kept) CHECK(fault_of(batch) == "");
  }
  for (const Batch& batch : kept) CHECK(fault_of(batch) == "");
  kept.clear();
}

TEST_CASE("a slow consumer of free pace skips or is told, and accepts nothing torn",
          "[free][short][device][tight]") {
  const OwnDirectory directory;
  const std::string on_miss = GENERATE("skip", "error");
  Server server(producer_options("mixed", 1'009, 64 << 10), {.threads = 2, .loan_max = 32});
  Process pace_maker("consume", {"name=pace_maker"});
  static_cast<void>(pace_maker.expect("attached"));
  ConsumerOptions mine = stream_options();
  mine.batch_size = 32;
  mine.pace = Pace::free;
  mine.on_miss = on_miss == "error" ? OnMiss::error : OnMiss::skip;
  Consumer consumer(mine);
  Checker checker(1'009);
  std::uint64_t missed = 0;
  for (std::uint64_t i = 0; i < scaled(3'000, 100); ++i) {
    try {
      auto batch = consumer.next();
      if (batch) {
        checker.expect_gap();
        checker.see(*batch);
      }
    } catch (const Missed& error) {
      ++missed;
    }
    if (i % 10 == 0) {  // until what it has not read is gone
      CHECK(eventually([&] {
        return server.producer().stats().published > consumer.cursor() + 2 * consumer.capacity();
      }));
    }
  }
  CHECK(checker.fault() == "");
  CHECK(consumer.stats().skipped > 0);
  CHECK((missed > 0) == (on_miss == "error"));
  CHECK(consumer.stats().epochs_mismatched == 0);
  server.stop();
  static_cast<void>(expect_sound(pace_maker, "Stopped"));
}

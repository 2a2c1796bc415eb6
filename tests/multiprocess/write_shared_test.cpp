// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "kept_batch.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// Trainers that begin to write while they, and the producer, go on.
namespace {

/// One trainer: reads, keeps some batches, writes into them on two threads while it asks for more,
/// and goes on. Empty if all was sound.
std::string write_while_reading(ConsumerOptions options, std::mt19937_64& random) {
  options.batch_size = 1 + random() % 24;  // 17 of them fit into either ring
  std::atomic<int> warnings{0};
  options.log = [&](LogLevel level, std::string_view text) {
    if (level != LogLevel::warning) return;
    if (text.find("`s`") == text.npos || text.find("access = private") == text.npos)
      warnings += 100;
    ++warnings;
  };
  Consumer consumer(options);
  Checker checker(consumer.samples_per_epoch());
  std::deque<Kept> kept;
  const std::uint64_t alone = random() % 60;  // so that it begins anywhere in the ring
  for (std::uint64_t i = 0; i < alone + 3; ++i) {
    auto batch = consumer.next();
    if (!batch) continue;
    checker.see(*batch);
    if (batch->writable() || !batch->keeps_writes()) return "writable before the first write";
    if (i >= alone) kept.emplace_back(std::move(*batch));
  }
  const std::uint64_t delay_us = random() % 300;
  std::thread first([&] {
    pause_us(delay_us);
    for (std::size_t k = 0; k < kept.size(); k += 2) kept[k].write(0);
  });
  std::thread second([&] {
    for (std::size_t k = 1; k < kept.size(); k += 2) kept[k].write(1);
  });
  std::vector<Batch> meanwhile;  // held, as a queue would
  for (int i = 0; i < 4; ++i) {
    if (auto batch = consumer.next()) {
      checker.see(*batch);
      meanwhile.push_back(std::move(*batch));
    }
  }
  first.join();
  second.join();
  for (const Batch& batch : meanwhile) {
    if (const auto fault = fault_of(batch); !fault.empty()) return "held meanwhile: " + fault;
  }
  meanwhile.clear();
  int writable = 0;
  for (int i = 0; i < 80; ++i) {
    if (i == 10) {  // the ring goes on once they are dropped
      for (const Kept& one : kept) {
        if (!one.shows_it()) return "a kept batch no longer shows what was written into it";
      }
      kept.clear();
    }
    auto batch = consumer.next();
    if (!batch) continue;
    checker.see(*batch);
    writable += batch->writable() ? 1 : -1000;
    const auto image = batch->writable_field<std::byte>("image");
    std::memset(image.data(), 0x77, image[0].size());
  }
  if (warnings != 1) return "warnings: " + std::to_string(warnings);
  if (writable < 0) return "a later batch was not a copy";
  return checker.fault();
}

/// One trainer that is as far as the stream: what it reads was just published, into a chunk that
/// another of its threads is making private. Empty if all was sound.
std::string write_at_the_head(ConsumerOptions options, std::mt19937_64& random) {
  options.batch_size = 4;
  options.join = Join::now;
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  Batch written;
  while (!written) {
    if (auto batch = consumer.next()) written = std::move(*batch);
  }
  std::atomic<bool> writes{false};
  std::thread writer([&, delay_us = random() % 200] {
    writes = true;
    pause_us(delay_us);
    *static_cast<volatile std::byte*>(bytes_of(written, 0).data()) = std::byte{1};
  });
  while (!writes) std::this_thread::yield();
  std::string fault;
  std::vector<Batch> seen;
  for (int i = 0; i < 150 && fault.empty(); ++i) {
    auto batch = consumer.next();
    if (!batch) continue;
    fault = fault_of(*batch);
    if (i % 10 == 0) seen.push_back(std::move(*batch));
  }
  writer.join();
  for (const Batch& batch : seen) {
    if (fault.empty()) fault = fault_of(batch);
  }
  return fault;
}

int write_shared(const Words& words) {
  std::mt19937_64 random(static_cast<std::uint64_t>(words.number("seed")));
  std::string fault;
  for (std::int64_t i = 0; i < words.number("times") && fault.empty(); ++i) {
    fault = words.has("head") ? write_at_the_head(consumer_options(words), random)
                              : write_while_reading(consumer_options(words), random);
  }
  say("done sound=" + std::string(fault.empty() ? "yes" : "no") + " " + fault);
  return 0;
}

const RoleRegistration into_shared("write_shared", write_shared);

}  // namespace

TEST_CASE("whoever writes into batches does it alone", "[write]") {
  const std::uint64_t seed = test_seed("write");
  const OwnDirectory directory;
  Server server(producer_options(GENERATE("mixed", "padded"), 700, 512 << 10), {2});
  Process other("consume", {"name=other"});
  static_cast<void>(other.expect("attached"));
  std::vector<Process> writers;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t own = seed + static_cast<std::uint64_t>(i);
    const std::vector<std::string> words = {
        "name=writer", "times=" + std::to_string(scaled(100, 3)), "seed=" + std::to_string(own)};
    writers.emplace_back("write_shared", words);
  }
  for (Process& writer : writers) {
    const Words done = writer.expect("done", 120'000);
    INFO(done.line());
    CHECK(done.text("sound") == "yes");
    CHECK(writer.wait().exited_with(0));
  }
  server.stop();
  static_cast<void>(expect_sound(other, "Stopped"));
}

TEST_CASE("what is published while a chunk becomes private is not read from it", "[write]") {
  const std::uint64_t seed = test_seed("write");
  const OwnDirectory directory;
  Server server(producer_options("mixed", 100'000, 8 << 20),
                {.loan_max = 4, .pause_us = 20, .seed = seed});
  Process writer("write_shared", {"name=writer", "head=1", "seed=" + std::to_string(seed),
                                  "times=" + std::to_string(scaled(60, 3))});
  const Words done = writer.expect("done", 120'000);
  INFO(done.line());
  CHECK(done.text("sound") == "yes");
  CHECK(writer.wait().exited_with(0));
  server.stop();
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Serves until it is told to do otherwise, or killed.
int produce(const Words& words) {
  const auto size = [&](const char* key, std::int64_t otherwise) {
    return static_cast<std::uint64_t>(words.number(key, otherwise));
  };
  ProducerOptions options =
      producer_options(words.text("schema", "mixed"), size("n", 1'000), size("memory", 512 << 10));
  options.stream = words.text("stream", "s");
  options.epochs = size("epochs", 0);
  options.wait_for = static_cast<std::uint32_t>(size("wait_for", 0));
  if (words.has("place")) options.places = {words.text("place")};
  ServePlan plan;
  plan.threads = static_cast<unsigned>(size("threads", 1));
  plan.loan_max = size("loan_max", 16);
  plan.pause_us = size("pause_us", 0);
  Server server(std::move(options), plan);
  say("serves capacity=" + std::to_string(server.producer().capacity()));
  while (const auto told = hear()) {
    if (*told == "published") {
      say("published position=" + std::to_string(server.producer().stats().published));
    } else if (*told == "finish") {
      server.join();
      say(std::string("finished drained=") + (server.producer().finish() ? "yes" : "no"));
    } else if (*told == "fail") {
      server.producer().fail("the disk is full");
      server.join();
    }
  }
  return 0;
}

const RoleRegistration role("produce", produce);

/// Reads all there is from a dead producer's ring, batch by batch; what ended it, and when.
struct Drained {
  std::uint64_t cursor = 0;
  std::string over;
  double longest_wait_ms = 0;
  Batch last;
};

Drained drain(Consumer& consumer, Checker& checker) {
  Drained drained;
  std::uint64_t last_ns = now_ns();
  std::uint64_t longest_ns = 0;  // the notice may come before the last short batch
  try {
    for (;;) {
      auto batch = consumer.next();
      if (batch) checker.see(*batch);
      if (batch) drained.last = std::move(*batch);
      longest_ns = std::max(longest_ns, now_ns() - last_ns);
      last_ns = now_ns();
    }
  } catch (const Error& error) {
    drained.over = kind_of(error);
  }
  drained.longest_wait_ms = seconds_from_ns(std::max(longest_ns, now_ns() - last_ns)) * 1e3;
  drained.cursor = consumer.cursor();
  return drained;
}

}  // namespace

TEST_CASE("a killed producer's samples are drained, and its successor goes on",
          "[producer][short][device]") {
  const OwnDirectory directory;
  std::vector<double> waits_ms;
  for (std::uint64_t round = 0; round < scaled(20, 3); ++round) {
    Process first("produce", {"threads=3", "n=100000"});
    static_cast<void>(first.expect("serves"));
    ConsumerOptions options = stream_options();
    options.batch_size = 7 + round;
    Consumer consumer(options);
    Checker checker(100'000);
    for (std::uint64_t i = 0; i < 20 + round; ++i) checker.see(consumer.next().value());
    pause_us(2'000 * (round % 3));
    first.kill();
    static_cast<void>(first.wait());

    const double starved_before_ms = starved_ms();
    Drained drained = drain(consumer, checker);
    const double starved = starved_ms() - starved_before_ms;
    waits_ms.push_back(drained.longest_wait_ms - std::max(starved, 0.0));
    CHECK(drained.over == "ProducerGone");
    CHECK(checker.fault() == "");
    CHECK(drained.cursor == checker.next());
    REQUIRE(drained.last);
    CHECK(fault_of(drained.last) == "");  // what is mapped can be read still

    Process second("produce", {"threads=2", "n=100000"});  // the name is free at once
    static_cast<void>(second.expect("serves"));
    // It begins its stream anew; where the cursor lies beyond what is made, it is waited for.
    options.join = Join::at;
    options.cursor = drained.cursor;
    Consumer again(options);
    for (int i = 0; i < 5; ++i) checker.see(again.next().value());
    CHECK(checker.fault() == "");
    CHECK(again.stats().late_wakeups == 0);
  }
  std::printf("a killed producer is noticed after the drain: p50 %.1f ms, at most %.1f ms\n",
              percentile(waits_ms, 0.5), *std::max_element(waits_ms.begin(), waits_ms.end()));
  CHECK(*std::max_element(waits_ms.begin(), waits_ms.end()) <= (slow_build() ? 1'000 : 100));
}

TEST_CASE("a loop's cursor survives its producer", "[producer][short]") {
  const OwnDirectory directory;
  Process producer("produce", {"n=100000"});
  static_cast<void>(producer.expect("serves"));
  Process consumer("consume", {"batch=13", "hold=1"});
  static_cast<void>(consumer.expect("attached"));
  producer.tell("published");
  static_cast<void>(producer.expect("published"));
  pause_us(20'000);
  producer.kill();
  const Words words = expect_sound(consumer, "ProducerGone");
  CHECK(words.number("cursor") == words.number("first") + words.number("samples"));
}

TEST_CASE("a failed producer's reason reaches every consumer", "[producer][short][device]") {
  const OwnDirectory directory;
  Process producer("produce", {});
  static_cast<void>(producer.expect("serves"));
  std::vector<Process> consumers;
  for (int i = 0; i < 3; ++i) consumers.emplace_back("consume", std::vector<std::string>{});
  for (Process& consumer : consumers) static_cast<void>(consumer.expect("attached"));
  producer.tell("fail");
  for (Process& consumer : consumers) {
    const Words words = expect_sound(consumer, "StreamFailed");
    CHECK(words.line().find("the disk is full") != std::string::npos);
  }
}

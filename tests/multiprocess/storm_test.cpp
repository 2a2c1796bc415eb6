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
#include <random>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Consumers that come, and go in one way or another, while others stay.
class Storm {
 public:
  Storm(Server& server, std::uint64_t seed) : server_(server), random_(seed) {}

  void keep(std::uint64_t batch, const std::string& more = "pace=lockstep") {
    survivors_.emplace_back(
        "consume", std::vector<std::string>{"batch=" + std::to_string(batch), "name=survivor", more,
                                            "seed=" + std::to_string(random_() % 1'000'000'007)});
    static_cast<void>(survivors_.back().expect("attached"));
  }

  /// Until so many were killed, a few at a time.
  void blow(std::uint64_t kills) {
    const std::uint64_t until = killed_ + kills;
    while (killed_ < until) {
      if (victims_.size() == at_once) fell(random_() % victims_.size());
      victims_.push_back(send());
    }
    while (!victims_.empty()) fell(0);
  }

  /// Ends the stream; every survivor must have had everything.
  void calm() {
    server_.stop();
    const std::uint64_t published = server_.producer().stats().published;
    for (Process& survivor : survivors_) {
      const Words words = expect_sound(survivor, "Stopped");
      CHECK(words.number("cursor") == static_cast<std::int64_t>(published));
      CHECK(words.number("samples") == words.number("cursor") - words.number("first"));
      CHECK(words.number("matched") > 0);
      CHECK(survivor.wait().exited_with(0));
    }
    CHECK(server_.producer().stats().late_wakeups == 0);
    INFO(server_.lines_with("evicted") << server_.lines_with("held the stream up"));
    CHECK(server_.lines_with("evicted").empty());
    CHECK(server_.longest_wait_seconds() < (slow_build() ? 10 : 2));
  }

  [[nodiscard]] std::uint64_t killed() const noexcept { return killed_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

 private:
  static constexpr std::size_t at_once = 4;

  struct Victim {
    Process process;
    bool leaves;
  };

  Victim send() {
    const std::uint64_t sizes[] = {1, 7, 37, 64, 100, server_.producer().capacity()};
    const std::uint64_t batch = sizes[random_() % std::size(sizes)];
    const bool leaves = random_() % 8 == 0;
    const char* joins[] = {"rewind", "next_epoch", "now"};
    std::vector<std::string> words = {
        "batch=" + std::to_string(batch),
        "name=victim",
        std::string("join=") + joins[random_() % std::size(joins)],
        "seed=" + std::to_string(random_() % 1'000'000'007),
        "hold=" + std::to_string(batch * 8 > server_.producer().capacity() ? 0 : random_() % 4),
        "break_every=" + std::to_string(random_() % 3)};
    if (random_() % 8 == 0) words.push_back("pace=free");
    if (random_() % 8 == 0) words.push_back("between=let_go");
    if (random_() % 8 == 0) words.push_back("access=private");
    if (leaves) words.push_back("batches=" + std::to_string(1 + random_() % 20));
    return {Process("consume", words), leaves};
  }

  void fell(std::size_t which) {
    Victim victim = std::move(victims_[which]);
    victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(which));
    if (victim.leaves) {
      const End end = victim.process.wait(60'000);
      INFO(end.text() << "\n" << victim.process.errors());
      CHECK(end.exited_with(0));
      ++left_;
    } else {
      // Most of them while they read, some on their way in.
      if (random_() % 4 != 0) static_cast<void>(victim.process.expect("attached"));
      pause_us(random_() % 3'000);
      victim.process.kill();
      const End end = victim.process.wait();
      INFO(end.text() << "\n" << victim.process.errors());
      CHECK((end.killed_by(SIGKILL)));
      ++killed_;
    }
    while (const auto line = victim.process.line(0)) {
      INFO(*line);
      CHECK(line->find("sound=no") == std::string::npos);
      CHECK(line->find("threw") == std::string::npos);
    }
  }

  Server& server_;
  std::mt19937_64 random_;
  std::vector<Process> survivors_;
  std::vector<Victim> victims_;
  std::uint64_t killed_ = 0;
  std::uint64_t left_ = 0;
};

void storm(const char* test, const std::string& schema, std::uint64_t memory, ServePlan plan,
           std::uint64_t kills) {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed(test);
  plan.seed = seed;
  ProducerOptions options = producer_options(schema, 1'009, memory);
  options.stall_timeout_ms = 1'000;
  Server server(std::move(options), plan);
  Storm gale(server, seed);
  gale.keep(37);
  gale.keep(64, "hold=2");
  const std::uint64_t started_ns = now_ns();
  gale.blow(kills);
  gale.calm();
  std::printf(
      "%s: %llu killed, %llu left by themselves, %.1f s, capacity %llu, %llu samples, "
      "longest wait for a loan %.1f ms\n",
      test, static_cast<unsigned long long>(gale.killed()),
      static_cast<unsigned long long>(gale.left()), seconds_from_ns(now_ns() - started_ns),
      static_cast<unsigned long long>(server.producer().capacity()),
      static_cast<unsigned long long>(server.producer().stats().published),
      server.longest_wait_seconds() * 1e3);
}

}  // namespace

TEST_CASE("killed consumers cost the others nothing: tiny samples", "[storm]") {
  storm("storm of tiny samples", "small", 256 << 10, {.threads = 1, .loan_max = 64},
        scaled(600, 20));
}

TEST_CASE("killed consumers cost the others nothing: a breeze", "[storm][short]") {
  storm("a breeze", "padded", 256 << 10, {.threads = 2, .loan_max = 16}, scaled(100, 10));
}

TEST_CASE("killed consumers cost the others nothing: several loans in flight", "[storm][device]") {
  storm("storm with loans in flight", "mixed", 256 << 10, {.threads = 3, .loan_max = 24},
        scaled(900, 20));
}

TEST_CASE("killed consumers cost the others nothing: padded samples, loans dropped", "[storm]") {
  storm("storm with dropped loans", "padded", 512 << 10,
        {.threads = 2, .loan_max = 16, .drops_per_hundred = 20}, scaled(700, 20));
}

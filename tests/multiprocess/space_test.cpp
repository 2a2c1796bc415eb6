// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "samples.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

// AddressSanitizer has locks of its own, which a thread that starts or ends holds: a child forked
// at that moment has them locked for ever, and its exit takes them. The thread that looks at
// streams on GPUs sleeps while nothing is pending.
void wait_until_alone() {
#ifdef __SANITIZE_ADDRESS__
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const int stay = test_placement().is_host() ? 1 : 2;
  while (threads() > stay) std::this_thread::sleep_for(std::chrono::milliseconds(1));
#endif
}

/// Takes one batch, holds it, and does with itself what it is told.
int hold_one(const Words& words) {
  auto consumer = std::make_unique<Consumer>(consumer_options(words));
  auto batch = consumer->next();
  if (!batch) return 4;
  say("holds position=" + std::to_string(batch->position()));
  while (const auto told = hear()) {
    if (*told == "check") {
      try {
        const std::string fault = fault_of(*batch);
        batch->check();
        say("checked " + (fault.empty() ? std::string("sound=yes") : fault));
      } catch (const Error& error) {
        say("checked over=" + kind_of(error) + " " + error.what());
      }
    } else if (*told == "release") {
      try {
        batch->release();
        say("released over=none");
      } catch (const Error& error) {
        say("released over=" + kind_of(error));
      }
    } else if (*told == "next") {
      try {
        batch = consumer->next();
        say("next over=none");
      } catch (const Error& error) {
        say("next over=" + kind_of(error) + " " + error.what());
      }
    } else if (*told == "fork") {  // a child that stays
      const pid_t child = ::fork();
      if (child == 0) {
        for (;;) ::pause();
      }
      say("forked pid=" + std::to_string(child));
    } else if (*told == "leave") {
      batch.reset();
      consumer.reset();
      say("gone");
    } else if (*told == "fork and exit") {  // a child that runs every destructor there is
      wait_until_alone();
      const pid_t child = ::fork();
      if (child == 0) {
        std::string kind = "none";
        try {
          static_cast<void>(consumer->next());
        } catch (const Error& error) {
          kind = kind_of(error);
        }
        batch.reset();
        consumer.reset();
        std::exit(kind == "Forked" ? 0 : 5);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      say("child status=" + std::to_string(status));
    }
  }
  return 0;
}

const RoleRegistration role("hold_one", hold_one);

/// A producer whose consumer `keen` takes everything at once, so that only others hold it up.
class Theatre {
 public:
  explicit Theatre(ProducerOptions options = producer_options("small", 1'000, 64 << 10))
      : producer_(std::move(options)) {
    keen_ = std::thread([this] { keen_result_ = consume(keen_options(), {}); });
  }
  ~Theatre() {
    producer_.stop("the test is over");
    keen_.join();
    CHECK(keen_result_.fault == "");
    CHECK(keen_result_.stats.late_wakeups == 0);
    CHECK(producer_.stats().late_wakeups == 0);
  }

  /// Publishes until no consumer but the one that holds its place could make room.
  void fill_up() {
    // A mirror gives back its last on the host a moment after its own ring is full.
    const int quiet_ms = stream_options().placement.is_host() ? 0 : 200;
    for (;;) {
      const bool full = is_full_of_held();
      if (auto loan = producer_.try_loan(64, full ? quiet_ms : 1)) {
        publish(*loan);
      } else if (full) {
        return;
      }
    }
  }
  /// Publishes until a consumer has said so.
  void publish_until(const std::atomic<bool>& stop) {
    while (!stop) {
      if (auto loan = producer_.try_loan(64, 5)) publish(*loan);
    }
  }
  /// Publishes until `holder` is attached no more, ten seconds at most. How long that took.
  double publish_until_evicted_ms() {
    const std::uint64_t started_ns = now_ns();
    const auto waited_ms = [&] { return seconds_from_ns(now_ns() - started_ns) * 1e3; };
    const auto attached = [this] {
      const auto consumers = producer_.stats().consumers;
      return std::any_of(consumers.begin(), consumers.end(),
                         [](const ConsumerInfo& consumer) { return consumer.name == "holder"; });
    };
    while (attached() && waited_ms() < 10'000) {
      if (auto loan = producer_.try_loan(64, 5)) publish(*loan);
    }
    return waited_ms();
  }
  Process holder(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"batch=8", "name=holder", "join=now"};
    words.insert(words.end(), more.begin(), more.end());
    Process process("hold_one", words);
    std::atomic<bool> holds = false;
    std::thread pump([&] { publish_until(holds); });
    static_cast<void>(process.line());
    holds = true;
    pump.join();
    return process;
  }
  /// Until a loan comes; in milliseconds.
  double wait_for_space_ms() {
    const std::uint64_t started_ns = now_ns();
    if (auto loan = producer_.try_loan(1, 5'000)) publish(*loan);
    return seconds_from_ns(now_ns() - started_ns) * 1e3;
  }
  /// Kills it. Until a loan comes once it is dead; in milliseconds in which that could happen: a
  /// busy machine may let a process wait long for its turn to die.
  double wait_for_space_of_killed_ms(const Process& holder) {
    std::uint64_t dead_ns = 0;
    std::thread watch([&] {
      siginfo_t info{};
      ::waitid(P_PID, static_cast<id_t>(holder.pid()), &info, WEXITED | WNOWAIT);
      dead_ns = now_ns();
    });
    const double starved_before_ms = starved_ms();
    holder.kill();
    static_cast<void>(wait_for_space_ms());
    const std::uint64_t space_ns = now_ns();
    const double starved = std::max(starved_ms() - starved_before_ms, 0.0);
    watch.join();
    return std::max(seconds_from_ns(space_ns - std::min(dead_ns, space_ns)) * 1e3 - starved, 0.0);
  }
  [[nodiscard]] Producer& producer() noexcept { return producer_; }

 private:
  /// Whether all that the ring of `holder` has is what it has not released.
  [[nodiscard]] bool is_full_of_held() const {
    const ProducerStats stats = producer_.stats();
    for (const ConsumerInfo& consumer : stats.consumers) {
      for (const RingInfo& ring : stats.rings) {
        const bool there = consumer.name == "holder" && ring.placement == consumer.placement;
        if (there && consumer.lag >= ring.capacity) return true;
      }
    }
    return false;
  }
  static ConsumerOptions keen_options() {
    ConsumerOptions options = stream_options();
    options.name = "keen";
    options.batch_size = options.placement.is_host() ? 1 : 64;  // each is copied to be looked at
    return options;
  }
  static void publish(Loan& loan) {
    fill(loan);
    loan.publish();
  }

  OwnDirectory directory_;
  Producer producer_;
  Consumed keen_result_;
  std::thread keen_;
};

}  // namespace

TEST_CASE("a killed consumer's space is usable again within 50 ms", "[space][device]") {
  Theatre stage;
  std::vector<double> waits_ms;
  for (std::uint64_t i = 0; i < scaled(200, 10); ++i) {
    Process holder = stage.holder();
    stage.fill_up();
    waits_ms.push_back(stage.wait_for_space_of_killed_ms(holder));
  }
  const double p50 = percentile(waits_ms, 0.5);
  const double p99 = percentile(waits_ms, 0.99);
  std::printf("space of a killed consumer: p50 %.2f ms, p99 %.2f ms over %zu kills\n", p50, p99,
              waits_ms.size());
  CHECK(p99 <= (slow_build() ? 500 : 50));
}

TEST_CASE("a consumer that leaves makes room at once, a forked child or not",
          "[space][fork][short][device]") {
  Theatre stage;
  Process holder = stage.holder();
  holder.tell("fork");
  const auto child = static_cast<pid_t>(holder.expect("forked").number("pid"));
  stage.fill_up();
  SECTION("it leaves while its child holds the socket") {
    holder.tell("leave");
    CHECK(stage.wait_for_space_ms() < 1'000);
    static_cast<void>(holder.expect("gone"));
  }
  SECTION("it is killed while its child lives") {
    CHECK(stage.wait_for_space_of_killed_ms(holder) < (slow_build() ? 500 : 50));
  }
  CHECK(::kill(child, 0) == 0);
  ::kill(child, SIGKILL);
}

TEST_CASE("a forked child that exits does not disturb its parent", "[fork][short][device]") {
  Theatre stage;
  Process holder = stage.holder();
  for (int i = 0; i < 3; ++i) {
    holder.tell("fork and exit");
    CHECK(holder.expect("child").number("status", -1) == 0);
  }
  stage.fill_up();
  CHECK_FALSE(stage.producer().try_loan(1, 100));  // its place is still its own
  holder.tell("check");
  CHECK(holder.expect("checked").text("sound") == "yes");
  holder.tell("next");
  CHECK(holder.expect("next").text("over") == "none");
  CHECK(stage.wait_for_space_ms() < 5'000);
}

TEST_CASE("memory of a stopped consumer is not reused unless it is evicted",
          "[stall][short][device][tight]") {
  ProducerOptions options = producer_options("small", 1'000, 64 << 10);
  options.stall_timeout_ms = 200;
  SECTION("reported") {
    std::atomic<bool> reported = false;
    options.log = [&](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning && text.find("`holder`") != std::string_view::npos &&
          text.find("holds a batch from position") != std::string_view::npos) {
        reported = true;
      }
    };
    Theatre stage(std::move(options));
    Process holder = stage.holder();
    holder.signal(SIGSTOP);
    stage.fill_up();
    CHECK_FALSE(stage.producer().try_loan(1, 700));
    CHECK(reported);
    holder.signal(SIGCONT);
    holder.tell("check");
    CHECK(holder.expect("checked").text("sound") == "yes");
    holder.tell("release");
    CHECK(holder.expect("released").text("over") == "none");
    CHECK(stage.wait_for_space_ms() < 5'000);
  }
  SECTION("evicted") {
    options.on_stall = OnStall::evict;
    options.log = [](LogLevel, std::string_view) {};
    Theatre stage(std::move(options));
    Process holder = stage.holder();
    const std::string how = GENERATE("check", "release", "next");
    holder.signal(SIGSTOP);
    CHECK(stage.publish_until_evicted_ms() < 2'000);
    for (int i = 0; i < 300; ++i) static_cast<void>(stage.wait_for_space_ms());
    holder.signal(SIGCONT);
    holder.tell(how);
    const Words words = holder.expect(how == "release" ? "released"
                                      : how == "check" ? "checked"
                                                       : how);
    INFO(words.line());
    CHECK(words.text("over") == "Revoked");
    CHECK((how == "release" || words.line().find("`s`") != std::string::npos));
  }
}

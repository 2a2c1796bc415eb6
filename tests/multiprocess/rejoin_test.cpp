// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Serves; told to, it forks a child that holds all its sockets and sleeps.
int produce_with_child(const Words&) {
  Server server(producer_options("small", 64), {});
  say("serves");
  while (hear()) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    say("forked pid=" + std::to_string(child));
  }
  return 0;
}

const RoleRegistration role("produce_with_child", produce_with_child);

struct LetGo {
  LetGo() {
    static_cast<void>(producer.expect("serves"));
    ConsumerOptions options = stream_options();
    options.batch_size = 16;
    options.between_epochs = BetweenEpochs::let_go;
    options.log = [this](LogLevel, std::string_view text) { log += std::string(text) + "\n"; };
    consumer.emplace(std::move(options));
    loop();
  }
  /// One whole epoch; its samples follow those of the one before.
  void loop() {
    for (const Batch& batch : *consumer) {
      CHECK(batch.position() >= next);
      next = batch.position() + batch.size();
    }
    CHECK(next % 64 == 0);
  }
  /// Until none of its threads runs any more.
  void halt_producer() {
    producer.signal(SIGSTOP);
    siginfo_t stopped{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(producer.pid()), &stopped, WSTOPPED | WNOWAIT) == 0);
  }
  /// How long a call took that was to time out.
  [[nodiscard]] double timed_out_ms(int timeout_ms) {
    const std::uint64_t started_ns = now_ns();
    CHECK(consumer->try_next(timeout_ms).outcome == Outcome::timed_out);
    return seconds_from_ns(now_ns() - started_ns) * 1e3;
  }
  [[nodiscard]] std::string what_ends_it() {
    try {
      static_cast<void>(consumer->next());
    } catch (const Error& error) {
      return kind_of(error);
    }
    return "nothing";
  }

  OwnDirectory directory;
  Process producer{"produce_with_child", {}};
  std::string log;
  std::optional<Consumer> consumer;
  std::uint64_t next = 0;
};

}  // namespace

TEST_CASE("a loop that begins while the producer stands times out, and goes on when it does",
          "[rejoin][short]") {
  LetGo scene;
  scene.halt_producer();
  const double first_ms = scene.timed_out_ms(250);
  CHECK(first_ms >= 249);
  CHECK(first_ms < 5'000);
  CHECK(scene.timed_out_ms(0) < 5'000);
  CHECK(scene.timed_out_ms(50) >= 49);
  scene.producer.signal(SIGCONT);
  // Asked once, it is answered once: a second answer would be taken for that of a later loop.
  for (int i = 0; i < 5; ++i) scene.loop();
}

TEST_CASE("a trainer that waits for a producer that is stopped says so", "[rejoin][wait]") {
  LetGo scene;
  SECTION("as a loop begins") { scene.halt_producer(); }
  SECTION("in a loop") {
    REQUIRE(scene.consumer->next());
    scene.halt_producer();
    while (scene.consumer->try_next(0).outcome != Outcome::timed_out) continue;
  }
  for (int i = 0; i < 60 && scene.log.empty(); ++i) {
    CHECK(scene.consumer->try_next(1'000).outcome == Outcome::timed_out);
  }
  INFO(scene.log);
  const std::string pid = std::to_string(scene.producer.pid());
  for (const std::string& part : {std::string("has waited "), std::string("stream `s`"),
                                  "process " + pid + ", is stopped", "`kill -CONT " + pid + "`"}) {
    CHECK(scene.log.find(part) != std::string::npos);
  }
  scene.producer.signal(SIGCONT);
}

TEST_CASE("a loop that is given up before it has begun holds up nobody", "[rejoin][short]") {
  LetGo scene;
  ConsumerOptions options = stream_options();
  options.batch_size = 16;
  Consumer other(std::move(options));
  scene.halt_producer();
  for (int i = 0; i < 3; ++i) {
    CHECK(scene.timed_out_ms(20) >= 19);
    scene.consumer->leave_epoch();
  }
  scene.producer.signal(SIGCONT);
  const std::uint64_t enough = 20 * other.capacity();
  for (std::uint64_t taken = 0; taken < enough;) {
    const NextBatch next = other.try_next(10'000);
    REQUIRE(next.outcome != Outcome::timed_out);
    if (next.outcome == Outcome::batch) taken += next.batch.size();
  }
  std::thread meanwhile([&] {
    for (int epochs = 0; epochs < 50;) {
      const NextBatch next = other.try_next(10'000);
      if (next.outcome == Outcome::timed_out) return;
      if (next.outcome == Outcome::end_of_epoch) ++epochs;
    }
    other.leave_epoch();
  });
  for (int i = 0; i < 3; ++i) scene.loop();
  meanwhile.join();
}

TEST_CASE("a producer that dies while a loop begins is gone, not waited for", "[rejoin][short]") {
  LetGo scene;
  scene.halt_producer();
  SECTION("at once") {
    CHECK(scene.timed_out_ms(50) >= 49);
    scene.producer.kill();
    CHECK(scene.what_ends_it() == "ProducerGone");
  }
  SECTION("while it is waited for") {
    std::thread later([&] {
      pause_us(200'000);
      scene.producer.kill();
    });
    const std::uint64_t started_ns = now_ns();
    CHECK(scene.what_ends_it() == "ProducerGone");
    CHECK(seconds_from_ns(now_ns() - started_ns) < 5);
    later.join();
  }
}

TEST_CASE("a dead producer's child that holds the door's sockets is no producer",
          "[rejoin][short]") {
  LetGo scene;
  scene.producer.tell("fork");
  const auto child = static_cast<pid_t>(scene.producer.expect("forked").number("pid"));
  scene.halt_producer();
  CHECK(scene.timed_out_ms(50) >= 49);
  scene.producer.kill();
  const std::uint64_t started_ns = now_ns();
  CHECK(scene.what_ends_it() == "ProducerGone");
  CHECK(seconds_from_ns(now_ns() - started_ns) < 5);
  ::kill(child, SIGKILL);
}

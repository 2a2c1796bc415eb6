// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/memory.hpp>

#include <signal.h>

#include <atomic>
#include <thread>

using namespace batchcast;
using batchcast::testing::in_child;
using batchcast::testing::without_system_call;

namespace {

constexpr int long_ms = 20'000;
constexpr long futex_waitv_number = 449;

/// Wakes the sleepers of a word until told to stop: whenever they fall asleep, a wake follows.
class Waker {
 public:
  explicit Waker(const std::atomic<std::uint32_t>& word)
      : thread_([this, &word] {
          while (!stop_.load()) {
            futex_wake(word);
            std::this_thread::yield();
          }
        }) {}
  ~Waker() {
    stop_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::atomic<std::uint32_t>& word_of(const Mapping& mapping) {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(mapping.data());
}

}  // namespace

TEST_CASE("a wait says why it ended") {
  std::atomic<std::uint32_t> word{5};
  CHECK(futex_wait(word, 4, long_ms) == Woken::value_changed);
  const std::uint64_t started = now_ns();
  CHECK(futex_wait(word, 5, 20) == Woken::timed_out);
  CHECK(now_ns() - started >= 20'000'000);
  const Waker waker(word);
  CHECK(futex_wait(word, 5, long_ms) == Woken::by_peer);
}

TEST_CASE("a wait on either of two words") {
  std::atomic<std::uint32_t> a{1};
  std::atomic<std::uint32_t> b{2};
  CHECK(futex_wait_either(a, 0, b, 2, long_ms) == Woken::value_changed);
  CHECK(futex_wait_either(a, 1, b, 0, long_ms) == Woken::value_changed);
  const std::uint64_t started = now_ns();
  CHECK(futex_wait_either(a, 1, b, 2, 20) == Woken::timed_out);
  CHECK(now_ns() - started >= 20'000'000);
  {
    const Waker waker(a);
    CHECK(futex_wait_either(a, 1, b, 2, long_ms) == Woken::by_peer);
  }
  const Waker waker(b);
  CHECK(futex_wait_either(a, 1, b, 2, long_ms) == Woken::by_peer);
}

TEST_CASE("without futex_waitv a wait on two words is short, and sees both") {
  for (const int error : {ENOSYS, EPERM}) {
    const auto end = in_child([&] {
      if (!without_system_call(futex_waitv_number, error)) return 1;
      std::atomic<std::uint32_t> a{1};
      std::atomic<std::uint32_t> b{2};
      if (futex_wait_either(a, 0, b, 2, long_ms) != Woken::value_changed) return 2;
      if (futex_wait_either(a, 1, b, 0, long_ms) != Woken::value_changed) return 3;
      // The second word's wake is not heard, so the sleep must be over soon, and is no time-out.
      const std::uint64_t started = now_ns();
      if (futex_wait_either(a, 1, b, 2, long_ms) == Woken::timed_out) return 4;
      if (now_ns() - started > std::uint64_t{long_ms} * 1'000'000 / 2) return 5;
      return futex_wait_either(a, 1, b, 2, 5) == Woken::timed_out ? 0 : 6;
    });
    CHECK(end.exited_with(0));
  }
}

TEST_CASE("words of a read-only map wake, and are woken, across processes") {
  const Segment segment = Segment::create_small("futex", page_bytes());
  const Mapping writable(segment, MapMode::read_write);
  const Mapping read_only(segment, MapMode::read_only);
  std::atomic<std::uint32_t>& word = word_of(writable);
  word.store(7);

  SECTION("the parent wakes a child that sleeps on its read-only map") {
    const Waker waker(word);
    const auto end = in_child([&] {
      if (futex_wait(word_of(read_only), 7, long_ms) != Woken::by_peer) return 1;
      std::atomic<std::uint32_t> own{0};
      return futex_wait_either(word_of(read_only), 7, own, 0, long_ms) == Woken::by_peer ? 0 : 2;
    });
    CHECK(end.exited_with(0));
  }

  SECTION("a child wakes its parent through its read-only map") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      while (word_of(read_only).load() == 7) {
        futex_wake(word_of(read_only));
        std::this_thread::yield();
      }
      ::_exit(0);
    }
    const Woken woken = futex_wait(word, 7, long_ms);
    word.store(8);
    CHECK(::waitpid(child, nullptr, 0) == child);
    CHECK(woken == Woken::by_peer);
  }
}

TEST_CASE("a signal ends a wait without being a time-out") {
  const auto end = in_child([] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    std::atomic<std::uint32_t> word{0};
    std::atomic<bool> stop{false};
    const pthread_t sleeper = ::pthread_self();
    std::thread waker([&] {
      while (!stop.load()) {
        ::pthread_kill(sleeper, SIGALRM);
        std::this_thread::yield();
      }
    });
    const Woken one = futex_wait(word, 0, long_ms);
    const Woken two = futex_wait_either(word, 0, word, 0, long_ms);
    stop.store(true);
    waker.join();
    return one == Woken::by_peer && two == Woken::by_peer ? 0 : 1;
  });
  CHECK(end.exited_with(0));
}

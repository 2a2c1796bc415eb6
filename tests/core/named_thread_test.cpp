// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../ring/child.hpp"

#include <batchcast/core/error.hpp>

#include <batchcast/core/named_thread.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::ptrdiff_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

}  // namespace

TEST_CASE("a thread that cannot be started is named, with what to raise") {
  const ChildEnd end = in_child([] {
    if (!without_system_call(SYS_clone3, EAGAIN)) return 1;
    start_thread("bc-door", [] {}).join();
    return 2;
  });
  INFO(end.output);
  CHECK(end.exited_with(99));
  CHECK(contains(end.output, "bc-door"));
  CHECK(contains(end.output, "ulimit -u"));
  CHECK(contains(end.output, "pids.max"));
}

TEST_CASE("our threads leave signals to the program's, and meet their own faults") {
  sigset_t blocked;
  sigemptyset(&blocked);
  start_thread("bc-door", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }).join();
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1}) {
    CHECK(sigismember(&blocked, signal) == 1);
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    CHECK(sigismember(&blocked, fault) == 0);
  }
}

TEST_CASE("a rehearsal fails as the threads would, and says for whom") {
  const ChildEnd end = in_child([] {
    if (!without_system_call(SYS_clone3, EAGAIN)) return 1;
    rehearse_threads(3, 0, "ZeroMQ");
    return 2;
  });
  INFO(end.output);
  CHECK(end.exited_with(99));
  CHECK(contains(end.output, "ZeroMQ, which takes 3 threads, cannot be started"));
}

TEST_CASE("a rehearsal leaves no thread behind") {
  rehearse_threads(1, 0, "a test");  // sanitizers start one of their own with the first
  const std::ptrdiff_t before = threads_now();
  for (int i = 0; i < 50; ++i) {
    rehearse_threads(4, std::size_t{1} << 20, "a test");
    REQUIRE(threads_now() == before);
  }
}

// Sanitizers have more address space than that already.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a rehearsal wants the address space too") {
  const ChildEnd end = in_child([] {
    const rlimit tebibyte{rlim_t{1} << 40, rlim_t{1} << 40};
    if (::setrlimit(RLIMIT_AS, &tebibyte) != 0) return 1;
    rehearse_threads(1, std::size_t{1} << 60, "a test");
    return 2;
  });
  CHECK(end.exited_with(99));
  CHECK(contains(end.output, "ulimit -v"));
}
#endif

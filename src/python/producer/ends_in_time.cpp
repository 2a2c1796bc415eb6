// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/producer_bindings.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/named_thread.hpp>

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace nb = nanobind;

// Python runs its signal handlers between two steps of the main thread's Python code. Where that
// thread is in C, or another one keeps the GIL, or the code catches all that is raised, nothing
// would end the process.
namespace batchcast::inline v0_1::python {
namespace {

constexpr std::array<int, 3> end_signals = {SIGINT, SIGTERM, SIGHUP};

struct EndsInTime {
  pid_t owner = 0;
  std::atomic<int> exit_code{0};
  std::atomic<int> patience_ms{0};
  std::atomic<std::uint64_t> told_ns{0};  ///< when `patience_ms` was set
  sem_t came{};                           ///< a post for each signal
  std::array<struct sigaction, end_signals.size()> handlers_of_python{};
  std::array<bool, end_signals.size()> is_taken{};
};
EndsInTime& state() {
  static EndsInTime* const kept = new EndsInTime;  // a thread has it until the process is gone
  return *kept;
}

void note_signal(int /*number*/) {
  const int kept_errno = errno;
  EndsInTime& own = state();
  if (::getpid() == own.owner) ::sem_post(&own.came);
  errno = kept_errno;
}

/// In a forked child it only hands on.
void on_signal(int number) {
  const int kept_errno = errno;
  EndsInTime& own = state();
  note_signal(number);
  for (std::size_t i = 0; i < end_signals.size(); ++i) {
    if (end_signals[i] == number) own.handlers_of_python[i].sa_handler(number);
  }
  errno = kept_errno;
}

[[noreturn]] void end(const EndsInTime& own) {
  constexpr const char* text = "batchcast: not waiting for Python, which does not end\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  std::_Exit(own.exit_code.load());
}

/// Sleeps until a signal comes; then the process has its time, and where that changes another one
/// from then on.
void watch(EndsInTime& own) {
  while (::sem_wait(&own.came) != 0) {
  }
  const std::uint64_t came_ns = now_ns();
  const auto is_late = [&] {
    const auto patience_ns = static_cast<std::uint64_t>(own.patience_ms.load()) * 1'000'000;
    const std::uint64_t begin_ns = std::max(came_ns, own.told_ns.load());
    return now_ns() - begin_ns >= patience_ns;
  };
  while (!is_late()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  end(own);
}

/// Before Python's handlers, which are there already; a signal that is ignored stays ignored.
void take_signals(EndsInTime& own) {
  for (std::size_t i = 0; i < end_signals.size(); ++i) {
    struct sigaction& before = own.handlers_of_python[i];
    ::sigaction(end_signals[i], nullptr, &before);
    const bool hands_on = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_IGN &&
                          before.sa_handler != SIG_DFL;
    own.is_taken[i] = hands_on;
    if (!hands_on) continue;
    struct sigaction own_action = before;
    own_action.sa_handler = on_signal;
    ::sigaction(end_signals[i], &own_action, nullptr);
  }
}

void end_in_time(int exit_code, int patience_ms) {
  EndsInTime& own = state();
  own.told_ns.store(now_ns());  // before the other, and read after it
  own.patience_ms.store(patience_ms);
  own.exit_code.store(exit_code);
  if (own.owner != 0) return;
  own.owner = ::getpid();
  ::sem_init(&own.came, 0, 0);
  start_thread("bc-signals", [&own] { watch(own); }).detach();
  take_signals(own);
}

/// Python ignores these signals by now, and so leaves their handlers alone where it ends. It
/// replaces its own handlers by the default action, that of a process that was killed.
void end_without_python(int exit_code, int patience_ms) {
  EndsInTime& own = state();
  end_in_time(exit_code, patience_ms);
  for (std::size_t i = 0; i < end_signals.size(); ++i) {
    if (!own.is_taken[i]) continue;
    struct sigaction own_action = own.handlers_of_python[i];
    own_action.sa_handler = note_signal;
    ::sigaction(end_signals[i], &own_action, nullptr);
  }
}

}  // namespace

void add_ends_in_time(nb::module_& module) {
  module.def("end_in_time", &end_in_time, nb::arg("exit_code"), nb::arg("patience_ms"),
             "From now on SIGINT, SIGTERM and SIGHUP, beside what their handlers in Python do, end "
             "the process with this code where it has not ended by itself patience_ms after the "
             "first of them, and after this call.");
  module.def(
      "end_without_python", &end_without_python, nb::arg("exit_code"), nb::arg("patience_ms"),
      "As end_in_time, for a process that has nothing left to do but to end. Before, its "
      "handlers in Python of these signals are to be set to SIG_IGN: from this call on until "
      "the process is gone the signals have no other effect.");
}

}  // namespace batchcast::inline v0_1::python

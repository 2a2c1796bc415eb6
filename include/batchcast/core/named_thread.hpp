// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/signals.hpp>
#include <batchcast/core/text.hpp>

#include <pthread.h>
#include <signal.h>

#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1 {

/// Throws SystemError, which says what could not be started, why, and which limits to raise.
[[noreturn]] void throw_no_threads(const std::string& what, int error_number);

/// Starts a thread with that name (15 characters at most). It and the threads that it starts block
/// the program's signals, which the program's threads get. Faults are not blocked: such a thread
/// may run the program's code, which may write into a batch. Throws SystemError.
template <class Body>
[[nodiscard]] std::thread start_thread(const char* name, Body body) {
  sigset_t all, before;
  ::sigfillset(&all);
  for (const int fault : fault_signals) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  try {
    return std::thread([name, body = std::move(body)]() mutable {
      ::pthread_setname_np(::pthread_self(), name);
      body();
    });
  } catch (const std::system_error& error) {
    throw_no_threads(text("the thread {}", name), error.code().value());
  }
}

/// Starts `threads` threads at once, and takes `bytes` of address space beside them where that is
/// limited. All of it is given back before the call returns. Call it before a step that cannot be
/// undone halfway: a library that would abort the process, a stream that consumers could join.
/// Throws SystemError, whose text names `what` as the one that needs them.
void rehearse_threads(unsigned threads, std::size_t bytes, const std::string& what);

/// Whether this process may have only some address space (`ulimit -v`).
[[nodiscard]] bool address_space_is_limited() noexcept;

}  // namespace batchcast::inline v0_1

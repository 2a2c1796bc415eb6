// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace batchcast {

/// Starts a thread with that name (15 characters at most) that leaves the program's signals to the
/// program's own threads, as do the threads that it starts itself.
template <class Body>
[[nodiscard]] std::thread start_thread(const char* name, Body body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread([name, body = std::move(body)]() mutable {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
}

}  // namespace batchcast

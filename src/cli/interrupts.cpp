// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/interrupts.hpp"

#include <batchcast/core/named_thread.hpp>

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace batchcast::cli {

Interrupts::Interrupts() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  struct sigaction hang_up {};
  const bool outlives_terminal =
      ::sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN;
  if (!outlives_terminal) sigaddset(&signals_, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int Interrupts::wait(int timeout_ms) noexcept {
  if (seen_ != 0) return seen_;
  const timespec timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  const int signal = ::sigtimedwait(&signals_, nullptr, &timeout);
  if (signal > 0) seen_ = signal;
  return seen_;
}

EndsAtOnce::EndsAtOnce(Interrupts& interrupts, int exit_code) {
  thread_ = start_thread("bc-interrupts", [this, &interrupts, exit_code] {
    constexpr int look_ms = 10;
    while (!over_.load()) {
      if (interrupts.wait(look_ms) == 0 || over_.load()) continue;
      std::fflush(nullptr);
      std::_Exit(exit_code);
    }
  });
}

EndsAtOnce::~EndsAtOnce() {
  over_.store(true);
  thread_.join();
}

}  // namespace batchcast::cli

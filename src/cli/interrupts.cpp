// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/interrupts.hpp"

#include <pthread.h>

#include <ctime>

namespace batchcast::cli {

Interrupts::Interrupts() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int Interrupts::wait(int timeout_ms) noexcept {
  if (seen_ != 0) return seen_;
  const timespec timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  const int signal = ::sigtimedwait(&signals_, nullptr, &timeout);
  if (signal > 0) seen_ = signal;
  return seen_;
}

}  // namespace batchcast::cli

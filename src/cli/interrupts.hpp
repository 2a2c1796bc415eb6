// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <csignal>
#include <thread>

namespace batchcast::cli {

/// Takes SIGINT, SIGTERM and, unless it was ignored before (as under nohup), SIGHUP from now on, in
/// every thread made later too: they are asked for, not suffered. Make one before any thread.
class Interrupts {
 public:
  Interrupts();
  /// Number of a signal that came, 0 if none has; waits for one at most that long.
  [[nodiscard]] int wait(int timeout_ms) noexcept;

 private:
  sigset_t signals_;
  int seen_ = 0;
};

/// While it lives, an interrupt ends the process at once with that exit code: for what may take
/// long, does not ask, and leaves nothing behind, such as opening a dataset. No other code may ask
/// meanwhile.
class EndsAtOnce {
 public:
  EndsAtOnce(Interrupts& interrupts, int exit_code);
  ~EndsAtOnce();
  EndsAtOnce(const EndsAtOnce&) = delete;
  EndsAtOnce& operator=(const EndsAtOnce&) = delete;

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace batchcast::cli

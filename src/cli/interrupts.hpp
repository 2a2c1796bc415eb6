// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "core/wake_descriptor.hpp"

#include <csignal>
#include <functional>
#include <thread>

namespace batchcast::cli {

/// Takes SIGINT, SIGTERM and, unless it was ignored before (as under nohup), SIGHUP from now on, in
/// every thread made later too. Code asks for them; they interrupt none. Make one before any
/// thread.
class Interrupts {
 public:
  Interrupts();
  /// Number of a signal that came, 0 if none has; waits for one at most that long.
  [[nodiscard]] int wait(int timeout_ms) noexcept;

 private:
  friend class EndsAtOnce;

  sigset_t signals_;
  int seen_ = 0;
};

/// The exit code of a command that an interrupt ended, as a shell has it: 130 after Ctrl-C.
[[nodiscard]] constexpr int interrupted_exit(int signal) noexcept { return 128 + signal; }

/// While it lives, an interrupt ends the process at once: for what may take long and does not ask,
/// such as opening a dataset. No other code may ask meanwhile.
class EndsAtOnce {
 public:
  /// Given the signal's number, removes what the command would leave behind, and returns the exit
  /// code. Called in a separate thread, while the others go on.
  using LastAct = std::function<int(int signal)>;

  explicit EndsAtOnce(Interrupts& interrupts, LastAct last_act = interrupted_exit);
  ~EndsAtOnce();
  EndsAtOnce(const EndsAtOnce&) = delete;
  EndsAtOnce& operator=(const EndsAtOnce&) = delete;

 private:
  WakeDescriptor over_;
  std::thread thread_;
};

}  // namespace batchcast::cli

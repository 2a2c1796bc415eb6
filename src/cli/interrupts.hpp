// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <csignal>

namespace batchcast::cli {

/// Takes SIGINT and SIGTERM from now on, in every thread made later too: they are asked for, not
/// suffered. Make one before any thread.
class Interrupts {
 public:
  Interrupts();
  /// Number of a signal that came, 0 if none has; waits for one at most that long.
  [[nodiscard]] int wait(int timeout_ms) noexcept;

 private:
  sigset_t signals_;
  int seen_ = 0;
};

}  // namespace batchcast::cli

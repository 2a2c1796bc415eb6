// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace batchcast::inline v0_1 {

/// The signals that a faulty instruction raises. Where the thread blocks the one that its
/// instruction raises, the kernel ends the process without calling a handler.
inline constexpr std::array fault_signals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

/// While it lives, this thread blocks all signals but faults. A signal handler may use it: it makes
/// the system calls directly, past the sanitizers' wrappers.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    std::uint64_t blocked = ~std::uint64_t{0};
    for (const int fault : fault_signals) blocked &= ~(std::uint64_t{1} << (fault - 1));
    ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &before_, sizeof(blocked));
  }
  ~SignalsBlocked() {
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_));
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace batchcast::inline v0_1

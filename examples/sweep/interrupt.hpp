// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <signal.h>

#include <initializer_list>

namespace sweep {

/// Ctrl-C and the like; thrown where it does no harm, so that destructors run.
struct Interrupted {
  int signal;
};

namespace detail {
// A signal handler can only pass a message on through a global.
inline volatile sig_atomic_t signal_seen = 0;
}  // namespace detail

inline void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { detail::signal_seen = signal; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

inline void throw_if_interrupted() {
  if (detail::signal_seen != 0) throw Interrupted{static_cast<int>(detail::signal_seen)};
}

}  // namespace sweep

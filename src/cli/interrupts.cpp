// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/interrupts.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/named_thread.hpp>

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

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

EndsAtOnce::EndsAtOnce(Interrupts& interrupts, LastAct last_act) {
  FileDescriptor came(::signalfd(-1, &interrupts.signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!came) throw SystemError("batchcast: cannot make a signalfd", errno);
  thread_ = start_thread(
      "bc-interrupts", [this, &interrupts, came = std::move(came), last_act = std::move(last_act)] {
        std::array<pollfd, 2> events{{{over_.get(), POLLIN, 0}, {came.get(), POLLIN, 0}}};
        for (;;) {
          ::poll(events.data(), events.size(), -1);
          if (events[0].revents != 0) return;
          // What stdout holds is lost: the thread that writes there may wait for its reader.
          if (const int signal = interrupts.wait(0); signal != 0) std::_Exit(last_act(signal));
        }
      });
}

EndsAtOnce::~EndsAtOnce() {
  over_.wake();
  thread_.join();
}

}  // namespace batchcast::cli

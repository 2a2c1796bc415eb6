// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/process_state.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"

using batchcast::detail::is_stopped;

TEST_CASE("a process is stopped from SIGSTOP to SIGCONT, whatever it is called") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "a) T (b");
    ::raise(SIGSTOP);
    for (;;) ::pause();
  }
  const auto pid = static_cast<std::uint32_t>(child);
  int status = 0;
  REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  CHECK(is_stopped(pid));
  REQUIRE(::kill(child, SIGCONT) == 0);
  REQUIRE(::waitpid(child, &status, WCONTINUED) == child);
  CHECK_FALSE(is_stopped(pid));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  CHECK_FALSE(is_stopped(pid));
  CHECK_FALSE(is_stopped(static_cast<std::uint32_t>(::getpid())));
  CHECK_FALSE(is_stopped(0));
}

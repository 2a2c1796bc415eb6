// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "../catch.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

// Runs something in a forked child that may die of it.
namespace batchcast::testing {

struct ChildEnd {
  int status = 0;      ///< as waitpid has it
  std::string output;  ///< what it wrote to stderr

  [[nodiscard]] bool exited_with(int code) const noexcept {
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
  }
  [[nodiscard]] bool died_of(int signal) const noexcept {
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
  }
};

/// `body` returns the exit code; 99 stands for an exception, whose text is in the output.
template <class Body>
ChildEnd in_child(Body&& body) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::signal(SIGSEGV, SIG_DFL);  // not the test framework's, nor a sanitizer's
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      if (::write(STDERR_FILENO, text.data(), text.size()) < 0) code = 98;
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  ChildEnd end;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t bytes = ::read(ends[0], buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    end.output.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  ::close(ends[0]);
  while (::waitpid(pid, &end.status, 0) < 0 && errno == EINTR) {
  }
  return end;
}

/// From here on this process's kernel is an older one: the system call fails. Where `argument` is
/// given, only if its argument number `index` has that value. For children only: there is no way
/// back.
inline bool without_system_call(long number, int error, int index = -1,
                                std::uint32_t argument = 0) {
  const auto offset_of_argument =
      static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * (index < 0 ? 0 : index));
  const auto refuse = static_cast<std::uint32_t>(SECCOMP_RET_ERRNO) |
                      (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
  std::array<sock_filter, 6> filter = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, static_cast<std::uint32_t>(number)},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offset_of_argument},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, argument},
      {BPF_RET | BPF_K, 0, 0, refuse},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  if (index < 0) filter[3] = {BPF_JMP | BPF_JA, 0, 0, 0};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace batchcast::testing

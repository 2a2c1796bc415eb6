// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "cli/child_process.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace batchcast::cli {

ChildProcess::ChildProcess(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "batchcast");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SystemError("batchcast: a pipe", errno);
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor input(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw SystemError("batchcast: fork", errno);
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(input.get(), STDOUT_FILENO);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(127);
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string ChildProcess::result() {
  std::string output;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(std::exchange(pid_, -1), &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(
        text("batchcast: a process of the benchmark failed (status {}): {}", status, output));
  }
  return output;
}

std::string last_line(const std::string& text) {
  const std::string trimmed = text.substr(0, text.find_last_not_of('\n') + 1);
  const auto newline = trimmed.rfind('\n');
  return newline == std::string::npos ? trimmed : trimmed.substr(newline + 1);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "batchcast-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw SystemError(text("batchcast: a temporary directory {}", pattern), errno);
  }
  path_ = pattern;
  ending_.emplace(interrupts_, [this](int signal) {
    remove();
    return interrupted_exit(signal);
  });
}

TemporaryDirectory::~TemporaryDirectory() {
  ending_.reset();
  remove();
}

void TemporaryDirectory::remove() const noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sweep {

/// A program that this one started. What it prints, on stdout and stderr, comes here. It receives
/// a signal to end when this object is destroyed, or this process ends in any way. Start children
/// from the main thread, before there are others.
class Child {
 public:
  explicit Child(std::vector<std::string> command) {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    output_ = ends[0];
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(127);
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::execvp(words[0], words.data());
      const std::string text = command[0] + ": " + std::strerror(errno) + "\n";
      static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
      ::_exit(127);
    }
    ::close(ends[1]);
    if (pid_ < 0) throw std::runtime_error("no process: fork failed");
  }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        output_(std::exchange(other.output_, -1)),
        ended_(other.ended_),
        status_(other.status_),
        cpu_seconds_(other.cpu_seconds_),
        rest_(std::move(other.rest_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    stop();
    if (output_ >= 0) ::close(output_);
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// What to poll; -1 once nothing more will come.
  [[nodiscard]] int output() const noexcept { return output_; }

  /// The lines that it has printed since the last call.
  [[nodiscard]] std::vector<std::string> lines() {
    char buffer[4096];
    ssize_t got = 0;
    while (output_ >= 0 && (got = ::read(output_, buffer, sizeof buffer)) > 0) {
      rest_.append(buffer, static_cast<std::size_t>(got));
    }
    if (output_ >= 0 && got == 0) ::close(std::exchange(output_, -1));
    std::vector<std::string> lines;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      lines.push_back(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    return lines;
  }

  /// Whether it has ended; `how`, `well` and `cpu_seconds` are known then.
  [[nodiscard]] bool ended() { return ended_ || reap(WNOHANG); }
  [[nodiscard]] bool well() const noexcept { return WIFEXITED(status_) && !WEXITSTATUS(status_); }
  [[nodiscard]] std::string how() const {
    if (WIFSIGNALED(status_)) return "killed by signal " + std::to_string(WTERMSIG(status_));
    return "ended with " + std::to_string(WEXITSTATUS(status_));
  }
  [[nodiscard]] double cpu_seconds() const noexcept { return cpu_seconds_; }

  /// Tells it to end, and waits until it has; after five seconds it is killed.
  void stop() {
    if (pid_ < 0 || ended()) return;
    ::kill(pid_, SIGTERM);
    for (int i = 0; i < 250 && !ended(); ++i) {
      static_cast<void>(lines());  // a full pipe would keep it
      ::poll(nullptr, 0, 20);
    }
    if (ended()) return;
    ::kill(pid_, SIGKILL);
    reap(0);
  }

 private:
  bool reap(int flags) {
    rusage usage{};
    pid_t got = 0;
    while ((got = ::wait4(pid_, &status_, flags, &usage)) < 0 && errno == EINTR) {
    }
    if (got == 0) return false;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    cpu_seconds_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return ended_ = true;
  }

  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int status_ = 0;
  double cpu_seconds_ = 0;
  std::string rest_;
};

}  // namespace sweep

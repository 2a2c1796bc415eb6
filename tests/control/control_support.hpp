// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include "stream/stream_directory.hpp"
#include "temporary_folder.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast::test {

inline constexpr std::uint32_t layout = 7;

using TemporaryDirectory = testing::TemporaryFolder;

/// Sets an environment variable (or takes it away) for a scope.
class Environment {
 public:
  Environment(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    set(value);
  }
  ~Environment() { set(old_ ? old_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) const {
    value ? ::setenv(name_.c_str(), value, 1) : ::unsetenv(name_.c_str());
  }
  std::string name_;
  std::optional<std::string> old_;
};

/// A forked child that runs `body` and exits with its result; killed when the test is done with it.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(code);
  }
  ~Child() {
    kill();
    static_cast<void>(wait());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void kill() const noexcept {
    if (!code_) ::kill(pid_, SIGKILL);
  }
  /// Its exit code; -1 if a signal ended it.
  int wait() {
    if (code_) return *code_;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return *code_;
  }

 private:
  pid_t pid_;
  std::optional<int> code_;
};

/// Bytes from one process to another.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw SystemError("pipe", errno);
    read_ = FileDescriptor(ends[0]);
    write_ = FileDescriptor(ends[1]);
  }
  template <class T>
  void put(const T& value) const {
    if (::write(write_.get(), &value, sizeof value) != sizeof value) std::abort();
  }
  /// Whether `get` need not wait.
  [[nodiscard]] bool has_some() const {
    pollfd asked{read_.get(), POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1;
  }
  /// Waits.
  template <class T>
  [[nodiscard]] T get() const {
    T value{};
    if (::read(read_.get(), &value, sizeof value) != sizeof value) std::abort();
    return value;
  }

 private:
  FileDescriptor read_, write_;
};

/// Asks again and again until it holds; false if that takes longer.
template <class Condition>
[[nodiscard]] bool holds_within(int timeout_ms, Condition condition) {
  const std::uint64_t end_ns = now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  while (!condition()) {
    if (now_ns() > end_ns) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

inline Hello hello_of(const std::string& name = "trainer") {
  Hello hello;
  hello.layout_version = layout;
  hello.name = name;
  hello.batch_size = 37;
  hello.pid = ::getpid();
  return hello;
}

/// Connects, says `text`, and returns what comes back with the connection.
struct Visit {
  DoorConnection connection;
  DoorRead read = DoorRead::closed;
  DoorMessage message;
  [[nodiscard]] ProducerMessage answer() const { return decode_from_producer(message.text); }
  template <class T>
  [[nodiscard]] std::optional<T> get() const {
    if (read != DoorRead::message) return std::nullopt;
    const ProducerMessage all = answer();
    const T* found = std::get_if<T>(&all);
    return found ? std::optional<T>(*found) : std::nullopt;
  }
};

inline Visit visit(const std::string& door, const std::string& text,
                   std::vector<int> descriptors = {}, int timeout_ms = 5'000) {
  Visit result;
  DoorAttempt attempt = connect_door(door);
  if (attempt.answer != DoorAnswer::open) return result;
  result.connection = std::move(attempt.connection);
  result.read = result.connection.ask(text, descriptors, result.message, 8, timeout_ms);
  return result;
}

/// As a consumer does it: with its own pidfd.
inline Visit join(const std::string& door, const Hello& hello = hello_of()) {
  const FileDescriptor self = own_pidfd();
  return visit(door, encode(hello), {self.get()});
}

}  // namespace batchcast::test

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/starting/start_process.hpp>

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/wait_watch.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace start_process {

inline constexpr std::size_t output_bytes_max = std::size_t{4} << 20;
inline constexpr std::size_t errors_bytes_kept = std::size_t{8} << 10;
inline constexpr int reap_ms = 1'000;  // for one that was killed in a system call
inline constexpr const char* env_python = "BATCHCAST_PYTHON";

inline std::atomic<const char*> own_python = nullptr;

/// Texts and pointers that posix_spawn reads as the environment of a new process.
class Environment {
 public:
  Environment() {
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
      entries_.push_back(*entry);
    }
    const char* const python = own_python.load();
    if (python != nullptr && std::getenv(env_python) == nullptr) {
      python_ = text("{}={}", env_python, python);
      entries_.push_back(python_.data());
    }
    entries_.push_back(nullptr);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  [[nodiscard]] char* const* entries() const noexcept { return entries_.data(); }

 private:
  std::string python_;
  std::vector<char*> entries_;
};

/// What posix_spawn receives; destroyed with it.
class SpawnPlan {
 public:
  SpawnPlan(const FileDescriptor& null, const FileDescriptor& out, const FileDescriptor& err) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    int error = ::posix_spawn_file_actions_adddup2(&actions_, null.get(), STDIN_FILENO);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions_, out.get(), STDOUT_FILENO);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions_, err.get(), STDERR_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (error == 0) {
      error = ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    }
#endif
    if (error != 0) throw SystemError("batchcast: cannot plan a process", error);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                 static_cast<short>(POSIX_SPAWN_SETSID));
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// Returns 0, or an error's number.
  [[nodiscard]] int spawn(std::vector<std::string> words, pid_t& pid) const {
    const std::vector<char*> pointers = pointers_to(words);
    const Environment environment;
    return ::posix_spawn(&pid, words.front().c_str(), &actions_, &attributes_, pointers.data(),
                         environment.entries());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// A child that is known by its pidfd: another process may have its pid as soon as another thread
/// of this process has reaped it.
class Child {
 public:
  /// One that has ended may be gone already, where others reap this process's children. Throws
  /// SystemError, and then it is gone as well.
  explicit Child(pid_t pid)
      : pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))), gone_(!pidfd_) {
    const int error = errno;
    if (!gone_ || error == ESRCH) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    throw SystemError("batchcast: cannot watch a process", error);
  }
  ~Child() {
    if (gone_) return;
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0U);
    pollfd end{pidfd_.get(), POLLIN, 0};
    if (::poll(&end, 1, reap_ms) > 0) static_cast<void>(reap());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] bool gone() const noexcept { return gone_; }
  /// Call it once the pidfd is readable.
  [[nodiscard]] std::string reap() {
    constexpr auto by_pidfd = static_cast<idtype_t>(3);  // P_PIDFD, which older headers lack
    gone_ = true;
    siginfo_t how{};
    while (::waitid(by_pidfd, static_cast<id_t>(pidfd_.get()), &how, WEXITED) != 0) {
      if (errno != EINTR) return "ended";  // SIGCHLD is ignored, or another thread got its status
    }
    return text_of_end(how.si_code == CLD_EXITED, how.si_status);
  }

 private:
  FileDescriptor pidfd_;
  bool gone_;
};

struct Pipe {
  FileDescriptor reads;
  FileDescriptor writes;
};

inline Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw SystemError("batchcast: cannot make a pipe", errno);
  }
  const FileDescriptor reads(ends[0]);
  const FileDescriptor writes(ends[1]);
  Pipe pipe{above_standard(reads), above_standard(writes)};
  ::fcntl(pipe.reads.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

/// Appends what is there. The pipe is closed at its end.
inline void read_into(FileDescriptor& pipe, std::string& text) {
  std::array<char, 16'384> buffer{};
  for (;;) {
    const ssize_t bytes = pipe ? ::read(pipe.get(), buffer.data(), buffer.size()) : -1;
    if (bytes < 0 && errno == EINTR && pipe) continue;
    if (bytes == 0 || (bytes < 0 && pipe && errno != EAGAIN)) pipe.reset();
    if (bytes <= 0) return;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
    if (text.size() > output_bytes_max) return;
  }
}

/// What a child writes to stderr: line by line for the caller, and the end of it for a
/// message.
class ErrorLines {
 public:
  explicit ErrorLines(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}

  void read(FileDescriptor& pipe) {
    const std::size_t before = text_.size();
    read_into(pipe, text_);
    total_ += text_.size() - before;
    for (std::size_t end; (end = text_.find('\n', told_)) != std::string::npos; told_ = end + 1) {
      const std::string_view line = std::string_view(text_).substr(told_, end - told_);
      if (says_progress(line)) alive_ = true;
      if (on_line_ && !line.empty()) on_line_(line);
    }
    if (told_ <= errors_bytes_kept) return;
    text_.erase(0, told_ - errors_bytes_kept);
    told_ = errors_bytes_kept;
  }
  /// Whether a sign of life came since the last call.
  [[nodiscard]] bool take_alive() noexcept { return std::exchange(alive_, false); }
  [[nodiscard]] bool too_many() const noexcept { return total_ > output_bytes_max; }
  [[nodiscard]] std::string take() {
    if (text_.size() > errors_bytes_kept) text_.erase(0, text_.size() - errors_bytes_kept);
    return std::move(text_);
  }

 private:
  const std::function<void(std::string_view)>& on_line_;
  std::string text_;
  std::size_t told_ = 0;  ///< up to there the lines are handed out
  std::size_t total_ = 0;
  bool alive_ = false;
};

}  // namespace start_process

BATCHCAST_INLINE void note_own_python(const char* path) noexcept {
  start_process::own_python.store(path);
}

BATCHCAST_INLINE CommandRun run_command(const std::vector<std::string>& words, int timeout_ms,
                                        const std::function<void(std::string_view)>& on_error_line,
                                        const std::function<void()>& while_waiting) {
  WaitWatch waits(while_waiting);
  Deadline deadline(timeout_ms);
  start_process::Pipe out = start_process::make_pipe();
  start_process::Pipe err = start_process::make_pipe();
  const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) throw SystemError("batchcast: cannot open /dev/null", errno);
  CommandRun run;
  pid_t pid = -1;
  const int error =
      start_process::SpawnPlan(above_standard(null), out.writes, err.writes).spawn(words, pid);
  if (error != 0) {
    run.end = text("cannot be run: {}", ::strerrordesc_np(error));
    return run;
  }
  start_process::Child child(pid);
  out.writes.reset();
  err.writes.reset();
  start_process::ErrorLines lines(on_error_line);
  for (bool over = child.gone(); !run.timed_out;) {
    start_process::read_into(out.reads, run.output);
    lines.read(err.reads);
    if (lines.take_alive()) deadline = Deadline(timeout_ms);
    if (over) {  // and what it left in the pipes is read
      run.end = child.gone() ? "ended" : child.reap();
      break;
    }
    if (run.output.size() > start_process::output_bytes_max || lines.too_many()) {
      run.end = "wrote without end";
      break;
    }
    std::array<pollfd, 3> events{
        {{out.reads.get(), POLLIN, 0}, {err.reads.get(), POLLIN, 0}, {child.pidfd(), POLLIN, 0}}};
    const int ready = ::poll(events.data(), events.size(), waits.slice_ms(deadline.left_ms()));
    over = ready > 0 && events[2].revents != 0;
    run.timed_out = !over && deadline.over();
    if (!over) waits.look();
  }
  run.errors = lines.take();
  return run;
}

BATCHCAST_INLINE std::string indented_end(std::string_view output) {
  constexpr std::size_t lines_max = 20;
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    if (end > at) lines.push_back(output.substr(at, end - at));
    at = end + 1;
  }
  std::string shown;
  for (std::size_t i = lines.size() - std::min(lines.size(), lines_max); i < lines.size(); ++i) {
    shown += text("\n  {}", lines[i]);
  }
  return shown;
}

BATCHCAST_INLINE std::string text_of_end(bool exited, int number) {
  if (exited) return text("ended with exit code {}", number);
  const char* name = ::sigdescr_np(number);
  return text("was ended by signal {}{}", number, name == nullptr ? "" : text(" ({})", name));
}

BATCHCAST_INLINE FileDescriptor above_standard(const FileDescriptor& fd) {
  constexpr int lowest = 10;
  FileDescriptor copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest));
  if (!copy) throw SystemError("batchcast: cannot duplicate a file descriptor", errno);
  return copy;
}

BATCHCAST_INLINE std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/detached_process.hpp"

#include <batchcast/starting/start_process.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/sanitizer.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

// Between fork and exec, code runs in the memory of a process whose other threads are gone, with
// the locks that they held. So it allocates nothing, takes no lock, and makes only system calls.
namespace batchcast::inline v0_1::detail {
namespace {

struct Report {
  enum class Kind : int { ended, not_run, not_forked };
  Kind kind;
  int value;  ///< of waitpid, or errno
};

/// All that the two new processes need, ready before the first of them.
struct Plan {
  char* const* words;
  char* const* environment;
  const char* directory;  ///< empty: this process's
  int null;
  int log;
  int report;
};

constexpr int report_fd = STDERR_FILENO + 1;  // in the new processes

pid_t new_process() noexcept {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34) && !defined(BATCHCAST_THREAD_SANITIZER)
  return ::_Fork();  // without what libraries want done at a fork, which may wait for their threads
#else
  return ::fork();
#endif
}

void close_from(int first) noexcept {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), UINT_MAX, 0U) == 0) return;
  constexpr int highest = 65'536;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, highest));
  for (int fd = first; fd < end; ++fd) ::close(fd);
}

void report(Report::Kind kind, int value) noexcept {
  const Report text{kind, value};
  while (::write(report_fd, &text, sizeof text) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void run_program(const Plan& plan) noexcept {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.directory[0] != '\0' && ::chdir(plan.directory) != 0) {
    report(Report::Kind::not_run, errno);
    ::_exit(127);
  }
  ::execve(plan.words[0], plan.words, plan.environment);
  report(Report::Kind::not_run, errno);
  ::_exit(127);
}

[[noreturn]] void watch(pid_t program) noexcept {
  constexpr int look_ms = 10;  // where there are no pidfds
  const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, program, 0U));
  std::array<pollfd, 2> events{{{pidfd, POLLIN, 0}, {report_fd, 0, 0}}};
  for (;;) {
    ::poll(events.data(), events.size(), pidfd < 0 ? look_ms : -1);
    if (events[1].revents != 0) ::_exit(0);  // the reader of the reports is gone
    int status = 0;
    if (::waitpid(program, &status, WNOHANG) != program) continue;
    report(Report::Kind::ended, status);
    ::_exit(0);
  }
}

/// The process in between. All signals are blocked.
[[noreturn]] void stand_between(const Plan& plan) noexcept {
  ::setsid();
  ::dup2(plan.null, STDIN_FILENO);
  ::dup2(plan.log, STDOUT_FILENO);
  ::dup2(plan.log, STDERR_FILENO);
  ::dup2(plan.report, report_fd);
  ::fcntl(report_fd, F_SETFD, FD_CLOEXEC);
  close_from(report_fd + 1);
  // A process that ignores this signal gets no status of its children.
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, nullptr);
  const pid_t program = new_process();
  if (program == 0) run_program(plan);
  // Only the program itself has the log open: that shows whether it lives.
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(STDIN_FILENO, fd);
  if (program < 0) {
    report(Report::Kind::not_forked, errno);
    ::_exit(0);
  }
  watch(program);
}

std::vector<std::string> environment_with(const std::vector<std::string>& own) {
  std::vector<std::string> all = own;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const std::string& mine) {
      return mine.size() > name.size() && mine.starts_with(name) && mine[name.size()] == '=';
    });
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

/// While it lives, no signal is delivered to this thread, nor to a process that it forks.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

std::string text_of_status(int status) {
  const bool exited = WIFEXITED(status);
  return text_of_end(exited, exited ? WEXITSTATUS(status) : WTERMSIG(status));
}

}  // namespace

DetachedProcess::DetachedProcess(Program program) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw SystemError("batchcast: cannot make a pipe", errno);
  }
  reports_ = FileDescriptor(pipe[0]);
  const FileDescriptor report_end(pipe[1]);
  const FileDescriptor null_file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_file) throw SystemError("batchcast: cannot open /dev/null", errno);
  const FileDescriptor null = above_standard(null_file);
  const FileDescriptor log = above_standard(program.log);
  const FileDescriptor reports = above_standard(report_end);
  std::vector<std::string> environment = environment_with(program.environment);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const std::vector<char*> words = pointers_to(program.words);
  const Plan plan{
      words.data(), environment_pointers.data(), program.directory.c_str(), null.get(), log.get(),
      reports.get()};
  const AllSignalsBlocked blocked;
  watcher_ = new_process();
  if (watcher_ == 0) stand_between(plan);
  if (watcher_ < 0) throw SystemError("batchcast: cannot make a process", errno);
}

DetachedProcess::~DetachedProcess() {
  reports_.reset();
  // The watcher sees that and ends. Where the program ignores SIGCHLD, it is gone already.
  while (::waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<DetachedProcess::End> DetachedProcess::ended(int timeout_ms) {
  pollfd event{unwatched_ ? -1 : reports_.get(), POLLIN, 0};
  if (::poll(&event, 1, timeout_ms) <= 0) return std::nullopt;
  Report said{};
  const ssize_t bytes = ::read(reports_.get(), &said, sizeof said);
  if (bytes < 0 && errno == EINTR) return std::nullopt;
  if (bytes != sizeof said) {
    unwatched_ = true;
    return std::nullopt;
  }
  switch (said.kind) {
    case Report::Kind::ended:
      return End{said.value == 0, text_of_status(said.value)};
    case Report::Kind::not_run:
      return End{false, text("cannot be run: {}", ::strerrordesc_np(said.value))};
    case Report::Kind::not_forked:
      break;
  }
  return End{false, text("cannot be run, since no process can be made: {}",
                         ::strerrordesc_np(said.value))};
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/keeper.hpp"

#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/output.hpp"
#include "cli/serve/own_words.hpp"
#include "cli/serve/replaced.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/directory.hpp>
#include "start/given_up.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

extern char** environ;

namespace batchcast::cli {
namespace {

constexpr const char* option = "--keep-alive";
constexpr std::uint64_t first_pause_ms = 100;
constexpr std::uint64_t longest_pause_ms = 10'000;
constexpr double sound_after_s = 60;  // a worker that ran for so long did not die of its start

constexpr std::uint64_t look_every_ms = 20;  // for the lock of a keeper that is replaced

timespec timespec_of(std::uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

/// Empty where another keeper has it.
FileDescriptor try_lock(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) throw SystemError(text("batchcast: open {}", path), errno);
  struct stat status;
  const bool has = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
                   ::fstat(file.get(), &status) == 0 &&
                   status.st_nlink != 0;  // else it was removed
  return has ? std::move(file) : FileDescriptor();
}

class Keeper {
 public:
  Keeper(std::string stream, const std::string& base, std::uint32_t give_up_after, bool replaces)
      : stream_(std::move(stream)),
        base_(base),
        path_(keeper_path(base_, stream_)),
        lock_(try_lock(path_)),
        give_up_after_(give_up_after),
        words_(without_flag(own_words(), option)) {
    ::sigemptyset(&signals_);
    if (!lock_ && !replaces) {
      throw StreamTaken(
          text("batchcast: another `serve {}` keeps the stream `{}` alive. End it first, with "
               "`batchcast stop {}`, or take its place with {}.",
               option, stream_, stream_, replace_flag));
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }
  ~Keeper() {
    if (lock_) ::unlink(path_.c_str());
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  int run() {
    for (std::uint64_t pause_ms = first_pause_ms;;) {
      const std::uint64_t began_ns = now_ns();
      const int status = wait_for(start());
      // By then another producer may have the name: a person started that.
      words_ = without_flag(std::move(words_), replace_flag);
      if (WIFEXITED(status)) return ended_with(WEXITSTATUS(status));
      if (asked_ != 0) return end_stream();  // it was killed while it ended
      const bool was_sound = seconds_from_ns(now_ns() - began_ns) >= sound_after_s;
      if (was_sound) pause_ms = first_pause_ms;
      if (gives_up()) return exit_stream_ended;
      const bool had_ended = last_words().has_value();
      say(text("the producer of stream `{}` was killed by SIG{}; it is started again in {} ms\n",
               stream_, ::sigabbrev_np(WTERMSIG(status)), pause_ms));
      if (pause(pause_ms)) return end_stream();
      if (!had_ended && last_words()) {
        say(text("stream `{}` was ended meanwhile; its producer is not started again\n", stream_));
        return exit_ok;
      }
      restarted_ = true;
      pause_ms = std::min(pause_ms * 2, longest_pause_ms);
    }
  }

 private:
  /// This process is asked to end, and its worker was killed: no producer comes any more.
  [[nodiscard]] int end_stream() const {
    try {
      detail::end_dead_stream(stream_, base_, text("its keeper got SIG{}", ::sigabbrev_np(asked_)));
    } catch (const Error&) {
      // Another producer has the name.
    }
    return exit_ok;
  }
  /// How the stream ended in order, or failed. Nothing after a death, unless a person ended it
  /// since.
  [[nodiscard]] std::optional<LastEnd> last_words() const {
    const std::vector<std::string> bases{base_};
    return last_end(stream_, bases);
  }
  /// The worker could not start again, where a trainer waits for it: the trainer hears of it, by
  /// the worker's words or these.
  [[nodiscard]] int ended_with(int code) const {
    const bool is_waited_for =
        restarted_ && detail::life_waited_for(stream_paths(base_, stream_).directory).has_value();
    if (code != exit_ok && is_waited_for && !last_words()) {
      detail::give_up_stream(
          stream_, base_,
          text("its producer could not be started again, and ended with exit code {}: the output "
               "of its keeper (`serve {}`) says why",
               code, option));
    }
    return code;
  }
  /// Counts the death of a worker, for the next one.
  [[nodiscard]] bool gives_up() {
    using namespace detail;
    const std::string directory = stream_paths(base_, stream_).directory;
    std::optional<Life> left = life_waited_for(directory);
    if (!left) return ::setenv(deaths_variable, "0", 1), false;
    const std::uint32_t deaths = deaths_in_a_row(*left);
    if (!is_given_up(deaths, give_up_after_)) {
      note_start(directory, *left);
      ::setenv(deaths_variable, std::to_string(deaths).c_str(), 1);
      return false;
    }
    const std::string reason = given_up_text(stream_, *left, deaths);
    say(text("stream `{}` is given up: {}.\n", stream_, reason));
    give_up_stream(stream_, base_, reason);
    return true;
  }

  [[nodiscard]] pid_t start() {
    std::vector<char*> pointers;
    for (std::string& word : words_) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t worker = -1;
    const int error =
        ::posix_spawn(&worker, "/proc/self/exe", nullptr, &attributes, pointers.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) throw SystemError("batchcast: the worker cannot be started", error);
    return worker;
  }

  /// Its status. Forwards what is asked of this process meanwhile.
  [[nodiscard]] int wait_for(pid_t worker) {
    for (;;) {
      int status = 0;
      if (::waitpid(worker, &status, WNOHANG) == worker) return status;
      siginfo_t info;
      const int signal = lock_ ? ::sigwaitinfo(&signals_, &info) : wait_for_lock(info);
      if (signal <= 0 || signal == SIGCHLD) continue;
      asked_ = signal;
      // The terminal sends its signals to both.
      if (info.si_code != SI_KERNEL) ::kill(worker, signal);
    }
  }

  /// The worker kills the keeper that has it. Returns the signal that came meanwhile, or nothing.
  [[nodiscard]] int wait_for_lock(siginfo_t& info) {
    lock_ = try_lock(path_);
    const timespec wait = timespec_of(lock_ ? 0 : look_every_ms * 1'000'000);
    return ::sigtimedwait(&signals_, &info, &wait);
  }

  /// True if this process is asked to end meanwhile.
  [[nodiscard]] bool pause(std::uint64_t ms) {
    const std::uint64_t until_ns = now_ns() + ms * 1'000'000;
    for (std::uint64_t now = now_ns(); now < until_ns; now = now_ns()) {
      const timespec left = timespec_of(until_ns - now);
      const int signal = ::sigtimedwait(&signals_, nullptr, &left);
      if (signal <= 0 || signal == SIGCHLD) continue;
      asked_ = signal;
      return true;
    }
    return false;
  }

  const std::string stream_;
  const std::string base_;
  const std::string path_;
  FileDescriptor lock_;  ///< empty until the keeper that is replaced is gone
  const std::uint32_t give_up_after_;
  std::vector<std::string> words_;
  sigset_t signals_;
  int asked_ = 0;
  bool restarted_ = false;  ///< a worker was killed before
};

}  // namespace

int keep_alive(const std::string& stream, const std::string& base, std::uint32_t give_up_after,
               bool replaces) {
  return Keeper(stream, base, give_up_after, replaces).run();
}

}  // namespace batchcast::cli

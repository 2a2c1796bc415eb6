// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/starting/start_process.hpp>

#include "temporary_folder.hpp"

#include <batchcast/core/clock.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::detail;
using batchcast::testing::TemporaryFolder;
using Catch::Contains;

namespace {

constexpr int long_ms = 60'000;

CommandRun shell(const std::string& script, int timeout_ms = long_ms,
                 const std::function<void(std::string_view)>& on_line = {}) {
  return run_command({"/bin/sh", "-c", script}, timeout_ms, on_line);
}

/// No child of this process is left, neither running nor dead.
bool childless() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

double seconds_since(std::uint64_t began_ns) { return seconds_from_ns(now_ns() - began_ns); }

bool runs(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

}  // namespace

TEST_CASE("a command whose caller gives up waiting is killed") {
  const std::uint64_t began_ns = now_ns();
  int calls = 0;
  const auto give_up = [&calls] {
    if (++calls == 3) throw calls;
  };
  CHECK_THROWS_AS(run_command({"/bin/sleep", "60"}, -1, {}, give_up), int);
  CHECK(seconds_since(began_ns) < 5);
  CHECK(childless());
}

TEST_CASE("a command's output, its errors line by line, and its end are known") {
  std::vector<std::string> lines;
  const CommandRun run = shell("echo a; echo one >&2; echo b; printf 'two\\nthree' >&2; exit 3",
                               long_ms, [&](std::string_view line) { lines.emplace_back(line); });
  CHECK(run.output == "a\nb\n");
  CHECK(run.errors == "one\ntwo\nthree");
  CHECK(lines == std::vector<std::string>{"one", "two"});
  CHECK(run.end == "ended with exit code 3");
  CHECK_FALSE(run.timed_out);
  CHECK(shell("kill -9 $$").end == "was ended by signal 9 (Killed)");
  CHECK_THAT(run_command({"/no/such/file"}, long_ms, {}).end,
             Contains("cannot be run: No such file"));
  CHECK(childless());
}

TEST_CASE("a command has nothing of its starter's but where it is and what it may") {
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old = ::signal(SIGINT, SIG_IGN);
  const int leaks = ::dup(STDERR_FILENO);  // without CLOEXEC
  // A shell has signals of its own mind.
  const CommandRun status = run_command({"/bin/cat", "/proc/self/status"}, long_ms, {});
  const CommandRun run =
      shell("ls -1 /proc/$$/fd; cat; pwd; ps -o sid= -p $$ | tr -d ' '; echo $$");
  ::close(leaks);
  ::signal(SIGINT, old);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK_THAT(status.output, Contains("SigBlk:\t0000000000000000"));
  const std::size_t ignored = status.output.find("SigIgn:\t");
  REQUIRE(ignored != std::string::npos);
  // The C library keeps those above 31 for itself.
  CHECK((std::stoull(status.output.substr(ignored + 8), nullptr, 16) & 0x7fffffffU) == 0);
  CHECK_THAT(run.output, Catch::Matchers::StartsWith(
                             "0\n1\n2\n" + std::filesystem::current_path().string() + "\n"));
  std::istringstream session(run.output.substr(run.output.rfind('/')));
  std::string rest, id, pid;
  session >> rest >> id >> pid;
  CHECK(id == pid);
}

TEST_CASE("a command that hangs is killed at the time-out, and what it started stays") {
  const std::uint64_t began_ns = now_ns();
  CHECK(run_command({"/bin/sleep", "60"}, 100, {}).timed_out);
  CHECK(childless());
  // Given up once it has said what it started, however long its own start takes.
  std::string ids;
  const auto hear = [&ids](std::string_view line) { ids = line; };
  const auto give_up = [&ids] {
    if (!ids.empty()) throw ids;
  };
  const std::vector<std::string> words = {"/bin/sh", "-c", "sleep 60 & echo $! $$ >&2; wait"};
  CHECK_THROWS_AS(run_command(words, long_ms, hear, give_up), std::string);
  CHECK(seconds_since(began_ns) < 30);
  const std::size_t space = ids.find(' ');
  REQUIRE(space != std::string::npos);
  CHECK(runs(ids.substr(0, space)));
  CHECK_FALSE(runs(ids.substr(space + 1)));
  ::kill(std::stoi(ids), SIGKILL);
  CHECK(childless());
}

TEST_CASE("what a command leaves running does not hold up who runs it") {
  const std::uint64_t began_ns = now_ns();
  const CommandRun run = shell("sleep 60 & echo $!");  // with both pipes open
  CHECK(seconds_since(began_ns) < 30);
  CHECK(run.end == "ended with exit code 0");
  ::kill(std::stoi(run.output), SIGKILL);
}

TEST_CASE("a command that closes its output is waited for all the same") {
  const CommandRun run = shell("exec >&- 2>&-; sleep 0.3; exit 4");
  CHECK(run.end == "ended with exit code 4");
}

TEST_CASE("a command that writes without end is ended") {
  const std::string script = GENERATE("yes", "yes >&2", "yes aaaaaaaa | tr -d '\\n' >&2");
  const std::uint64_t began_ns = now_ns();
  const CommandRun run = shell("exec 3>&1; " + script, 2 * long_ms);
  CHECK(run.end == "wrote without end");
  CHECK(run.output.size() < std::size_t{16} << 20);
  CHECK(run.errors.size() <= std::size_t{8} << 10);
  CHECK(seconds_since(began_ns) < 60);
}

TEST_CASE("a program may ignore SIGCHLD") {
  const auto old = ::signal(SIGCHLD, SIG_IGN);
  const CommandRun run = shell("echo word; exit 2");
  const CommandRun hangs = shell("sleep 60", 100);
  ::signal(SIGCHLD, old);
  CHECK(run.output == "word\n");
  CHECK_THAT(run.end, Contains("ended"));
  CHECK(hangs.timed_out);
  CHECK(childless());
}

TEST_CASE("another thread may reap every child") {
  std::atomic<bool> over{false};
  std::thread reaper([&] {
    while (!over) {
      if (::waitpid(-1, nullptr, WNOHANG) <= 0) std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const CommandRun run = shell("echo word; echo line >&2");
    CHECK(run.output == "word\n");
    CHECK(run.errors == "line\n");
    CHECK_THAT(run.end, Catch::Matchers::StartsWith("ended"));
  }
  CHECK(shell("sleep 60", 100).timed_out);
  over = true;
  reaper.join();
  CHECK(childless());
}

TEST_CASE("a program may have closed its standard descriptors") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/said";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const CommandRun run = shell("echo word; cat; echo line >&2");
    std::ofstream(path) << run.output << run.errors << run.end;
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::ifstream file(path);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  CHECK(said == "word\nline\nended with exit code 0");
}

TEST_CASE("many threads may run commands at once") {
  std::vector<std::thread> threads;
  std::atomic<int> well{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&well, i] {
      const std::string number = std::to_string(i);
      const CommandRun run = shell("sleep 0.05; echo " + number + "; exit " + number);
      if (run.output == number + "\n" && run.end == "ended with exit code " + number) ++well;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(well == 8);
  CHECK(childless());
}

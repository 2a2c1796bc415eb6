// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "process.hpp"

#include "../catch.hpp"

#include <batchcast/core/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace batchcast::testing {
namespace {

std::map<std::string, Role>& roles() {
  static std::map<std::string, Role> all;
  return all;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool readable(int fd, int timeout_ms) noexcept {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

/// Takes the first line out of `text`.
std::optional<std::string> take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

bool read_more(int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t bytes = ::read(fd, buffer.data(), buffer.size());
  if (bytes > 0) text.append(buffer.data(), static_cast<std::size_t>(bytes));
  return bytes > 0 || (bytes < 0 && errno == EINTR);
}

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t bytes = ::write(fd, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return;  // whoever was to read it is gone
    done += static_cast<std::size_t>(bytes);
  }
}

}  // namespace

Words::Words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

Words::Words(std::string line) : Words(split(line)) { line_ = std::move(line); }

std::string Words::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

std::int64_t Words::number(const std::string& key, std::int64_t otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : std::stoll(found->second);
}

RoleRegistration::RoleRegistration(const char* name, Role role) { roles()[name] = std::move(role); }

std::optional<int> run_role(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "serve" || command == "ensure") {  // started by what is tested
    std::string line;
    for (int i = 2; i < argc; ++i) line += (i == 2 ? "" : " ") + std::string(argv[i]);
    return roles().at(command)(Words(line));
  }
  if (argc < 3 || std::string(argv[1]) != "--role") return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Words words(std::vector<std::string>(argv + 3, argv + argc));
  if (::getppid() != static_cast<pid_t>(words.number("parent"))) return 1;  // it died meanwhile
  return roles().at(argv[2])(words);
}

void say(const std::string& line) { write_all(STDOUT_FILENO, line + "\n"); }

std::optional<std::string> hear() {
  static std::string heard;
  for (;;) {
    if (auto line = take_line(heard)) return line;
    if (!read_more(STDIN_FILENO, heard)) return std::nullopt;
  }
}

bool is_told() noexcept { return readable(STDIN_FILENO, 0); }

bool End::exited_with(int code) const noexcept {
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

bool End::killed_by(int number) const noexcept {
  return ended && WIFSIGNALED(status) && WTERMSIG(status) == number;
}

std::string End::text() const {
  if (!ended) return "runs";
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

Process::Process(const std::string& role, const std::vector<std::string>& words) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  to_ = in[1];
  from_ = out[0];
  errors_ = ::memfd_create("errors", MFD_CLOEXEC);
  std::vector<std::string> texts = {"batchcast_multiprocess", "--role", role};
  texts.insert(texts.end(), words.begin(), words.end());
  texts.push_back("parent=" + std::to_string(::getpid()));
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
  const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  if (error != 0) throw std::runtime_error("posix_spawn failed");
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      heard_(std::move(other.heard_)),
      end_(std::move(other.end_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    dispose();
    pid_ = std::exchange(other.pid_, -1);
    to_ = std::exchange(other.to_, -1);
    from_ = std::exchange(other.from_, -1);
    errors_ = std::exchange(other.errors_, -1);
    heard_ = std::move(other.heard_);
    end_ = std::move(other.end_);
  }
  return *this;
}

Process::~Process() { dispose(); }

void Process::dispose() noexcept {
  if (pid_ > 0 && !end_) {
    kill();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  for (int* fd : {&to_, &from_, &errors_}) {
    if (*fd >= 0) ::close(std::exchange(*fd, -1));
  }
}

void Process::tell(const std::string& line) { write_all(to_, line + "\n"); }

std::optional<std::string> Process::line(int timeout_ms) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  for (;;) {
    if (auto line = take_line(heard_)) return line;
    const std::uint64_t now = now_ns();
    if (now >= until) return std::nullopt;
    if (readable(from_, static_cast<int>((until - now + 999'999) / 1'000'000)) &&
        !read_more(from_, heard_)) {
      return std::nullopt;
    }
  }
}

Words Process::expect(std::string_view beginning, int timeout_ms) {
  std::string before;
  while (auto said = line(timeout_ms)) {
    if (said->starts_with(beginning)) return Words(*said);
    before += *said + "\n";
  }
  FAIL("the child never said `" << beginning << "`; it " << wait(0).text() << ", said\n"
                                << before << "and wrote\n"
                                << errors());
  return Words();
}

void Process::signal(int number) const noexcept {
  if (pid_ > 0 && !end_) ::kill(pid_, number);
}

void Process::kill() const noexcept { signal(SIGKILL); }

void Process::kill_and_wait() {
  kill();
  static_cast<void>(wait());
}

End Process::wait(int timeout_ms) {
  if (end_) return *end_;
  End end;
  const bool ended =
      eventually([&] { return ::waitpid(pid_, &end.status, WNOHANG) == pid_; }, timeout_ms);
  if (!ended) return end;
  end.ended = true;
  end_ = end;
  return end;
}

std::string Process::errors() const {
  std::string text(65'536, '\0');
  const ssize_t bytes = ::pread(errors_, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

}  // namespace batchcast::testing

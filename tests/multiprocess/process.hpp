// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "temporary_folder.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Processes of a test: this program again, in another role. They say one line at a time on stdout
// and are told one line at a time on stdin.
namespace batchcast::testing {

/// What a role was started with: `key=value` words.
class Words {
 public:
  Words() = default;
  explicit Words(const std::vector<std::string>& words);
  /// Words of a line, which may hold other text as well.
  explicit Words(std::string line);

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise = "") const;
  [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t otherwise = 0) const;
  [[nodiscard]] const std::string& line() const noexcept { return line_; }

 private:
  std::string line_;
  std::map<std::string, std::string> values_;
};

using Role = std::function<int(const Words&)>;

/// One static object of it makes a role known by its name.
struct RoleRegistration {
  RoleRegistration(const char* name, Role role);
};

/// Called by main: runs the role that the arguments ask for, if they do. The roles `serve` and
/// `ensure` are run by the plain word, as a command would be, and get all the others as their line.
[[nodiscard]] std::optional<int> run_role(int argc, char** argv);

/// In a role: one line to the test, and one line from it (nothing once the test closed its end).
void say(const std::string& line);
[[nodiscard]] std::optional<std::string> hear();
/// Whether a line waits to be heard.
[[nodiscard]] bool is_told() noexcept;

/// How a process ended.
struct End {
  bool ended = false;  ///< false: not within the time-out
  int status = 0;      ///< as waitpid has it

  [[nodiscard]] bool exited_with(int code) const noexcept;
  [[nodiscard]] bool killed_by(int signal) const noexcept;
  [[nodiscard]] std::string text() const;
};

/// A child in a role. Move-only; none outlives its object, nor the test.
class Process {
 public:
  Process() noexcept = default;
  /// Spawn from the main thread only: a child dies with the thread that spawned it.
  Process(const std::string& role, const std::vector<std::string>& words);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void tell(const std::string& line);
  /// The next line that it said, or nothing at the time-out or its end.
  [[nodiscard]] std::optional<std::string> line(int timeout_ms = 20'000);
  /// Skips to the next line that begins so, and returns its words. Fails the test if none comes.
  Words expect(std::string_view beginning, int timeout_ms = 20'000);
  void signal(int number) const noexcept;
  void kill() const noexcept;
  [[nodiscard]] End wait(int timeout_ms = 20'000);
  void kill_and_wait();
  /// What it has written to stderr.
  [[nodiscard]] std::string errors() const;

 private:
  void dispose() noexcept;

  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  int errors_ = -1;
  std::string heard_;
  std::optional<End> end_;
};

/// A BATCHCAST_DIR of its own for one test, that must be empty at the end.
class OwnDirectory : public TemporaryFolder {
 public:
  OwnDirectory();
  /// All that lies there, but for the last words of streams that ended in order.
  [[nodiscard]] std::size_t entries() const;
};

/// BATCHCAST_TEST_SCALE, 1 unless set.
[[nodiscard]] double scale();
/// `count` × scale, at least `least`.
[[nodiscard]] std::uint64_t scaled(std::uint64_t count, std::uint64_t least = 1);
/// True where the clock says little: under sanitizers, and at small scales.
[[nodiscard]] bool slow_build();
/// BATCHCAST_TEST_SEED, or another one each time; printed.
[[nodiscard]] std::uint64_t test_seed(const char* test);

/// Until `condition` holds; false at the time-out.
[[nodiscard]] bool eventually(const std::function<bool()>& condition, int timeout_ms = 10'000);
void pause_us(std::uint64_t microseconds);
[[nodiscard]] double percentile(std::vector<double> values, double share);
/// How long the threads of this process, and the first of `other`, were ready to run so far and got
/// no processor. What has to happen within some time of the clock cannot happen meanwhile.
[[nodiscard]] double starved_ms(const Process& other = {});

}  // namespace batchcast::testing

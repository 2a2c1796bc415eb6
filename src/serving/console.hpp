// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/printable.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// What a process that serves, and every command, says on stderr.
namespace batchcast::inline v0_1::serving {

/// `1,234,567`
[[nodiscard]] std::string count_text(std::uint64_t count);
/// `1 epoch`, `2,000 epochs`; `many` where it does not end in s alone.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one,
                                  std::string_view many = {});
/// `  2:05 left`; empty where it is not known.
[[nodiscard]] std::string left_text(double seconds);
/// `[=====>        ]  38%`; `total` is not 0.
[[nodiscard]] std::string bar_text(std::uint64_t done, std::uint64_t total);

/// Onto stderr, as `printable_lines` has it. A closed pipe or a full disk is ignored: it is no
/// reason to end a stream that trainers use.
void say(std::string_view text) noexcept;

/// From now on each line on stderr is a JSON object: `time` (UTC), `level` and `text`. Nothing is
/// rewritten in place.
void log_as_json() noexcept;

/// As long as one lives, no thread waits for the reader of stderr: what a full pipe there does not
/// take is lost. For a stream, which goes on even if no process reads what it prints.
class UnwaitedStderr {
 public:
  UnwaitedStderr() noexcept;
  ~UnwaitedStderr();
  UnwaitedStderr(const UnwaitedStderr&) = delete;
  UnwaitedStderr& operator=(const UnwaitedStderr&) = delete;
};

/// The library's and the command's own reports, on stderr.
[[nodiscard]] LogCallback console_log(bool verbose);

/// A line that is rewritten in place on a terminal, below all that is printed meanwhile. That holds
/// while the process is in the foreground there. Elsewhere it is printed every 30 s, if it says
/// anything new. One at a time in a process.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// True when the next `show` is due: asking is cheap.
  [[nodiscard]] bool due() noexcept;
  void show(std::string_view text);
  /// Leaves the line that was shown last on the terminal.
  void finish() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] static bool can_rewrite();
  [[nodiscard]] static Clock::duration interval(bool terminal);

  const bool terminal_;
  const Clock::duration every_;
  std::string plain_;  ///< what was printed last where nothing is rewritten
  Clock::time_point next_;
};

}  // namespace batchcast::inline v0_1::serving

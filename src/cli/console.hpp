// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/printable.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What commands print: progress on stderr, results on stdout.
namespace batchcast::cli {

/// Bytes from `256MiB`, `1GiB`, `64k`, `1000`; throws CLI::ValidationError.
[[nodiscard]] std::uint64_t parse_bytes(const std::string& text);
/// Option checks that say what would be right.
[[nodiscard]] CLI::Validator at_least(std::uint64_t minimum);
[[nodiscard]] CLI::Validator above_zero();
/// A number of seconds, from 0 to limits::waiting_seconds_max, or -1 for no end.
[[nodiscard]] CLI::Validator seconds_or_forever();
/// The same with any finite number from 0: for what is clamped afterwards.
[[nodiscard]] CLI::Validator any_seconds_or_forever();
/// Seconds as given, in whole milliseconds and at least one; -1 where they are negative.
[[nodiscard]] int milliseconds(double seconds) noexcept;
/// `1,234,567`
[[nodiscard]] std::string count_text(std::uint64_t count);
/// `1 epoch`, `2,000 epochs`; `many` where it does not end in s alone.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one,
                                  std::string_view many = {});
/// `  2:05 left`; empty where it is not known.
[[nodiscard]] std::string left_text(double seconds);
/// `[=====>        ]  38%`; `total` is not 0.
[[nodiscard]] std::string bar_text(std::uint64_t done, std::uint64_t total);

/// One object (or array) on one line, as the last line of stdout.
void print_json(const nlohmann::json& value);

/// Rows as wide as their widest cell; the first row is the head.
void print_table(std::vector<std::vector<std::string>> rows);

/// The output of this command is a log, not a report: a failure to write it is no failure.
void take_output_for_a_log() noexcept;

/// To be called once a command has printed its report: `code`, but where the report could not be
/// written, says so and returns exit_environment for exit_ok and exit_not_held.
[[nodiscard]] int finish_output(int code) noexcept;

/// Onto stderr, as `printable_lines` has it. A closed pipe or a full disk is ignored: it is no
/// reason to end a stream that trainers use.
void say(std::string_view text) noexcept;

/// As long as one lives, no thread waits for the reader of stderr: what a full pipe there does not
/// take is lost. For a stream, which goes on whoever reads what it prints.
class UnwaitedStderr {
 public:
  UnwaitedStderr() noexcept;
  ~UnwaitedStderr();
  UnwaitedStderr(const UnwaitedStderr&) = delete;
  UnwaitedStderr& operator=(const UnwaitedStderr&) = delete;
};

/// The library's and the command's own reports, on stderr.
[[nodiscard]] LogCallback console_log(bool verbose);

/// A line that is rewritten in place on a terminal, below whatever is printed meanwhile, as long as
/// the process is in the foreground there. Elsewhere it is printed every 30 s, if it says anything
/// new. One at a time in a process.
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

}  // namespace batchcast::cli

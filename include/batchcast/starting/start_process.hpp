// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// How a command went that was run to be read.
struct CommandRun {
  std::string output;  ///< what it wrote to stdout
  std::string errors;  ///< the last of what it wrote to stderr
  /// `ended with exit code 2`, `cannot be run: …`; what is known where others reap this process's
  /// children is `ended`.
  std::string end;
  bool timed_out = false;  ///< killed at the time-out
};

/// Whether that line of a child's stderr says how far texts are tokenised.
[[nodiscard]] constexpr bool says_progress(std::string_view line) noexcept {
  return line.starts_with("tokenising: ");
}

/// Runs `words[0]` as a child until it ends, and hands each line that it writes to stderr to
/// `on_error_line`. The child has this process's working directory, environment, user, limits and
/// processors, /dev/null as its input, and every signal at its default. It runs in a separate
/// session, so that no terminal reaches it. It is killed at the time-out (negative: never), which
/// begins again with each line that `says_progress`. It is killed too when it writes more than a
/// recipe can be, and when `while_waiting` throws. `while_waiting` is called at least every 100 ms.
/// What the child started stays. Throws SystemError.
///
/// Any number of threads may run, and do with SIGCHLD and with this process's children what they
/// like: the end is known by pidfd.
[[nodiscard]] CommandRun run_command(const std::vector<std::string>& words, int timeout_ms,
                                     const std::function<void(std::string_view)>& on_error_line,
                                     const std::function<void()>& while_waiting = {});

/// The last lines of `text`, each after a line feed and indented, for the end of a message; empty
/// where there are none.
[[nodiscard]] std::string indented_end(std::string_view output);

/// `ended with exit code 2`, or, where `number` is a signal's, `was ended by signal 9 (Killed)`.
[[nodiscard]] std::string text_of_end(bool exited, int number);

/// Names the Python that a command which `run_command` starts takes for sources that Python reads.
/// The environment's $BATCHCAST_PYTHON stands above it. `path` lasts as long as the program.
void note_own_python(const char* path) noexcept;

/// A duplicate that is out of the way of the numbers that a new process uses. Throws SystemError.
[[nodiscard]] FileDescriptor above_standard(const FileDescriptor& fd);

/// As exec takes them, null at the end.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/interrupts.hpp"

#include <batchcast/core/file_descriptor.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace batchcast::cli {

/// This program once more, with other arguments, its stdout caught. The child dies with this
/// process.
class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> arguments);
  /// Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// All that it printed; waits until it has ended. Throws Error, with the output, unless it ended
  /// with 0.
  [[nodiscard]] std::string result();

 private:
  pid_t pid_ = -1;
  FileDescriptor output_;
};

/// The last line of `text` as JSON; throws Error.
[[nodiscard]] std::string last_line(const std::string& text);

/// A private stream directory, gone with this object. While it lives, an interrupt ends the
/// process at once, and the directory goes as well. Make one before any thread.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void remove() const noexcept;

  std::string path_;
  Interrupts interrupts_;
  std::optional<EndsAtOnce> ending_;
};

}  // namespace batchcast::cli

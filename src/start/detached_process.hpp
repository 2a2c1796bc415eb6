// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A program that runs detached: no child of this process, in a session without a terminal. It has
/// only /dev/null and a log as descriptors, and every signal at its default. It has this process's
/// working directory, user, limits and processors.
///
/// This object watches it through a process in between, which only waits for the end of either.
/// When the object or its process is gone, the process in between ends, and the program is left to
/// init.
class DetachedProcess {
 public:
  struct Program {
    std::vector<std::string> words;  ///< the first is the file to run
    /// Set in its environment, `NAME=value` each, instead of what this process has.
    std::vector<std::string> environment = {};
    std::string directory = {};  ///< its working directory; empty: this process's
    FileDescriptor log;          ///< takes its output and its errors
  };
  /// Throws SystemError. Any number of other threads may run meanwhile.
  explicit DetachedProcess(Program program);
  ~DetachedProcess();
  DetachedProcess(const DetachedProcess&) = delete;
  DetachedProcess& operator=(const DetachedProcess&) = delete;

  struct End {
    bool in_order = false;  ///< with exit code 0
    std::string text;       ///< such as `ended with exit code 2`
  };
  /// How it ended. Waits that long for it; nothing while it still runs.
  [[nodiscard]] std::optional<End> ended(int timeout_ms);
  /// The watching process is gone: how the program ends cannot be known any more.
  [[nodiscard]] bool unwatched() const noexcept { return unwatched_; }

 private:
  FileDescriptor reports_;
  pid_t watcher_ = -1;
  bool unwatched_ = false;
};

}  // namespace batchcast::inline v0_1::detail

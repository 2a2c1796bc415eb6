// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/directory.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// flock on <stream>/start. Of all processes that want a stream to be started, the one that holds
// the lock starts it. The kernel releases the lock when that process ends.
namespace batchcast::inline v0_1::detail {

/// What the lock's holder leaves for the processes that wait.
struct FailedStart {
  std::vector<std::string> words;  ///< what it ran
  std::string text;
};

/// One caller's part in the election. Several in one process compete like several processes.
class StartLock {
 public:
  StartLock(std::string base, std::string stream);
  ~StartLock();
  StartLock(const StartLock&) = delete;
  StartLock& operator=(const StartLock&) = delete;

  /// Queues at the first call, and makes the stream's directory where there is none. Never waits.
  /// True: it is held from here on. Throws Error, SystemError.
  [[nodiscard]] bool try_take();
  /// While held: the failure of a process that held it after this one began to wait.
  [[nodiscard]] std::optional<FailedStart> failed_meanwhile() const;
  /// While held: leaves a failure for the processes that already wait, not for later ones.
  void tell_failure(const FailedStart& failure) noexcept;
  /// While held: makes an empty file for the log of a producer to be started, in place of an
  /// earlier log. It is locked as long as a process has it open.
  [[nodiscard]] FileDescriptor make_log() const;

  [[nodiscard]] const StreamPaths& paths() const noexcept { return paths_; }

 private:
  void queue();
  [[nodiscard]] std::uint64_t generation() const noexcept;

  std::string base_;
  std::string stream_;
  StreamPaths paths_;
  FileDescriptor directory_;
  FileDescriptor file_;
  std::uint64_t queued_at_ = 0;  ///< the generation then
  std::int32_t held_by_ = 0;     ///< the process that took it
};

}  // namespace batchcast::inline v0_1::detail

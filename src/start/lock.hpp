// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/directory.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// flock on <stream>/start: of all who want a stream to be started, one holds it and starts it. The
// kernel lets go of it with that process.
namespace batchcast::inline v0_1::detail {

/// What the holder of the lock leaves for those who wait for it.
struct FailedStart {
  std::vector<std::string> words;  ///< what it ran
  std::string text;
};

/// One caller's part in the election. Several of a process compete like those of several processes.
class StartLock {
 public:
  StartLock(std::string base, std::string stream);
  ~StartLock();
  StartLock(const StartLock&) = delete;
  StartLock& operator=(const StartLock&) = delete;

  /// Queues at the first call, making the stream's directory where there is none. Never waits.
  /// True: it is held from here on. Throws Error, SystemError.
  [[nodiscard]] bool try_take();
  /// While it is held: what one failed with who held it since this one queued.
  [[nodiscard]] std::optional<FailedStart> failed_meanwhile() const;
  /// While it is held: those who wait for it, but none who come later, are told this.
  void tell_failure(const FailedStart& failure) noexcept;
  /// While it is held: an empty file for the log of a producer to be started, in place of an
  /// earlier one's, and locked as long as somebody has it open.
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

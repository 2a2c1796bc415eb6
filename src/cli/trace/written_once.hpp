// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>

namespace batchcast::cli {

/// A file that is there as a whole, or not at all, also where the process is killed. It gets its
/// name once it is written, so an earlier file of that name stays until then. Where the file system
/// has no files without a name, it is `PATH.PID.part` until then. That stays after a kill. What is
/// no plain file, such as a pipe, is written where it is.
class WrittenOnce {
 public:
  /// Throws Error where no file can be written there.
  explicit WrittenOnce(std::string path);
  /// Removes what `write` did not finish.
  ~WrittenOnce();
  WrittenOnce(const WrittenOnce&) = delete;
  WrittenOnce& operator=(const WrittenOnce&) = delete;

  /// Throws Error, as where the disk is full.
  void write(std::string_view content);

 private:
  void open_beside();
  void take_place();
  [[noreturn]] void fail(int error_number) const;

  const std::string path_;
  std::string beside_;     ///< empty: the place itself
  bool has_name_ = false;  ///< the file is at `beside_`
  int fd_ = -1;
};

}  // namespace batchcast::cli

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <functional>

namespace batchcast::inline v0_1 {

/// A descriptor that children forked by this process close at once. A child that outlives the
/// producer would otherwise keep the stream's lock, and a door that no producer answers. One thread
/// uses it.
class UninheritedDescriptor {
 public:
  UninheritedDescriptor();
  ~UninheritedDescriptor();
  UninheritedDescriptor(const UninheritedDescriptor&) = delete;
  UninheritedDescriptor& operator=(const UninheritedDescriptor&) = delete;

  /// Holds the descriptor that `open` returns, in place of the one it held; no fork() happens
  /// meanwhile. False if it returns none. Throws what `open` throws.
  bool hold(const std::function<FileDescriptor()>& open);
  void close() noexcept;
  /// -1 if it holds none, and in a forked child.
  [[nodiscard]] int get() const noexcept { return file_.get(); }

 private:
  static void close_in_child() noexcept;

  FileDescriptor file_;
  UninheritedDescriptor* next_ = nullptr;  ///< of all that this process has
};

}  // namespace batchcast::inline v0_1

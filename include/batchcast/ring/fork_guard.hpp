// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1 {

/// Knows whether this process made it, or was forked from the process that did. It has a page that
/// the kernel wipes in children, which costs one load to check. Where the kernel cannot do that, it
/// compares the process id.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  [[nodiscard]] bool in_child() const noexcept {
    return page_ != nullptr ? *page_ == 0 : has_another_pid();
  }

 private:
  [[nodiscard]] bool has_another_pid() const noexcept;

  volatile unsigned char* page_ = nullptr;  ///< none where it cannot be wiped
  const int pid_;
};

}  // namespace batchcast::inline v0_1

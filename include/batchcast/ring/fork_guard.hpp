// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast {

/// Knows whether this process is the one that made it, or was forked from it: a page that the kernel wipes
/// in children. Asking costs one load.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  [[nodiscard]] bool in_child() const noexcept { return *page_ == 0; }

 private:
  volatile unsigned char* page_;
};

}  // namespace batchcast

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/fork_guard.hpp>

#include <string>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// The process that attached to a stream. A child that it forks has a copy of the consumer, and
/// must not use it. From any thread.
class AttachedProcess {
 public:
  explicit AttachedProcess(std::string stream) : stream_(std::move(stream)) {}

  [[nodiscard]] bool in_forked_child() const noexcept { return guard_.in_child(); }
  /// Throws Forked in a child.
  void check() const {
    if (in_forked_child()) throw_forked();
  }

 private:
  [[noreturn]] void throw_forked() const;

  ForkGuard guard_;
  std::string stream_;
};

}  // namespace batchcast::inline v0_1::detail

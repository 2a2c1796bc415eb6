// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

class ProducerCore;

/// What a producer's control server answers to `batchcast ls`, `top`, `evict`, `stop` and others:
/// docs/protocol.md lists the commands. Works on any thread.
class ProducerCommands {
 public:
  /// `core` outlives it.
  explicit ProducerCommands(ProducerCore& core) noexcept : core_(core) {}

  /// JSON in, JSON out. Throws InvalidArgument for what is no command, or cannot be done.
  [[nodiscard]] std::string answer(std::string_view command);
  /// The statistics event, as JSON.
  [[nodiscard]] std::string statistics() const;

 private:
  ProducerCore& core_;
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/stream_model.hpp"

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

class ProducerCore;

/// The answers of a producer's control server to `batchcast ls`, `top`, `evict`, `stop` and others.
/// docs/protocol.md lists the commands. It works on any thread.
class ProducerCommands {
 public:
  /// `core` must outlive it.
  explicit ProducerCommands(ProducerCore& core);

  /// Takes JSON, returns JSON. Throws InvalidArgument for no command, or one that cannot be done.
  [[nodiscard]] std::string answer(std::string_view command);
  /// What there is to see of the stream.
  [[nodiscard]] observe::Stream look() const;
  /// The statistics event, as JSON.
  [[nodiscard]] std::string statistics() const;

 private:
  ProducerCore& core_;
  const unsigned processors_;
};

}  // namespace batchcast::inline v0_1::detail

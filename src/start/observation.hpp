// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attached_process.hpp>
#include <batchcast/consumer/mapped_ring.hpp>
#include <batchcast/consumer/producer_link.hpp>
#include <batchcast/consumer/stream_joiner.hpp>
#include <batchcast/consumer_options.hpp>

#include <string>

namespace batchcast::inline v0_1::detail {

/// An observer's attachment to a stream: the producer does not wait for it, nor count it for
/// wait_for. It reads the board, and announces a trainer that follows.
class Observation {
 public:
  /// Uses the options that say where the stream is, which users are trusted and how long to wait.
  /// Throws what attaching throws.
  explicit Observation(const ConsumerOptions& options);

  [[nodiscard]] std::string recipe_json() const;
  /// Asks whether a trainer would be admitted now. If so, the producer knows from here on that one
  /// follows: its idle time begins again, and a stream that has drained waits a little. Throws what
  /// that trainer would get: StreamFinished, Stopped, StreamFailed. Throws StreamNotFound where the
  /// producer is gone or does not answer within that time.
  void announce_trainer(int timeout_ms);
  /// Whether all is made, and consumers still read.
  [[nodiscard]] bool is_draining() const noexcept;

 private:
  Observation(const ConsumerOptions& options, Joined joined);

  const ConsumerOptions options_;
  AttachedProcess process_;
  ProducerLink link_;
  MappedRing ring_;
};

}  // namespace batchcast::inline v0_1::detail

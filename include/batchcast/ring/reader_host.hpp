// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>

namespace batchcast::inline v0_1 {

/// What a reader asks the object that attached it.
class ReaderHost {
 public:
  virtual ~ReaderHost() = default;
  /// Is the producer's process dead? Asked at each time-out of a sleep.
  [[nodiscard]] virtual bool producer_is_dead() noexcept = 0;
  /// Between two sleeps of a call that waits. What it throws ends that call.
  virtual void while_waiting() {}
  /// The producer's reason for the eviction, for the text of Revoked. A host that knows of a worse
  /// error throws that instead.
  [[nodiscard]] virtual std::string why_revoked() = 0;
  /// Whether leases will be given back without the consumer's doing, so that too many of them are
  /// worth waiting for. Asked before RingTooSmall is thrown, with the mutex of the leases held.
  [[nodiscard]] virtual bool leases_come_back() noexcept { return false; }
  /// Gives the oldest lease back in that what it protects becomes the trainer's own. False if it
  /// cannot. Asked where the reader would wait for its own leases.
  [[nodiscard]] virtual bool give_oldest_back() noexcept { return false; }
};

}  // namespace batchcast::inline v0_1

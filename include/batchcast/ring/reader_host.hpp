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
  /// The producer's reason for the eviction, for the text of Revoked.
  [[nodiscard]] virtual std::string why_revoked() = 0;
  /// Whether leases will be given back without the consumer's doing, so that too many of them are
  /// worth waiting for. Asked before RingTooSmall is thrown, with the mutex of the leases held.
  [[nodiscard]] virtual bool leases_come_back() noexcept { return false; }
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/receipt.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// What a rank of a group took of an epoch.
struct RankEpoch {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< behind the last batch that it took
  bool early = false;          ///< it left the epoch before its end
  bool known = false;          ///< the receipt has every sample that is the rank's
  Receipt receipt;
};

/// What a reader asks the object that attached it.
class ReaderHost {
 public:
  virtual ~ReaderHost() = default;
  /// Is the producer's process dead? Asked at each time-out of a sleep.
  [[nodiscard]] virtual bool producer_is_dead() noexcept = 0;
  /// Between two sleeps of a call that waits. What it throws ends that call.
  virtual void while_waiting() {}
  /// The producer's reason for the eviction, for the text of Revoked.
  [[nodiscard]] virtual std::string why_revoked() = 0;
  /// Whether that reason is another rank of its group, which has then got GroupBroken. Asked after
  /// `why_revoked`.
  [[nodiscard]] virtual bool group_broke() noexcept { return false; }
  /// A rank of a group has ended an epoch: the producer is to be told.
  virtual void tell_epoch_end(const RankEpoch&) noexcept {}
  /// The producer has closed the connection, so it tells ranks no more.
  [[nodiscard]] virtual bool is_hung_up() noexcept { return false; }
  /// Its group is broken: the stream's other consumers need not wait for this one any more.
  virtual void give_up_place() noexcept {}
  /// Whether leases will be given back without the consumer's doing, so that too many of them are
  /// worth waiting for. Asked before RingTooSmall is thrown, with the mutex of the leases held.
  [[nodiscard]] virtual bool leases_come_back() noexcept { return false; }
  /// Gives the oldest lease back in that what it protects becomes the trainer's own. False if it
  /// cannot. Asked where the reader would wait for its own leases.
  [[nodiscard]] virtual bool give_oldest_back() noexcept { return false; }
};

}  // namespace batchcast::inline v0_1

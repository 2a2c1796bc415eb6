// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/row_place.hpp>
#include <batchcast/ring/receipt.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// What a rank of a group took of an epoch.
struct RankEpoch {
  std::uint64_t epoch = 0;
  RowPlace place = {};  ///< after the last batch that it took
  bool early = false;   ///< it left the epoch before its end
  bool known = false;   ///< the receipt has every sample that is the rank's
  Receipt receipt;
  RowReceipt rows = {};
};

/// What a RankReader asks the object that attached it, beside what its RingReader asks.
class RankHost {
 public:
  virtual ~RankHost() = default;
  /// The rank has ended an epoch: tells the producer.
  virtual void tell_epoch_end(const RankEpoch& epoch) noexcept = 0;
  /// The producer has closed the connection, so it tells ranks no more.
  [[nodiscard]] virtual bool is_hung_up() noexcept = 0;
  /// Its group is broken: the stream's other consumers need not wait for this one any more.
  virtual void give_up_place() noexcept = 0;
  /// The producer's reason for the eviction.
  [[nodiscard]] virtual std::string why_evicted() = 0;
  /// Whether that reason is another rank of its group. Asked after `why_evicted`.
  [[nodiscard]] virtual bool group_broke() noexcept = 0;
};

}  // namespace batchcast::inline v0_1

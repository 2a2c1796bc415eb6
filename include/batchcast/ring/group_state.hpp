// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/layout.hpp>
#include <batchcast/ring/row_table.hpp>

#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1 {

/// What a group has come to, as one rank's entry on the board tells it, and which epoch that rank
/// has ended.
///
/// Belongs to the thread that reads; what is const may be called on any. Board and desk outlive it.
class GroupState {
 public:
  GroupState(BoardView board, Desk& desk) noexcept
      : entry_(board.consumer(desk.index)), desk_(desk) {}

  // ---- epochs of this rank

  void begin_epoch(std::uint64_t epoch) noexcept;
  /// No sample of the epoch exists yet: it will begin again.
  void leave_unbegun() noexcept;
  /// The producer knows the end, or will learn it.
  void end_epoch(std::uint64_t epoch) noexcept;
  /// The epoch that this rank begins next, if it has ended one.
  [[nodiscard]] std::optional<std::uint64_t> next_epoch() const noexcept;

  /// Goes on where `last` stands with an earlier producer; `reading`: the epoch that it is in, + 1.
  void take_over(const GroupState& last, std::uint64_t reading) noexcept;

  // ---- what the entry tells

  /// All ranks have ended the epoch that this one ended last, and their receipts are not counted
  /// yet: what the producer says to these.
  [[nodiscard]] std::optional<GroupReceipt> receipt() const noexcept;
  void count_receipt() noexcept { awaits_receipt_ = false; }
  /// This rank has ended an epoch, and its receipt is not counted.
  [[nodiscard]] bool awaits_receipt() const noexcept { return awaits_receipt_; }
  /// Not all ranks will come to the end of the epoch that this one ended last.
  [[nodiscard]] bool will_not_meet() const noexcept;
  /// A rank left that epoch at this place or before it.
  [[nodiscard]] bool ends_here(std::uint64_t epoch, RowPlace place) const noexcept;
  /// The rank that is gone, if that epoch is no longer available because of it.
  [[nodiscard]] std::optional<detail::LostRank> lost_for(std::uint64_t epoch) const noexcept;
  /// The rank that is gone, as long as the entry tells it. Ask once this rank is evicted.
  [[nodiscard]] std::optional<detail::LostRank> lost_before_eviction() const noexcept;

 private:
  const ConsumerEntry& entry_;
  Desk& desk_;
  std::uint64_t ended_ = 0;  ///< epoch + 1 that was ended last
  bool awaits_receipt_ = false;
};

}  // namespace batchcast::inline v0_1

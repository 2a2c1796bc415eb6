// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/ring/group_state.hpp>
#include <batchcast/ring/rank_host.hpp>
#include <batchcast/ring/reader.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// What a rank of a group does beside reading. Its RingReader takes the rank's share of each batch.
/// This asks the group where an epoch may begin and where it ends. Of the reader's calls a rank
/// makes those that stand here through this, and all others directly.
///
/// Ranks read in lockstep. Threads are as with RingReader; `why_revoked` may be called on any.
/// Reader, board, desk and host outlive it. The reader's host throws what `why_revoked` throws.
class RankReader {
 public:
  using Room = RingReader::Room;

  /// The reader's share is the rank's.
  RankReader(RingReader& reader, BoardView board, Desk& desk, RankHost& host, Group group);

  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;

  /// As the reader's; also throw GroupBroken.
  [[nodiscard]] Next next(std::uint64_t samples, int timeout_ms, Run& run, Room room = Room::make);
  [[nodiscard]] bool peek(std::uint64_t samples, int timeout_ms, Run& run);
  [[nodiscard]] std::optional<bool> has_next_epoch(int timeout_ms);
  /// Ends the epoch for all ranks, where this one has not come to its end.
  void leave_epoch() noexcept { pass_rest(true); }

  // ---- when the producer dies

  /// Where it comes to in a dead producer's ring at most: it passes no epoch's end of which the
  /// group's word has not come. Epochs have one length.
  [[nodiscard]] RowPlace end_of_drain() const noexcept;
  /// The epoch that breaks as soon as a rank is known to be gone: the one that it reads, or begins
  /// next. Nothing where the dead producer's ring has that epoch's end, since the lost rank may
  /// have read to it there. Nothing before the group's word on the last epoch, and beyond the last
  /// one.
  [[nodiscard]] std::optional<std::uint64_t> epoch_at_stake() const noexcept;
  /// While `last`, of an earlier ring, is drained: throws GroupBroken if a rank is gone without
  /// which the epoch at stake there is not available.
  void check_group_for(const RankReader& last);
  /// The reader has just taken over from `last`'s, of an earlier ring.
  void take_over(const RankReader& last) noexcept;

  /// Of an evicted rank: the producer's reason. Throws GroupBroken where that is another rank.
  [[nodiscard]] std::string why_revoked() const;
  /// With the receipt of the last epoch, which the next call counts.
  [[nodiscard]] ReaderStatus status() const noexcept;

 private:
  using Look = RingReader::Look;
  using Counted = RingReader::Counted;

  [[nodiscard]] bool enter_epoch(Look& look, Room room);
  [[nodiscard]] bool end_epoch_if_over(Look& look, std::uint64_t samples);
  [[nodiscard]] bool may_begin(StreamState state);
  [[nodiscard]] bool has_met(StreamState state);
  [[nodiscard]] bool exists(std::uint64_t epoch) const noexcept;
  void count_receipt(GroupReceipt receipt);
  [[nodiscard]] bool is_left_here();
  void check_group(std::uint64_t epoch);
  [[noreturn]] void break_up(const detail::LostRank& lost);
  [[nodiscard]] std::uint64_t next_epoch() const noexcept;
  void pass_rest(bool early) noexcept;
  void tell_end(RowPlace at, bool early) noexcept;
  [[nodiscard]] RowPlace place() const noexcept { return cursor_.place(); }
  [[noreturn]] void throw_broken() const;

  RingReader& reader_;
  ReadCursor& cursor_;  ///< the reader's
  BoardView board_;
  RankHost& host_;
  const Group group_;
  GroupState state_;
  mutable std::mutex broken_mutex_;
  mutable std::string broken_;  ///< with its mutex: how the group broke, once that is known
};

}  // namespace batchcast::inline v0_1

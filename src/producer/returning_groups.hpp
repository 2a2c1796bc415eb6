// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/producer_options.hpp>
#include "life/life.hpp"
#include "producer/returning_members.hpp"
#include "producer/seated_groups.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The epochs of a stream that a group rides on.
struct EpochGrid {
  std::uint64_t samples_per_epoch = 0;
  std::uint64_t epochs = 0;  ///< 0: endless
};

[[nodiscard]] inline EpochGrid epoch_grid_of(const ProducerOptions& options) noexcept {
  return {options.samples_per_epoch, options.epochs};
}

/// Which epochs a rank has behind it that stands at a position, where epochs have one length. At an
/// epoch's end it may not have said so yet. At the stream's end it has: it gets no place there any
/// more, from which it could say so.
struct RankProgress {
  std::uint64_t ended_before = 0;    ///< it has ended all below
  std::uint64_t may_have_ended = 0;  ///< the latest one that it may have ended
  std::uint64_t reading = 0;         ///< the epoch that it may be in, + 1; 0 at the stream's begin

  [[nodiscard]] static RankProgress at(std::uint64_t position, const EpochGrid& grid) noexcept;
  /// Of one that is no rank, `world` 0, nothing.
  [[nodiscard]] static RankProgress of(std::uint32_t world, std::uint64_t position,
                                       const EpochGrid& grid) noexcept {
    return world == 0 ? RankProgress() : at(position, grid);
  }
};

/// The groups whose ranks come back after their producer's death, each by itself: which ranks have
/// their places again, and which are gone. Made where it is decided where the stream goes on, and
/// used until all have their places.
class ReturningGroups {
 public:
  /// `before`: what that producer left; null where that is not known. `host`: stands for the ring
  /// of those that are gone.
  ReturningGroups(const Life* before, const ReturningMembers::Decision& decision,
                  const EpochGrid& grid, ServedRing& host);

  /// The rank without which one that stands there gets nothing any more: it gives its place up.
  [[nodiscard]] std::optional<LostRank> lost_for(const std::string& group,
                                                 std::uint64_t position) const;
  /// Whether that rank has a place.
  [[nodiscard]] bool has(const std::string& group, std::uint32_t rank) const;
  /// All ranks of that group come to that head.
  void put_in(const std::string& group, ServedRing& head) { groups_.at(group).head = &head; }
  /// Null where each rank comes to the ring that it names.
  [[nodiscard]] ServedRing* head_of(const std::string& group) const {
    return groups_.at(group).head;
  }
  /// A rank of that group has its place.
  void seat(const std::string& group, SeatedRank rank, std::uint64_t position);
  /// It gets none.
  void give_up(const std::string& group, std::uint32_t rank, std::uint64_t position);

  struct Returned {
    std::uint32_t world = 0;
    ServedRing* head = nullptr;
    std::map<std::uint32_t, SeatedRank> ranks;  ///< all, those that are gone too
    std::optional<GroupNews::Lost> lost;
    std::vector<LifeMember> gone;  ///< of earlier lives

    [[nodiscard]] bool has_any() const;
    [[nodiscard]] std::vector<SeatedRank> in_order() const;
  };
  [[nodiscard]] const std::map<std::string, Returned>& all() const noexcept { return groups_; }

 private:
  void note(const ReturningMembers::Place& place);
  void find_lost(Returned& group, const std::string& name, const Life* before);
  static void lose(Returned& group, const GroupNews::Lost& lost);

  const EpochGrid grid_;
  ServedRing& host_;
  std::map<std::string, Returned> groups_;
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/returning_groups.hpp"

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {

RankProgress RankProgress::at(std::uint64_t position, const EpochGrid& grid) noexcept {
  if (position == 0) return {};
  const std::uint64_t length = std::max<std::uint64_t>(grid.samples_per_epoch, 1);
  const std::uint64_t epochs = grid.epochs;
  if (epochs != 0 && position / length >= epochs) return {epochs, epochs, epochs};
  const std::uint64_t epoch = (position - 1) / length;
  return {epoch, position / length, epoch + 1};
}

ReturningGroups::ReturningGroups(const Life* before, const ReturningMembers::Decision& decision,
                                 const EpochGrid& grid, ServedRing& host)
    : grid_(grid), host_(host) {
  for (const ReturningMembers::Place& place : decision.places) note(place);
  for (auto& [name, group] : groups_) find_lost(group, name, before);
}

/// Those that come, or whose places are kept.
void ReturningGroups::note(const ReturningMembers::Place& place) {
  if (place.waiting && (!place.waiting->hello.resumes || place.waiting->is_stranger)) return;
  const std::uint32_t world =
      place.waiting ? place.waiting->hello.world : place.missing->group.world;
  if (world == 0) return;
  const std::string& name = place.waiting ? place.waiting->hello.group : place.missing->group.name;
  Returned& group = groups_[name];
  group.world = std::max(group.world, world);
  SeatedRank rank;
  rank.rank = place.waiting ? place.waiting->hello.rank : place.missing->group.rank;
  rank.ring = &host_;
  rank.is_gone = true;  // until it has its place
  group.ranks.insert({rank.rank, rank});
}

/// A rank that neither came nor is known to live is gone. Without the life file it is not known how
/// far it came.
void ReturningGroups::find_lost(Returned& group, const std::string& name, const Life* before) {
  for (std::uint32_t number = 0; number < group.world; ++number) {
    if (group.ranks.contains(number)) continue;
    LostRank lost{number, 0, RankLoss::left};
    std::uint64_t ended = 0;
    const std::vector<LifeMember> none;
    for (const LifeMember& one : before == nullptr ? none : before->members) {
      if (one.group.name != name || one.group.rank != number || one.group.world == 0) continue;
      lost.pid = one.pid;
      lost.how = one.gone.value_or(RankLoss::died);
      ended = one.ended;
      group.gone.push_back(one);
      group.gone.back().gone = lost.how;
    }
    SeatedRank rank;
    rank.rank = number;
    rank.pid = lost.pid;
    rank.ring = &host_;
    rank.is_gone = true;
    rank.epochs_ended = ended;
    group.ranks.insert({number, rank});
    lose(group, {lost, ended});
  }
}

void ReturningGroups::lose(Returned& group, const GroupNews::Lost& lost) {
  if (!group.lost || lost.from < group.lost->from) group.lost = lost;
}

std::optional<LostRank> ReturningGroups::lost_for(const std::string& group,
                                                  std::uint64_t position) const {
  const auto& lost = groups_.at(group).lost;
  if (!lost || RankProgress::at(position, grid_).reading <= lost->from) {
    return std::nullopt;
  }
  return lost->rank;
}

bool ReturningGroups::has(const std::string& group, std::uint32_t rank) const {
  const auto& ranks = groups_.at(group).ranks;
  const auto found = ranks.find(rank);
  return found != ranks.end() && !found->second.is_gone;
}

void ReturningGroups::seat(const std::string& group, SeatedRank rank, std::uint64_t position) {
  const RankProgress progress = RankProgress::at(position, grid_);
  rank.ended_before = progress.ended_before;
  rank.may_have_ended = progress.may_have_ended;
  groups_.at(group).ranks.insert_or_assign(rank.rank, std::move(rank));
}

void ReturningGroups::give_up(const std::string& group, std::uint32_t rank,
                              std::uint64_t position) {
  Returned& returned = groups_.at(group);
  SeatedRank& gone = returned.ranks.at(rank);
  gone.epochs_ended = RankProgress::at(position, grid_).ended_before;
  if (!lost_for(group, position)) {
    lose(returned, {{rank, gone.pid, RankLoss::evicted}, gone.epochs_ended});
  }
}

bool ReturningGroups::Returned::has_any() const {
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const auto& one) { return !one.second.is_gone; });
}

std::vector<SeatedRank> ReturningGroups::Returned::in_order() const {
  std::vector<SeatedRank> all;
  for (const auto& [number, rank] : ranks) all.push_back(rank);
  return all;
}

}  // namespace batchcast::inline v0_1::detail

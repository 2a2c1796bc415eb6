// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/join/message.hpp>
#include "door/door_server.hpp"
#include "served/served_ring.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A rank that has its place in a ring.
struct SeatedRank {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  ServedRing* ring = nullptr;
  std::uint32_t index = 0;  ///< of its entry there
  ConsumerKey key = 0;
  bool is_gone = false;
  std::uint64_t epochs_ended = 0;  ///< it has told of the end of all below
  EpochEnd last = {};              ///< what it told last
};

/// The groups that were complete and have ranks that have not left: hears what each rank says of an
/// epoch's end and sees it go, and tells the others, on the board or by `take_news`. Belongs to the
/// door's thread. The rings outlive it.
class SeatedGroups {
 public:
  /// Why no other group of that name is let in; nothing where none has it. For half a second the
  /// asker is to ask again: the last that the group's ranks said may still lie at the door, behind
  /// the first that the next ones of that name say.
  [[nodiscard]] std::optional<Refusal> refusal_of(const std::string& name);
  /// All ranks of a group, in their order.
  void add(const std::string& name, std::vector<SeatedRank> ranks);

  /// What a rank says is believed of itself only, but where it left an epoch early: that ends the
  /// epoch for its group. One that has not begun evicts it. Nothing happens for a key that no rank
  /// has.
  void ended(ConsumerKey key, const EpochEnd& end);
  /// A rank is gone. The others get the epochs that it ended, and no other; those that are in one
  /// lose their places at once. `stream`: the host ring's state, which says whether the whole
  /// stream is over. Returns what the log is to say of the group, where that ends it.
  [[nodiscard]] std::optional<std::string> gone(ConsumerKey key, Leaving how, StreamState stream);

  /// Whether that rank's group has lost another one.
  [[nodiscard]] bool is_lost_for(ConsumerKey key);

  [[nodiscard]] std::vector<RankNews> take_news();

 private:
  struct Seated {
    std::vector<SeatedRank> ranks;
    std::uint64_t epochs_met = 0;  ///< each rank has ended all below
    std::optional<GroupNews::Lost> lost = {};
    std::optional<GroupNews::Ends> ends = {};
    std::uint64_t refused_first_ns = 0;  ///< others of its name, in a row
    std::uint64_t refused_last_ns = 0;
  };
  using Groups = std::map<std::string, Seated>;

  struct Found {
    Groups::iterator group;
    SeatedRank* rank;
  };
  [[nodiscard]] std::optional<Found> find(ConsumerKey key);
  [[nodiscard]] static bool is_patient(Seated& group);
  static void end_for_all(Seated& group, const EpochEnd& end);
  static void meet(Seated& group);
  void evict(const SeatedRank& rank, const EpochEnd& end);
  [[nodiscard]] bool lose(Seated& group, const GroupNews::Lost& lost);

  Groups groups_;
  std::vector<RankNews> news_;
};

}  // namespace batchcast::inline v0_1::detail

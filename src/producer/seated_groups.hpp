// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/receipt.hpp>
#include "door/door_server.hpp"
#include "served/served_ring.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

[[nodiscard]] RankLoss loss_of(Leaving how) noexcept;

/// A rank's attachment to a ring.
struct RankSeat {
  ServedRing* ring = nullptr;
  std::uint32_t index = 0;  ///< of its entry there
  ConsumerKey key = 0;
};

/// A rank that has its place in a ring.
struct SeatedRank {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  ServedRing* ring = nullptr;
  std::uint32_t index = 0;  ///< of its entry there
  ConsumerKey key = 0;
  bool is_gone = false;
  std::uint64_t epochs_ended = 0;     ///< it has reported the end of all epochs below
  std::vector<EpochEnd> ends = {};    ///< what it reported of the last two
  std::uint64_t ended_before = 0;     ///< of one that returned: it ended all below earlier,
  std::uint64_t may_have_ended = 0;   ///< and this one at most
  std::optional<RankSeat> next = {};  ///< in another ring, where it goes on

  [[nodiscard]] RankSeat seat() const noexcept { return {ring, index, key}; }
  [[nodiscard]] bool has(ConsumerKey one) const noexcept {
    return key == one || (next && next->key == one);
  }
};

/// The groups that were complete and still have ranks. It hears what each rank says of an epoch's
/// end and sees it go. It tells the others, on the board or by `take_news`. Belongs to the door's
/// thread. The rings must outlive it.
class SeatedGroups {
 public:
  /// What was published of an epoch that an earlier producer made; nothing where that is not known.
  using EarlierReceipt = std::function<std::optional<Receipt>(std::uint64_t epoch)>;
  explicit SeatedGroups(EarlierReceipt earlier = {}) : earlier_(std::move(earlier)) {}

  /// Why no other group of that name is admitted; nothing where no group has it. For half a second
  /// the answer is to ask again. The last messages of the group's ranks may still lie at the door,
  /// after the first of the next group.
  [[nodiscard]] std::optional<Refusal> refusal_of(const std::string& name);
  /// Adds all ranks of a group, in their order. `lost`: one that is gone already, as an earlier
  /// producer's death left it. The others hear of it now.
  void add(const std::string& name, std::vector<SeatedRank> ranks,
           const std::optional<GroupNews::Lost>& lost = {});
  /// A rank whose place was kept came to another one, where it goes on.
  void returned(ConsumerKey key, std::uint64_t ended_before, std::uint64_t may_have_ended);
  /// Whether that consumer may go on in another ring. A rank may as itself, while its group has
  /// lost none.
  [[nodiscard]] bool may_come(ConsumerKey key, const Group& group);
  /// A rank got a place in another ring, where it goes on. It is attached to both until one of the
  /// two is gone, and hears in both what there is to know of its group.
  void comes(ConsumerKey key, const RankSeat& next);
  /// Whether that is the place in another ring of a rank that has not left the first one.
  [[nodiscard]] bool is_coming(ConsumerKey key);
  /// Whether that is a rank of a complete group.
  [[nodiscard]] bool has(ConsumerKey key) { return find(key).has_value(); }
  [[nodiscard]] bool has_name(const std::string& name) const { return groups_.contains(name); }
  /// The rank that the group of that name has lost; nothing where there is none.
  [[nodiscard]] std::optional<LostRank> lost_of(const std::string& name) const;
  /// Of each rank: it has ended all epochs below.
  [[nodiscard]] std::map<ConsumerKey, std::uint64_t> ended() const;
  /// The same of one; 0 for a consumer that is no rank.
  [[nodiscard]] std::uint64_t ended_by(ConsumerKey key) const;

  /// A rank reports the end of an epoch. It is believed about itself only, except that leaving an
  /// epoch early ends it for the group. A rank that reports an epoch which has not begun is
  /// evicted. A key that no rank has is ignored.
  void ended(ConsumerKey key, const EpochEnd& end);
  /// A rank is gone. The others get the epochs that it ended, and no other; those that are in a
  /// later one lose their places at once. `stream` is the host ring's state, which says whether the
  /// whole stream is over. Returns the text for the log, where the group ends.
  [[nodiscard]] std::optional<std::string> gone(ConsumerKey key, Leaving how, StreamState stream);

  /// Whether that rank's group has lost another one.
  [[nodiscard]] bool is_lost_for(ConsumerKey key);

  [[nodiscard]] std::vector<RankNews> take_news();

 private:
  struct Seated {
    std::vector<SeatedRank> ranks;
    std::uint64_t epochs_met = 0;                  ///< each rank has ended all below
    GroupReceipt receipt = GroupReceipt::unknown;  ///< of the last of these
    std::optional<GroupNews::Lost> lost = {};
    std::optional<GroupNews::Ends> ends = {};
    std::uint64_t refused_first_ns = 0;  ///< other groups of its name, in a row
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
  void meet(Seated& group);
  [[nodiscard]] GroupReceipt receipt_of(const std::vector<SeatedRank>& ranks,
                                        std::uint64_t epochs) const;
  [[nodiscard]] static bool have_all_rows(const std::vector<EpochEnd>& ends);
  [[nodiscard]] bool evict(const SeatedRank& rank, const Farewell& farewell);
  [[nodiscard]] static bool leave_one(SeatedRank& rank, ConsumerKey key);
  [[nodiscard]] bool lose(Seated& group, const GroupNews::Lost& lost);

  const EarlierReceipt earlier_;
  Groups groups_;
  std::vector<RankNews> news_;
};

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/seated_groups.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// Whether the ring failed; its board then tells the reason.
bool has_failed(ServedRing& ring) {
  const auto refusal = ring.writer().refusal_of_newcomers();
  return refusal && refusal->reason == NotAdmitted::Reason::failed;
}

std::optional<std::uint64_t> tell(const RankSeat& seat, const GroupNews& news) {
  return seat.ring->writer().tell_rank(seat.index, seat.key, news);
}

/// Returns the later of the epochs that it may be in by its two places.
std::optional<std::uint64_t> tell(const SeatedRank& rank, const GroupNews& news) {
  const auto reading = tell(rank.seat(), news);
  return rank.next ? std::max(reading, tell(*rank.next, news)) : reading;
}

void let_close(const RankSeat& seat, std::uint64_t epochs) {
  seat.ring->writer().rank_ended(seat.index, seat.key, epochs);
}

/// A rank's ring may close once the rank has heard all about the last epoch. Ranks on other rings
/// may come to that end later.
void let_close(const SeatedRank& rank, std::uint64_t epochs) {
  let_close(rank.seat(), epochs);
  if (rank.next) let_close(*rank.next, epochs);
}

/// The latest epoch that it may have come to in either ring.
std::uint64_t begun_by(const SeatedRank& rank) {
  const std::uint64_t begun = std::max(rank.ring->writer().epoch(), rank.may_have_ended);
  return rank.next ? std::max(begun, rank.next->ring->writer().epoch()) : begun;
}

/// What was published of that epoch, by the rings that the ranks read.
std::optional<Receipt> published_of(const std::vector<SeatedRank>& ranks, std::uint64_t epoch) {
  for (const SeatedRank& rank : ranks) {
    if (rank.is_gone) continue;
    if (auto known = rank.ring->writer().receipt_of(epoch)) return known;
    if (!rank.next) continue;
    if (auto known = rank.next->ring->writer().receipt_of(epoch)) return known;
  }
  return std::nullopt;
}

}  // namespace

RankLoss loss_of(Leaving how) noexcept {
  switch (how) {
    case Leaving::died:
    case Leaving::closed:  // who lives says bye: its process is just ending
      return RankLoss::died;
    case Leaving::misbehaved:
    case Leaving::evicted:
      return RankLoss::evicted;
    case Leaving::bye:
      break;
  }
  return RankLoss::left;
}

std::optional<Refusal> SeatedGroups::refusal_of(const std::string& name) {
  const auto group = groups_.find(name);
  if (group == groups_.end()) return std::nullopt;
  std::string attached;
  for (const SeatedRank& rank : group->second.ranks) {
    if (rank.is_gone) continue;
    attached += text("{}{} (pid {})", attached.empty() ? "rank " : ", rank ", rank.rank, rank.pid);
  }
  if (group->second.lost) {
    return Refusal{RefusalKind::busy,
                   text("group `{}` is broken, since {}, and another one of its name can form once "
                        "all of its ranks have left. Still attached: {}",
                        name, group->second.lost->rank.text(), attached)};
  }
  const RefusalKind kind = is_patient(group->second) ? RefusalKind::busy : RefusalKind::group;
  return Refusal{kind,
                 text("group `{}` is complete: {}. Give another job another name", name, attached)};
}

bool SeatedGroups::is_patient(Seated& group) {
  constexpr std::uint64_t patience_ns = 500'000'000;
  constexpr std::uint64_t in_a_row_ns = 2'000'000'000;
  const std::uint64_t now = now_ns();
  if (now - group.refused_last_ns > in_a_row_ns) group.refused_first_ns = now;
  group.refused_last_ns = now;
  return now - group.refused_first_ns < patience_ns;
}

void SeatedGroups::add(const std::string& name, std::vector<SeatedRank> ranks,
                       const std::optional<GroupNews::Lost>& lost) {
  const auto [group, is_new] = groups_.insert({name, Seated{std::move(ranks)}});
  BATCHCAST_ASSERT(is_new);
  if (lost) static_cast<void>(lose(group->second, *lost));
}

void SeatedGroups::returned(ConsumerKey key, std::uint64_t ended_before,
                            std::uint64_t may_have_ended) {
  const auto found = find(key);
  if (!found) return;
  found->rank->ended_before = ended_before;
  found->rank->may_have_ended = may_have_ended;
}

bool SeatedGroups::may_come(ConsumerKey key, const Group& group) {
  const auto found = find(key);
  if (!found) return group.world == 0;
  const auto& [name, seated] = *found->group;
  return group.name == name && group.world == seated.ranks.size() &&
         group.rank == found->rank->rank && !found->rank->next && !seated.lost;
}

void SeatedGroups::comes(ConsumerKey key, const RankSeat& next) {
  const auto found = find(key);
  BATCHCAST_ASSERT(found && !found->rank->next);
  const Seated& group = found->group->second;
  found->rank->next = next;
  GroupNews news{.lost = group.lost, .ends = group.ends};
  if (group.epochs_met != 0) news.met = GroupNews::Met{group.epochs_met, group.receipt};
  static_cast<void>(tell(next, news));
  let_close(next, group.lost ? found->rank->epochs_ended : group.epochs_met);
}

bool SeatedGroups::is_coming(ConsumerKey key) {
  const auto found = find(key);
  return found && found->rank->key != key;
}

/// One of a rank's two places is gone: it goes on in the other one. False where it had one only.
bool SeatedGroups::leave_one(SeatedRank& rank, ConsumerKey key) {
  if (!rank.next) return false;
  if (rank.key == key) {
    rank.may_have_ended = begun_by(rank);
    rank.ring = rank.next->ring;
    rank.index = rank.next->index;
    rank.key = rank.next->key;
  }
  rank.next.reset();
  return true;
}

std::optional<LostRank> SeatedGroups::lost_of(const std::string& name) const {
  const auto group = groups_.find(name);
  if (group == groups_.end() || !group->second.lost) return std::nullopt;
  return group->second.lost->rank;
}

std::map<ConsumerKey, std::uint64_t> SeatedGroups::ended() const {
  std::map<ConsumerKey, std::uint64_t> ended;
  for (const auto& [name, group] : groups_) {
    for (const SeatedRank& rank : group.ranks) {
      if (rank.is_gone) continue;
      const std::uint64_t below = std::max(rank.epochs_ended, rank.ended_before);
      ended[rank.key] = below;
      if (rank.next) ended[rank.next->key] = below;
    }
  }
  return ended;
}

std::uint64_t SeatedGroups::ended_by(ConsumerKey key) const {
  const auto all = ended();
  const auto found = all.find(key);
  return found == all.end() ? 0 : found->second;
}

std::optional<SeatedGroups::Found> SeatedGroups::find(ConsumerKey key) {
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    for (SeatedRank& rank : group->second.ranks) {
      if (rank.has(key) && !rank.is_gone) return Found{group, &rank};
    }
  }
  return std::nullopt;
}

void SeatedGroups::ended(ConsumerKey key, const EpochEnd& end) {
  const auto found = find(key);
  if (!found || end.epoch < found->rank->epochs_ended) return;
  SeatedRank& rank = *found->rank;
  if (end.epoch > begun_by(rank)) {
    // If that were believed, the rank would never be missed.
    static_cast<void>(
        evict(rank, {text("it reported the end of epoch {}, which has not begun", end.epoch)}));
    return;
  }
  rank.epochs_ended = end.epoch + 1;
  rank.ends.push_back(end);
  if (rank.ends.size() > 2) rank.ends.erase(rank.ends.begin());
  if (end.early) end_for_all(found->group->second, end);
  meet(found->group->second);
  if (found->group->second.lost) let_close(rank, rank.epochs_ended);  // it may meet no more
}

/// From both rings, where it has places in two. Returns whether it had one.
bool SeatedGroups::evict(const SeatedRank& rank, const Farewell& farewell) {
  bool had_one = false;
  const auto evict_from = [&](const RankSeat& seat) {
    if (!seat.ring->writer().evict(seat.index, seat.key)) return;
    news_.push_back({seat.key, farewell});
    had_one = true;
  };
  evict_from(rank.seat());
  if (rank.next) evict_from(*rank.next);
  return had_one;
}

void SeatedGroups::end_for_all(Seated& group, const EpochEnd& end) {
  if (group.ends && group.ends->epoch > end.epoch) return;  // all have ended that one
  const bool is_known = group.ends && group.ends->epoch == end.epoch;
  if (is_known && group.ends->place <= end.place) return;
  group.ends = GroupNews::Ends{end.epoch, end.place};
  for (const SeatedRank& rank : group.ranks) {
    if (!rank.is_gone && rank.epochs_ended <= end.epoch) tell(rank, {.ends = group.ends});
  }
}

/// Whether the rows of all ranks are those that each of them saw go by. True where a rank does not
/// know: it changed its budget, or was in two rings.
bool SeatedGroups::have_all_rows(const std::vector<EpochEnd>& ends) {
  std::uint64_t sum = 0;
  for (const EpochEnd& end : ends) {
    if (end.rows.all == 0) return true;
    sum += end.rows.own;
  }
  return std::all_of(ends.begin(), ends.end(),
                     [sum](const EpochEnd& end) { return end.rows.all == sum; });
}

/// What all ranks together took of the last epoch in `epochs`.
GroupReceipt SeatedGroups::receipt_of(const std::vector<SeatedRank>& ranks,
                                      std::uint64_t epochs) const {
  Receipt sum;
  std::vector<EpochEnd> ends;
  for (const SeatedRank& rank : ranks) {
    const auto end = std::find_if(rank.ends.begin(), rank.ends.end(),
                                  [&](const EpochEnd& one) { return one.epoch + 1 == epochs; });
    if (end == rank.ends.end() || !end->known || end->early) return GroupReceipt::unknown;
    sum.add(Receipt{end->count, end->hash});
    ends.push_back(*end);
  }
  if (!have_all_rows(ends)) return GroupReceipt::mismatched;
  auto published = published_of(ranks, epochs - 1);
  if (!published && earlier_) published = earlier_(epochs - 1);
  if (!published) return GroupReceipt::unknown;
  return *published == sum ? GroupReceipt::matched : GroupReceipt::mismatched;
}

void SeatedGroups::meet(Seated& group) {
  const auto slowest = std::min_element(
      group.ranks.begin(), group.ranks.end(),
      [](const auto& a, const auto& b) { return a.epochs_ended < b.epochs_ended; });
  if (slowest->epochs_ended <= group.epochs_met) return;
  group.epochs_met = slowest->epochs_ended;
  group.receipt = receipt_of(group.ranks, group.epochs_met);
  const GroupNews news{.met = GroupNews::Met{group.epochs_met, group.receipt}};
  for (const SeatedRank& rank : group.ranks) {
    if (!rank.is_gone) tell(rank, news);
  }
  for (const SeatedRank& rank : group.ranks) {
    if (!rank.is_gone) let_close(rank, group.epochs_met);
  }
}

std::optional<std::string> SeatedGroups::gone(ConsumerKey key, Leaving how, StreamState stream) {
  const auto found = find(key);
  if (!found) return std::nullopt;
  SeatedRank& rank = *found->rank;
  Seated& group = found->group->second;
  if (leave_one(rank, key)) return std::nullopt;
  rank.is_gone = true;
  const bool all_gone = std::all_of(group.ranks.begin(), group.ranks.end(),
                                    [](const SeatedRank& one) { return one.is_gone; });
  if (all_gone) {
    groups_.erase(found->group);
    return std::nullopt;
  }
  // Where the stream was stopped or has failed, each rank sees that for itself. A GPU's ring may
  // fail alone: the ranks on other rings see nothing of that.
  if (stream == StreamState::stopped || stream == StreamState::failed) {
    return std::nullopt;
  }
  // What it ended with an earlier producer it does not say again: the others do not wait for that.
  rank.epochs_ended = std::max(rank.epochs_ended, rank.ended_before);
  meet(group);
  const std::uint64_t epoch = rank.epochs_ended;
  if (group.lost && group.lost->from <= epoch) return std::nullopt;
  const LostRank lost{rank.rank, rank.pid, loss_of(how)};
  const std::string name = text("group `{}`", found->group->first);
  if (lose(group, {lost, epoch})) {
    return text("{} is broken: {} in epoch {}", name, lost.text(), epoch);
  }
  return text("{} goes no further than {}: {}", name,
              epoch == 0 ? "its beginning" : text("the end of epoch {}", epoch - 1), lost.text());
}

bool SeatedGroups::is_lost_for(ConsumerKey key) {
  const auto found = find(key);
  return found && found->group->second.lost;
}

/// Returns whether a rank was in an epoch that it does not get any more.
bool SeatedGroups::lose(Seated& group, const GroupNews::Lost& lost) {
  bool breaks = false;
  group.lost = lost;
  for (const SeatedRank& rank : group.ranks) {
    if (rank.is_gone || has_failed(*rank.ring)) continue;
    const auto reading = tell(rank, {.lost = lost});
    let_close(rank, rank.epochs_ended);
    if (!reading || *reading < lost.from) continue;
    // The rank may hang while it waits for the lost one: it must not hold up other trainers.
    breaks = true;
    static_cast<void>(evict(rank, {lost.rank.text(), true}));
  }
  return breaks;
}

std::vector<RankNews> SeatedGroups::take_news() { return std::exchange(news_, {}); }

}  // namespace batchcast::inline v0_1::detail

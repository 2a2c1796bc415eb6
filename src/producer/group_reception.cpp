// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Reception's part for groups: which ranks it refuses, and how a complete group gets its places.
#include "producer/reception.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include "producer/head_reception.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// The ranks in the order in which they get their places.
std::vector<std::size_t> order_of(std::size_t ranks, std::size_t first) {
  std::vector<std::size_t> order{first};
  for (std::size_t i = 0; i < ranks; ++i) {
    if (i != first) order.push_back(i);
  }
  return order;
}

}  // namespace

std::vector<RankNews> Reception::take_news() {
  std::vector<RankNews> news = groups_.take_news();
  // Before the members' places are decided, the ring has no sample for a group.
  returning_.note_group(forming_.has_complete(), now_ns());
  if (returning_.is_due(now_ns())) admit_returning(news);
  if (returning_.is_gathering()) return news;
  while (const auto ranks = forming_.take_complete()) {
    if (!rank_checks_.refuse_taken(*ranks, news)) admit_group(*ranks, news);
  }
  if (forming_.count() != 0) rank_checks_.refuse_if_over(parts_.rings.host(), news);
  std::vector<RankNews> forming = forming_.take_news();
  std::move(forming.begin(), forming.end(), std::back_inserter(news));
  for (const auto& [key, count] : counter_.take_answers()) news.push_back({key, count});
  return news;
}

void Reception::admit_group(const std::vector<WaitingRank>& ranks, std::vector<RankNews>& news) {
  std::vector<Seated> seats;  // in the order of the ranks
  GroupStart start;
  if (const auto refusal = HeadReception::seat_group(*this, ranks, start, seats)) {
    return refuse_group(ranks, *refusal, news);
  }
  const std::string& name = ranks.front().hello.group;
  parts_.log(LogLevel::info, text("group `{}` is complete: its {}{} at position {}", name,
                                  ranks.size(), ranks.size() == 1 ? " rank begins" : " ranks begin",
                                  seats[start.first].admitted.position));
  std::vector<SeatedRank> seated;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    seated.push_back({.rank = ranks[i].hello.rank,
                      .pid = ranks[i].pid,
                      .ring = seats[i].ring,
                      .index = seats[i].admitted.index,
                      .key = seats[i].admitted.consumer_id});
    note_member(seats[i], ranks[i].hello, ranks[i].pid);
    news.push_back({ranks[i].key, std::move(seats[i].admission)});
  }
  groups_.add(name, std::move(seated));
}

void Reception::refuse_group(const std::vector<WaitingRank>& ranks, const Refusal& refusal,
                             std::vector<RankNews>& news) {
  const std::string& name = ranks.front().hello.group;
  const std::string why = text("{} (group `{}`)", refusal.text, name);
  // They ask again, all of them.
  const bool is_final = refusal.kind != RefusalKind::busy;
  if (is_final) parts_.log(LogLevel::info, text("group `{}` was refused: {}", name, why));
  for (const WaitingRank& rank : ranks) news.push_back({rank.key, Refusal{refusal.kind, why}});
}

/// Returns why a rank has got no place; those before it have theirs then.
std::optional<Refusal> Reception::seat_ranks(const std::vector<WaitingRank>& ranks,
                                             const GroupStart& start, std::vector<Seated>& seats) {
  const Seated& first = seats[start.first];
  for (const std::size_t i : order_of(ranks.size(), start.first)) {
    ServedRing& ring =
        start.head != nullptr ? *start.head : *parts_.rings.find(ranks[i].hello.placement);
    AdmitRequest request = request_of(ranks[i].hello, ranks[i].pid);
    request.join = start.join;
    const bool another_is_there = std::any_of(seats.begin(), seats.end(),
                                              [&](const Seated& one) { return one.ring == &ring; });
    if (another_is_there) {
      request.place = StartPoint{first.admitted.position, first.admitted.skipping};
    } else if (first.ring != nullptr) {
      if (first.admitted.skipping != 0) {
        return Refusal{RefusalKind::group,
                       text("{}ranks of one group that read different rings begin together only "
                            "where the length of epochs is known",
                            stream_text())};
      }
      request.join = Join::at;
      request.cursor = first.admitted.position;
    }
    auto reply = seat(ring, request);
    if (auto* refusal = std::get_if<Refusal>(&reply)) return std::move(*refusal);
    seats[i] = std::move(std::get<Seated>(reply));
  }
  return std::nullopt;
}

void Reception::take_out(const Seated& seated) {
  seated.ring->writer().remove(seated.admitted.index, seated.admitted.consumer_id);
  {
    const std::lock_guard lock(mutex_);
    seats_.erase(seated.admitted.consumer_id);
  }
  seated.ring->look_for_demand();
  static_cast<void>(parts_.rings.count_trainers());
}

void Reception::epoch_ended(ConsumerKey key, const EpochEnd& end) {
  groups_.ended(key, end);
  life_.hasten();
}

}  // namespace batchcast::inline v0_1::detail

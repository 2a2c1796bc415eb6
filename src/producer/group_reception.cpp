// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Reception's part for groups: which ranks it refuses, and how a complete group gets its places.
#include "producer/reception.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <exception>
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

/// The first rank begins where its `join` says, and gates from then on, so the others can begin
/// there too. Only another ring may have lost that place: then its rank is seated first.
void Reception::admit_group(const std::vector<WaitingRank>& ranks, std::vector<RankNews>& news) {
  GroupStart start{0, ranks.front().hello.join};
  std::vector<Seated> seats;  // in the order of the ranks
  std::optional<Refusal> refusal;
  for (std::size_t tries = 0; tries <= parts_.rings.all().size(); ++tries) {
    seats.assign(ranks.size(), {});
    try {
      refusal = seat_group(ranks, start, seats);
    } catch (const std::exception& error) {  // ranks that have a place must not keep it
      refusal = Refusal{RefusalKind::full,
                        text("{}the group cannot be admitted: {}", stream_text(), error.what())};
    }
    if (!refusal) break;
    const auto failed = std::find_if(seats.begin(), seats.end(),
                                     [](const Seated& one) { return one.ring == nullptr; });
    for (const Seated& seated : seats) {
      if (seated.ring != nullptr) take_out(seated);
    }
    const auto at = static_cast<std::size_t>(failed - seats.begin());
    const bool elsewhere =
        refusal->kind == RefusalKind::cursor_gone && start.join != Join::at && at != start.first;
    if (!elsewhere) break;
    start = {at, Join::next_epoch};
  }
  const std::string& name = ranks.front().hello.group;
  if (refusal) {
    const bool lacks_head =
        refusal->kind == RefusalKind::cursor_gone && parts_.rings.heads().are_allowed();
    const std::string why = text("{}{} (group `{}`)", refusal->text,
                                 lacks_head ? ". Groups get no heads (--heads)" : "", name);
    parts_.log(LogLevel::info, text("group `{}` was refused: {}", name, why));
    for (const WaitingRank& rank : ranks) news.push_back({rank.key, Refusal{refusal->kind, why}});
    return;
  }
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

/// Returns why a rank has got no place; those before it have theirs then.
std::optional<Refusal> Reception::seat_group(const std::vector<WaitingRank>& ranks,
                                             const GroupStart& start, std::vector<Seated>& seats) {
  const Seated& first = seats[start.first];
  for (const std::size_t i : order_of(ranks.size(), start.first)) {
    ServedRing& ring = *parts_.rings.find(ranks[i].hello.placement);
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

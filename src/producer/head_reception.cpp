// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/head_reception.hpp"

#include <batchcast/core/schema.hpp>
#include <batchcast/core/text.hpp>
#include "producer/returning_groups.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

std::variant<Reception::Seated, Refusal> HeadReception::seat(Reception& at, const Hello& hello,
                                                             std::uint32_t pid) {
  // The leading ring goes on while a place is chosen, and may lose the sample meanwhile.
  constexpr int tries = 4;
  for (int left = tries;; --left) {
    auto chosen = at.head_places_.choose(hello, seats(at));
    if (auto* refusal = std::get_if<Refusal>(&chosen)) return std::move(*refusal);
    const auto [ring, cursor] = std::get<HeadPlaces::Chosen>(chosen);
    AdmitRequest request = at.request_of(hello, pid);
    if (cursor) {
      request.join = Join::at;
      request.cursor = *cursor;
    }
    auto seated = at.seat(*ring, request);
    auto* const refusal = std::get_if<Refusal>(&seated);
    if (refusal == nullptr) return seated;
    const bool is_host = ring->placement().is_host();  // a head may close now
    at.head_places_.close_empty(seats(at));
    if (refusal->kind != RefusalKind::cursor_gone) return seated;
    const bool may_have_one = at.parts_.rings.heads().are_allowed() && is_host &&
                              hello.between_epochs == BetweenEpochs::hold;
    if (may_have_one && left > 1) continue;
    refusal->text += why_no_head(at, is_host);
    return seated;
  }
}

std::string HeadReception::why_no_head(const Reception& at, bool is_host) {
  const ProducerOptions& options = at.parts_.options;
  const bool can_be_made_again = options.pure && options.samples_per_epoch != 0;
  const bool has_axes = std::any_of(options.schema.begin(), options.schema.end(),
                                    [](const FieldSpec& field) { return field.on_axis(); });
  if (can_be_made_again && has_axes) {
    return ". Streams with samples of any length get no heads (--heads)";
  }
  const bool is_elsewhere = at.parts_.rings.heads().are_allowed() && !is_host;
  return is_elsewhere ? ". Heads are in host memory only" : "";
}

std::optional<Refusal> HeadReception::seat_group(Reception& at,
                                                 const std::vector<WaitingRank>& ranks,
                                                 Reception::GroupStart& start,
                                                 std::vector<Reception::Seated>& seated) {
  ServedRing& leading = at.parts_.rings.host();
  const Hello& first = ranks.front().hello;
  const bool are_allowed = at.parts_.rings.heads().are_allowed() && first.join == Join::at;
  const bool is_host = std::all_of(ranks.begin(), ranks.end(), [&](const WaitingRank& rank) {
    return rank.hello.placement == leading.id();
  });
  // As for one consumer.
  constexpr int tries = 4;
  for (int left = are_allowed && is_host ? tries : 1;; --left) {
    if (are_allowed && is_host) {
      auto chosen = at.head_places_.choose(first, seats(at));
      if (auto* refusal = std::get_if<Refusal>(&chosen)) {
        const bool is_final = !at.parts_.rings.heads().is_making();
        if (is_final && refusal->kind == RefusalKind::busy)
          refusal->kind = RefusalKind::cursor_gone;
        return std::move(*refusal);
      }
      ServedRing* const ring = std::get<HeadPlaces::Chosen>(chosen).ring;
      start.head = ring == &leading ? nullptr : ring;
    }
    auto refusal = seat_all(at, ranks, start, seated);
    if (!refusal) return std::nullopt;
    at.head_places_.close_empty(seats(at));
    if (refusal->kind != RefusalKind::cursor_gone) return refusal;
    if (left > 1) continue;
    refusal->text += why_no_head(at, is_host);
    return refusal;
  }
}

/// The first rank begins where its `join` says, and gates from then on, so the others can begin
/// there too. Only another ring may have lost that place: then its rank is seated first.
std::optional<Refusal> HeadReception::seat_all(Reception& at, const std::vector<WaitingRank>& ranks,
                                               Reception::GroupStart& start,
                                               std::vector<Reception::Seated>& seats) {
  std::optional<Refusal> refusal;
  start.first = 0;
  start.join = ranks.front().hello.join;
  for (std::size_t tries = 0; tries <= at.parts_.rings.all().size(); ++tries) {
    seats.assign(ranks.size(), {});
    try {
      refusal = at.seat_ranks(ranks, start, seats);
    } catch (const std::exception& error) {  // ranks that have a place must not keep it
      refusal = Refusal{RefusalKind::full,
                        text("{}the group cannot be admitted: {}", at.stream_text(), error.what())};
    }
    if (!refusal) break;
    const auto failed = std::find_if(seats.begin(), seats.end(), [](const Reception::Seated& one) {
      return one.ring == nullptr;
    });
    for (const Reception::Seated& seated : seats) {
      if (seated.ring != nullptr) at.take_out(seated);
    }
    const auto which = static_cast<std::size_t>(failed - seats.begin());
    const bool elsewhere =
        refusal->kind == RefusalKind::cursor_gone && start.join != Join::at && which != start.first;
    if (!elsewhere) break;
    start.first = which;
    start.join = Join::next_epoch;
  }
  return refusal;
}

std::map<std::string, ServedRing*> HeadReception::open_again(Reception& at,
                                                             ReturningMembers::Decision& decision) {
  struct Wanted {
    std::uint64_t position = 0;
    std::uint64_t batch_size = 0;
  };
  std::map<std::string, Wanted> wanted;
  std::set<std::string> of_heads;  // some of a group's ranks may have been in the leading ring
  for (const ReturningMembers::Place& place : decision.places) {
    if (place.in_head) of_heads.insert(place.group().name);
  }
  for (const ReturningMembers::Place& place : decision.places) {
    const Group group = place.group();
    if (!place.position || group.world == 0 || !of_heads.contains(group.name)) continue;
    const auto [found, is_first] =
        wanted.insert({group.name, {*place.position, place.whole_batch()}});
    found->second.position = std::min(found->second.position, *place.position);
    found->second.batch_size = std::max(found->second.batch_size, place.whole_batch());
  }
  std::map<std::string, ServedRing*> heads;
  for (const auto& [name, one] : wanted) {
    ServedRing* const head = at.head_places_.open_again(name, one.position, one.batch_size);
    if (head != nullptr) heads[name] = head;
  }
  for (ReturningMembers::Place& place : decision.places) {
    const Group group = place.group();
    if (group.world != 0) place.in_head = heads.contains(group.name);
  }
  decision.settle();
  return heads;
}

std::variant<Rejoined, Refusal> HeadReception::answer_gone(const Reception& at,
                                                           const Reception::Seat& seat,
                                                           ConsumerKey key, const Rejoin& rejoin,
                                                           Refusal refusal) {
  const bool gets_head = refusal.kind == RefusalKind::cursor_gone && rejoin.join == Join::at &&
                         at.parts_.rings.heads().are_allowed() && seat.ring.placement().is_host() &&
                         seat.between_epochs == BetweenEpochs::hold;
  if (!gets_head || !at.head_places_.may_serve(rejoin.cursor.position)) return refusal;
  if (!seat.observes) {
    refusal.kind = RefusalKind::busy;
    return refusal;
  }
  const RingOutlook outlook = seat.ring.writer().outlook(rejoin.cursor.position);
  const bool is_behind = rejoin.cursor.position < outlook.oldest;
  const auto announced = seat.ring.resume(seat.index, key, Join::now, 0);
  if (!is_behind || std::holds_alternative<NotAdmitted>(announced)) return refusal;
  Rejoined rejoined;
  rejoined.position = rejoin.cursor.position;
  return rejoined;
}

HeadPlaces::Seats HeadReception::seats(const Reception& at) {
  const std::lock_guard lock(at.mutex_);
  HeadPlaces::Seats rings;
  for (const auto& [key, seat] : at.seats_) rings.push_back(&seat.ring);
  return rings;
}

std::optional<AdmissionReply> HeadReception::move(Reception& at, const Hello& hello,
                                                  std::uint32_t pid) {
  const Heads& heads = at.parts_.rings.heads();
  HostRing& leading = at.parts_.rings.host();
  const bool is_of_leading =
      hello.resumes && hello.resumes->incarnation == leading.writer().incarnation();
  const bool is_of_head = hello.resumes && heads.had(hello.resumes->incarnation);
  if (!is_of_leading && !is_of_head) return std::nullopt;
  const ConsumerKey key = hello.resumes->consumer_id;
  const auto seat = at.seat_of(key);
  const bool is_there = seat && seat->pid == pid &&
                        (is_of_leading ? &seat->ring == &leading : heads.is_head(seat->ring));
  const bool may_move =
      is_there && (is_of_leading ? at.head_places_.has_offer(key) : at.head_places_.awaits(key));
  const bool is_sound = !hello.observes && hello.join == Join::at &&
                        hello.placement == leading.id() &&
                        hello.between_epochs == BetweenEpochs::hold &&
                        at.groups_.may_come(key, {hello.group, hello.rank, hello.world});
  if (!may_move || !is_sound) {
    return Refusal{RefusalKind::cursor_gone,
                   at.stream_text() + "this consumer was not asked to come to another ring"};
  }
  if (!is_of_leading) return move_to(at, leading, hello, *seat);
  auto chosen = at.head_places_.choose_own_place(hello);
  if (auto* refusal = std::get_if<Refusal>(&chosen)) return std::move(*refusal);
  AdmissionReply reply = move_to(at, *std::get<HeadPlaces::Chosen>(chosen).ring, hello, *seat);
  if (const auto* admitted = std::get_if<Admission>(&reply)) {
    at.head_places_.note_own_place(admitted->key);
  } else {
    at.head_places_.close_empty(seats(at));
  }
  return reply;
}

AdmissionReply HeadReception::move_to(Reception& at, ServedRing& ring, const Hello& hello,
                                      const Reception::Seat& seat) {
  AdmitRequest request = at.request_of(hello, seat.pid);
  request.name = seat.name;  // it is the same trainer
  const RankProgress progress =
      RankProgress::of(hello.world, hello.cursor, epoch_grid_of(at.parts_.options));
  auto reply = at.seat(ring, request, progress.reading);
  if (auto* refusal = std::get_if<Refusal>(&reply)) {
    // It stays where it is, and is asked again.
    return Refusal{RefusalKind::cursor_gone, std::move(refusal->text)};
  }
  Reception::Seated& seated = std::get<Reception::Seated>(reply);
  at.note_member(seated, hello, seat.pid);
  const ConsumerKey from = hello.resumes->consumer_id;
  at.head_places_.note_move(from, seated.admitted.consumer_id);
  if (hello.world != 0)
    at.groups_.comes(from, {&ring, seated.admitted.index, seated.admitted.consumer_id});
  const bool is_leading = &ring == &at.parts_.rings.host();
  at.parts_.log(LogLevel::info,
                text("`{}` goes on in {} from position {}", seat.name,
                     is_leading ? "the leading ring" : ring.id().c_str(), hello.cursor));
  return std::move(seated.admission);
}

void HeadReception::await_members(Reception& at) {
  Heads& heads = at.parts_.rings.heads();
  if (at.life_.before() == nullptr || !heads.are_allowed()) return;
  const std::vector<LifeMember>& members = at.life_.before()->members;
  const ProducerOptions& options = at.parts_.options;
  heads.await_members(std::any_of(members.begin(), members.end(), [&](const LifeMember& member) {
    // One that has read all comes no more, though its process may live on.
    const bool has_read_all = options.epochs != 0 && options.samples_per_epoch != 0 &&
                              member.floor.position / options.samples_per_epoch >= options.epochs;
    return member.in_head && !has_read_all && at.life_.is_alive(member);
  }));
}

void HeadReception::look(Reception& at) {
  await_members(at);
  at.head_places_.look(seats(at));
  const auto slow = at.head_places_.look_for_slow();
  if (!slow) return;
  const auto seat = at.seat_of(slow->consumer_id);
  const bool may_move = seat && seat->between_epochs == BetweenEpochs::hold;
  if (may_move) at.head_places_.offer_own_place(*slow);
}

}  // namespace batchcast::inline v0_1::detail

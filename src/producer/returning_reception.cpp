// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Reception's part for the consumers of an earlier producer that died: how they get their places,
// and who keeps a place until it comes.
#include "producer/reception.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include "producer/head_reception.hpp"
#include "producer/late_reception.hpp"
#include "producer/seats_all.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

std::string text_of_those_there(const Life& before) {
  const auto living = std::count_if(before.members.begin(), before.members.end(),
                                    [](const LifeMember& member) { return !member.gone; });
  const std::string trainers = living == 1 ? "a trainer" : text("{} trainers", living);
  return text(
      "{} of its last producer (pid {}, which was killed) {} still there: the stream goes "
      "on with {}",
      trainers, before.pid, living == 1 ? "is" : "are", living == 1 ? "it" : "them");
}

SeatedRank seated_rank(std::uint32_t rank, std::uint32_t pid, ServedRing& ring,
                       const Admitted& admitted) {
  return {.rank = rank,
          .pid = pid,
          .ring = &ring,
          .index = admitted.index,
          .key = admitted.consumer_id};
}

}  // namespace

/// Before the door opens. Nothing is made until it is decided where the stream goes on.
void Reception::expect_members() {
  if (life_.before() == nullptr) return;
  const Life& before = *life_.before();
  returning_.expect(before, parts_.rings.host().capacity());
  if (parts_.rings.heads().are_allowed()) returning_.allow_heads();
  HeadReception::await_members(*this);
  awaits_members_.store(true);
  parts_.rings.host().writer().await_members();
  parts_.log(LogLevel::info, text_of_those_there(before));
}

AdmissionReply Reception::wait_with_members(const Hello& hello, std::uint32_t pid) {
  return Waiting{returning_.add(hello, pid, now_ns())};
}

/// The one furthest behind is first. It gates from then on, and all others find their places in the
/// stream from there on.
void Reception::admit_returning(std::vector<RankNews>& news) {
  RingWriter& writer = parts_.rings.host().writer();
  auto decision = returning_.decide(writer.samples_per_epoch(), [this](const LifeMember& member) {
    return life_.is_alive(member);
  });
  const HeadPlaces::KeepsEmpty keeps_heads(head_places_);
  const auto heads = HeadReception::open_again(*this, decision);
  const SeatsAll seats_all(writer);
  if (awaits_members_.exchange(false)) {
    writer.go_on_at(decision.begin, receipt_before(parts_.options, *decision.begin));
  } else {
    writer.forgo_wait();
  }
  life_.note_death(decision, parts_.options);
  ReturningGroups groups(life_.before(), decision, epoch_grid_of(parts_.options),
                         parts_.rings.host());
  for (const auto& [name, head] : heads) groups.put_in(name, *head);
  for (const ReturningMembers::Place& place : decision.places) {
    const bool is_rank = place.group().world != 0;
    if (place.missing && place.in_head && !is_rank) continue;  // it gets a head when it comes
    if (place.waiting) {
      news.push_back({place.waiting->key, admitted_again(*place.waiting, groups)});
    } else {
      try {
        keep_place(*place.missing, *place.position, groups);
      } catch (const std::exception& error) {  // the others get theirs
        parts_.log(LogLevel::warning,
                   text("`{}` has no place kept for it: {}", place.missing->name, error.what()));
      }
    }
  }
  seat_groups(groups);
}

decltype(RankNews::said) Reception::admitted_again(const WaitingHello& waiting,
                                                   ReturningGroups& groups) {
  const Hello& hello = waiting.hello;
  const bool is_rank = hello.world != 0;
  const bool has_no_group = waiting.is_stranger || groups_.has_name(hello.group);
  if (is_rank && has_no_group) return rank_checks_.refusal_of_late(hello);
  if (is_rank) {
    const auto lost = groups.lost_for(hello.group, hello.cursor);
    if (lost || groups.has(hello.group, hello.rank)) {
      if (auto finished = rank_checks_.refusal_if_read_all(hello)) return std::move(*finished);
      return rank_checks_.broken(hello.group, lost ? lost->text() : "two processes are its rank");
    }
  }
  Refusal refusal{RefusalKind::full, {}};
  try {
    if (!is_rank) {
      return HeadReception::welcome<decltype(RankNews::said)>(*this, hello, waiting.pid);
    }
    const RankProgress progress =
        RankProgress::of(hello.world, hello.cursor, epoch_grid_of(parts_.options));
    ServedRing* const head = groups.head_of(hello.group);
    auto reply = seat(head != nullptr ? *head : *parts_.rings.find(hello.placement),
                      request_of(hello, waiting.pid), progress.reading);
    if (auto* seated = std::get_if<Seated>(&reply)) {
      note_member(*seated, hello, waiting.pid);
      groups.seat(hello.group,
                  seated_rank(hello.rank, waiting.pid, *seated->ring, seated->admitted),
                  hello.cursor);
      return std::move(seated->admission);
    }
    refusal = std::move(std::get<Refusal>(reply));
  } catch (const std::exception& error) {
    refusal.text =
        text("{}this consumer cannot be admitted again: {}", stream_text(), error.what());
  }
  if (is_rank) groups.give_up(hello.group, hello.rank, hello.cursor);
  return refusal;
}

/// Those whose ranks have their places again, and hear which one is gone.
void Reception::seat_groups(const ReturningGroups& groups) {
  for (const auto& [name, group] : groups.all()) {
    if (!group.has_any()) continue;
    for (const LifeMember& gone : group.gone) life_.note_gone(gone);
    groups_.add(name, group.in_order(), group.lost);
    parts_.log(LogLevel::info, group.lost
                                   ? text("group `{}` is broken: {}", name, group.lost->rank.text())
                                   : text("group `{}` goes on, with {} ranks", name, group.world));
  }
}

/// It counts as a consumer that stands there, as if it were slow. Throws where it gets no place.
void Reception::keep_place(const LifeMember& member, std::uint64_t position,
                           ReturningGroups& groups) {
  const Group& group = member.group;
  const bool is_rank = group.world != 0;
  ServedRing* const head = is_rank ? groups.head_of(group.name) : nullptr;
  ServedRing* const ring = head != nullptr ? head : LateReception::ring_of(*this, member);
  const std::uint64_t whole = member.batch_size * std::max(group.world, 1U);
  if (is_rank && groups.has(group.name, group.rank)) return;  // it has come, by another key
  const bool is_refused = ring == nullptr || whole > ring->capacity();
  if (is_refused || (is_rank && groups.lost_for(group.name, position))) {
    if (is_rank) groups.give_up(group.name, group.rank, position);
    return;
  }
  Hello hello;
  hello.placement = parts_.rings.name_at_door(*ring);
  hello.resumes.emplace().in_loop = true;  // only such a one has a place
  hello.name = member.name;
  hello.batch_size = member.batch_size;
  hello.join = Join::at;
  hello.cursor = position;
  hello.between_epochs = member.between_epochs;
  hello.group = group.name;
  hello.rank = group.rank;
  hello.world = group.world;
  hello.tail = member.tail;
  const RankProgress progress =
      RankProgress::of(group.world, position, epoch_grid_of(parts_.options));
  auto reply = is_rank ? seat(*ring, request_of(hello, member.pid), progress.reading)
                       : HeadReception::seat(*this, hello, member.pid);
  if (const auto* refusal = std::get_if<Refusal>(&reply)) {
    if (is_rank) groups.give_up(group.name, group.rank, position);
    throw std::runtime_error(refusal->text);
  }
  Seated& seated = std::get<Seated>(reply);
  if (is_rank)
    groups.seat(group.name, seated_rank(group.rank, member.pid, *ring, seated.admitted), position);
  set_missing(seated.admitted.name, true);
  absent_.insert({member.key, {member, std::move(seated)}});
}

void Reception::set_missing(const std::string& name, bool is_missing) {
  const std::lock_guard lock(mutex_);
  if (is_missing) missing_.insert(name);
  if (!is_missing) missing_.erase(name);
}

/// The member comes to the place that was kept for it; nothing where there is none.
std::optional<AdmissionReply> Reception::take_kept_place(const Hello& hello, std::uint32_t pid) {
  const auto found = std::find_if(absent_.begin(), absent_.end(), [&](const auto& one) {
    return is_from(one.second.member, hello);
  });
  if (found == absent_.end()) return std::nullopt;
  if (LateReception::waits_in_host(*this, found->second, hello)) {
    return LateReception::take_ring(*this, found->second, hello, pid);
  }
  Absent absent = std::move(found->second);
  absent_.erase(found);
  Seated& seated = absent.seated;
  set_missing(seated.admitted.name, false);
  // It may have ended its loop since its place was noted.
  const bool goes_on = is_in_loop(hello) && hello.join == Join::at &&
                       hello.placement == parts_.rings.name_at_door(*seated.ring);
  const auto [index, id] = std::pair(seated.admitted.index, seated.admitted.consumer_id);
  // Also where it does not go on: then the other ranks get the epochs that it has behind it.
  const RankProgress progress =
      RankProgress::of(hello.world, hello.cursor, epoch_grid_of(parts_.options));
  groups_.returned(id, progress.ended_before, progress.may_have_ended);
  if (!goes_on ||
      std::holds_alternative<NotAdmitted>(seated.ring->resume(index, id, Join::at, hello.cursor))) {
    left(id, Leaving::closed);
    return std::nullopt;
  }
  seated.admission.welcome.position = hello.cursor;
  note_member(seated, hello, pid);
  parts_.log(LogLevel::info, text("`{}` (pid {}) came to its place, and goes on at position {}",
                                  seated.admitted.name, pid, hello.cursor));
  return std::move(seated.admission);
}

/// Gives up the places of those that have died or were evicted meanwhile. The door does not know
/// these.
void Reception::look_after_absent() {
  if (awaits_members_.load() && !returning_.is_gathering()) {
    const std::vector<LifeMember>& members = life_.before()->members;
    const bool none_lives = std::none_of(
        members.begin(), members.end(), [&](const auto& member) { return life_.is_alive(member); });
    if (none_lives) {
      returning_.forget();
      awaits_members_.store(false);
      parts_.rings.host().writer().go_on_at(std::nullopt, std::nullopt);
    }
  }
  std::vector<std::pair<MemberKey, Leaving>> gone;
  for (const auto& [key, absent] : absent_) {
    const auto& [ring, admitted, admission] = absent.seated;
    if (!life_.is_alive(absent.member)) {
      gone.emplace_back(key, Leaving::died);
    } else if (!ring->writer().has(admitted.index, admitted.consumer_id)) {
      gone.emplace_back(key, Leaving::evicted);
    }
  }
  for (const auto& [key, how] : gone) {
    const Admitted admitted = absent_.at(key).seated.admitted;
    set_missing(admitted.name, false);
    absent_.erase(key);
    left(admitted.consumer_id, how);
  }
}

/// Before its welcome goes out: the next producer knows of it.
void Reception::note_member(Seated& seated, const Hello& hello, std::uint32_t pid) {
  Admission& admission = seated.admission;
  auto lock =
      std::make_shared<FileDescriptor>(life_.admitted(*seated.ring, admission.welcome, hello, pid));
  if (!*lock) return;
  admission.welcome.has_member_lock = true;
  admission.descriptors.push_back(lock->get());
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<FileDescriptor>>;
  admission.hold = std::make_shared<Both>(admission.hold, std::move(lock));
}

}  // namespace batchcast::inline v0_1::detail

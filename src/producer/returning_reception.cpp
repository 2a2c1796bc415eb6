// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Reception's part for the consumers of an earlier producer that died: how they get their places,
// and who keeps a place until it comes.
#include "producer/reception.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include "producer/head_reception.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

namespace batchcast::inline v0_1::detail {
/// Before the door opens. Nothing is made until it is decided where the stream goes on.
void Reception::expect_members() {
  if (life_.before() == nullptr) return;
  const Life& before = *life_.before();
  returning_.expect(before, parts_.rings.host().capacity());
  if (parts_.rings.heads().are_allowed()) returning_.allow_heads();
  awaits_members_.store(true);
  parts_.rings.host().writer().await_members();
  parts_.log(LogLevel::info,
             before.members.size() == 1
                 ? text("a trainer of its last producer (pid {}, which was killed) is still there: "
                        "the stream goes on with it",
                        before.pid)
                 : text("{} trainers of its last producer (pid {}, which was killed) are still "
                        "there: the stream goes on with them",
                        before.members.size(), before.pid));
}

AdmissionReply Reception::wait_with_members(const Hello& hello, std::uint32_t pid) {
  return Waiting{returning_.add(hello, pid, now_ns())};
}

/// The one furthest behind is first. It gates from then on, and all others find their places in the
/// stream from there on.
void Reception::admit_returning(std::vector<RankNews>& news) {
  RingWriter& writer = parts_.rings.host().writer();
  const auto decision =
      returning_.decide(writer.samples_per_epoch(),
                        [this](const LifeMember& member) { return life_.is_alive(member); });
  if (awaits_members_.exchange(false)) {
    writer.go_on_at(decision.begin, receipt_before(parts_.options, *decision.begin));
  } else {
    writer.forgo_wait();
  }
  for (const ReturningMembers::Place& place : decision.places) {
    // A head is opened for it when it comes.
    if (place.missing && place.in_head) continue;
    if (place.waiting) {
      news.push_back({place.waiting->key, admitted_again(*place.waiting)});
    } else {
      try {
        keep_place(*place.missing, *place.position);
      } catch (const std::exception& error) {  // the others get theirs
        parts_.log(LogLevel::warning,
                   text("`{}` has no place kept for it: {}", place.missing->name, error.what()));
      }
    }
  }
}

decltype(RankNews::said) Reception::admitted_again(const WaitingHello& waiting) {
  try {
    return HeadReception::welcome<decltype(RankNews::said)>(*this, waiting.hello, waiting.pid);
  } catch (const std::exception& error) {
    return Refusal{RefusalKind::full, text("{}this consumer cannot be admitted again: {}",
                                           stream_text(), error.what())};
  }
}

/// It counts as a consumer that stands there, as if it were slow. Throws where it gets no place.
void Reception::keep_place(const LifeMember& member, std::uint64_t position) {
  ServedRing* const ring = parts_.rings.find(member.ring);
  if (ring == nullptr || member.batch_size > ring->capacity()) return;  // it is refused anyway
  Hello hello;
  hello.placement = member.ring;
  hello.resumes.emplace().in_loop = true;  // only such a one has a place
  hello.name = member.name;
  hello.batch_size = member.batch_size;
  hello.join = Join::at;
  hello.cursor = position;
  hello.between_epochs = member.between_epochs;
  auto reply = HeadReception::seat(*this, hello, member.pid);
  if (const auto* refusal = std::get_if<Refusal>(&reply)) throw std::runtime_error(refusal->text);
  Seated& seated = std::get<Seated>(reply);
  set_missing(seated.admitted.name, true);
  absent_.insert({member.key, {member, std::move(seated)}});
}

void Reception::set_missing(const std::string& name, bool is_missing) {
  const std::lock_guard lock(mutex_);
  if (is_missing) {
    missing_.insert(name);
  } else {
    missing_.erase(name);
  }
}

/// The member comes to the place that was kept for it; nothing where there is none.
std::optional<AdmissionReply> Reception::take_kept_place(const Hello& hello, std::uint32_t pid) {
  const auto found = absent_.find(member_of(*hello.resumes));
  if (found == absent_.end()) return std::nullopt;
  Absent absent = std::move(found->second);
  absent_.erase(found);
  Seated& seated = absent.seated;
  set_missing(seated.admitted.name, false);
  // It may have ended its loop since its place was noted.
  if (!is_in_loop(hello) || hello.join != Join::at ||
      hello.placement != parts_.rings.name_at_door(*seated.ring)) {
    left(seated.admitted.consumer_id, Leaving::closed);
    return std::nullopt;
  }
  const auto moved = seated.ring->resume(seated.admitted.index, seated.admitted.consumer_id,
                                         Join::at, hello.cursor);
  if (std::holds_alternative<NotAdmitted>(moved)) {
    left(seated.admitted.consumer_id, Leaving::closed);
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

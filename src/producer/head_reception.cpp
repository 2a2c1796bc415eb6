// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/head_reception.hpp"

#include <batchcast/core/text.hpp>

#include <utility>

namespace batchcast::inline v0_1::detail {

std::variant<Reception::Seated, Refusal> HeadReception::seat(Reception& at, const Hello& hello,
                                                             std::uint32_t pid,
                                                             std::uint64_t reading) {
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
    auto seated = at.seat(*ring, request, reading);
    auto* const refusal = std::get_if<Refusal>(&seated);
    if (refusal == nullptr) return seated;
    const bool is_host = ring->placement().is_host();  // a head may close now
    at.head_places_.close_empty(seats(at));
    const bool is_gone = refusal->kind == RefusalKind::cursor_gone;
    if (is_gone && at.parts_.rings.heads().are_allowed()) {
      const bool holds = hello.world == 0 && hello.between_epochs == BetweenEpochs::hold;
      if (is_host && holds && left > 1) continue;
      if (!is_host) refusal->text += ". Heads are in host memory only";
    }
    return seated;
  }
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

std::optional<AdmissionReply> HeadReception::move_to_leading_ring(Reception& at, const Hello& hello,
                                                                  std::uint32_t pid) {
  Heads& heads = at.parts_.rings.heads();
  const bool is_of_head = hello.resumes && heads.had(hello.resumes->incarnation);
  if (!is_of_head) return std::nullopt;
  const auto seat = at.seat_of(hello.resumes->consumer_id);
  const bool may_move = seat && heads.is_head(seat->ring) && seat->pid == pid &&
                        at.head_places_.awaits(hello.resumes->consumer_id);
  const bool is_sound = hello.world == 0 && !hello.observes && hello.join == Join::at &&
                        hello.placement == at.parts_.rings.host().id() &&
                        hello.between_epochs == BetweenEpochs::hold;
  if (!may_move || !is_sound) {
    return Refusal{RefusalKind::cursor_gone,
                   at.stream_text() + "this consumer has no place in a head any more"};
  }
  AdmitRequest request = at.request_of(hello, pid);
  request.name = seat->name;  // it is the same trainer
  auto seated = at.seat(at.parts_.rings.host(), request);
  if (auto* refusal = std::get_if<Refusal>(&seated)) {
    // It stays where it is, and is asked again.
    return Refusal{RefusalKind::cursor_gone, std::move(refusal->text)};
  }
  at.note_member(std::get<Reception::Seated>(seated), hello, pid);
  at.head_places_.note_move(hello.resumes->consumer_id,
                            std::get<Reception::Seated>(seated).admitted.consumer_id);
  at.parts_.log(LogLevel::info, text("`{}` goes on in the leading ring from position {}",
                                     seat->name, hello.cursor));
  return std::move(std::get<Reception::Seated>(seated).admission);
}

}  // namespace batchcast::inline v0_1::detail

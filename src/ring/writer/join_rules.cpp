// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/join_rules.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>

namespace batchcast::inline v0_1 {

JoinRules::Bounds JoinRules::bounds_here(std::uint64_t at_least) const noexcept {
  return {std::max(state_.tickets.oldest_held(), at_least), at_least};
}

JoinRules::Bounds JoinRules::bounds_with(const MirrorRequest& request) const noexcept {
  const std::uint64_t held = held_in_known_epochs();
  const bool windows_meet = request.next >= held;
  return {windows_meet ? request.oldest : std::max(held, request.oldest), request.oldest};
}

std::uint64_t JoinRules::held_in_known_epochs() const noexcept {
  return std::max(state_.tickets.oldest_held(), state_.ledger.known_from());
}

std::variant<JoinRules::Start, NotAdmitted> JoinRules::start(Join join, std::uint64_t cursor,
                                                             Bounds bounds,
                                                             const char* ended) const {
  Start start;
  switch (join) {
    case Join::now:
      start = std::max(state_.tickets.published(), bounds.at_least);
      break;
    case Join::at:
      if (std::string why_not = why_not_at(cursor, bounds.oldest); !why_not.empty()) {
        return NotAdmitted{NotAdmitted::Reason::cursor_gone, std::move(why_not)};
      }
      start = cursor;
      break;
    case Join::next_epoch:
      start = state_.ledger.first_start_from(std::max(state_.tickets.claimed(), bounds.at_least));
      break;
    case Join::rewind:
      start = rewind(bounds);
      break;
  }
  if (start && *start >= state_.ledger.stream_end()) {
    return NotAdmitted{NotAdmitted::Reason::finished, ended};
  }
  return start;
}

JoinRules::Start JoinRules::rewind(Bounds bounds) const noexcept {
  if (state_.attendance.is_deserted()) return state_.attendance.rewind_start(bounds.oldest);
  std::uint64_t from = bounds.oldest;
  if (const ConsumerRecord* slowest = state_.gate.slowest()) {
    const auto position = state_.consumers.position_of(*slowest);
    // A consumer at the very end asks for nothing more, and may be about to leave.
    if (position && *position < state_.ledger.stream_end()) {
      from = std::max(from, state_.ledger.start_of(state_.ledger.epoch_of(*position)));
    }
  }
  return state_.ledger.first_start_from(from);
}

StartPoint JoinRules::start_point(Start start) const noexcept {
  if (start) return {*start, 0};
  const std::uint64_t epoch = state_.ledger.epoch_of(state_.tickets.next());
  return {std::max(state_.tickets.published(), state_.ledger.start_of(epoch)), epoch + 1};
}

MirrorStart JoinRules::mirror_start(Start trainer, std::uint64_t next) const noexcept {
  MirrorStart start;
  start.trainer = trainer;
  const std::uint64_t newest = std::max(state_.tickets.published(), next);
  if (!trainer) {
    start.position = newest;
  } else if (*trainer <= next) {
    start.position = next;
  } else if (!state_.ledger.length_known()) {
    // The epoch of a later position is known only once that position is published.
    start.position = std::min(*trainer, newest);
  } else if (state_.attendance.first_publication_waits()) {
    // Other trainers that the stream waits for may begin before this one, by as much as they were
    // apart when they read one ring.
    const std::uint64_t behind = saturating_sub(*trainer, state_.tickets.capacity());
    start.position = std::min(*trainer, std::max(newest, behind));
  } else {
    start.position = *trainer;
  }
  start.epoch = state_.ledger.epoch_of(start.position);
  start.epoch_start = state_.ledger.start_of(start.epoch);
  return start;
}

bool JoinRules::goes_back(Join join, std::uint64_t cursor,
                          std::uint64_t consumer_id) const noexcept {
  const bool is_behind = cursor < state_.tickets.oldest_held() && cursor >= state_.options.start;
  return join == Join::at && is_behind && can_go_back() && is_alone(consumer_id) &&
         !state_.attendance.has_trainers_elsewhere();
}

bool JoinRules::may_go_to(std::uint64_t position) const noexcept {
  const bool is_place = position >= state_.options.start && position < state_.ledger.stream_end() &&
                        position < limits::cursor_limit;
  return is_place && can_go_back() && is_alone(0);
}

bool JoinRules::can_go_back() const noexcept {
  const WriterOptions& options = state_.options;
  if (!options.goes_back || !options.jumps || !state_.ledger.length_known()) return false;
  return !state_.outcome.is_over() && state_.tickets.next() < state_.ledger.stream_end();
}

bool JoinRules::is_alone(std::uint64_t consumer_id) const noexcept {
  const std::vector<ConsumerRecord>& records = state_.consumers.records();
  return std::all_of(records.begin(), records.end(), [&](const ConsumerRecord& one) {
    return one.consumer_id == consumer_id || (one.mirrors && one.paused);
  });
}

bool JoinRules::goes_back(const MirrorRequest& request, std::uint64_t mirror_id) const noexcept {
  // A position that the mirror's ring holds does not make the stream go back, unless this ring has
  // moved on from there. Then the samples between the two have to be made again.
  const bool is_held_there =
      request.cursor < request.next && request.next >= held_in_known_epochs();
  return request.cursor >= request.oldest && !is_held_there &&
         goes_back(request.join, request.cursor, mirror_id);
}

std::string JoinRules::why_not_at(std::uint64_t cursor, std::uint64_t oldest) const {
  const std::string position = text("position {}", cursor);
  if (cursor < oldest) return position + why_gone(oldest);
  const std::uint64_t stream_end = state_.ledger.stream_end();
  const std::uint64_t claimed = state_.tickets.claimed();
  const bool is_beyond = cursor > stream_end;  // at the end itself, the stream is finished
  const bool is_too_far = cursor >= limits::cursor_limit && cursor > claimed;
  if (!is_beyond && !is_too_far) return {};
  const std::uint64_t end = std::min(std::max(limits::cursor_limit, claimed + 1), stream_end);
  std::string possible = ". There is no position left to ask for";
  if (oldest < end) {
    possible = text(". Ask for one from {} to {}, or join with `rewind`", oldest, end - 1);
  }
  if (is_beyond) {
    return text("{} lies beyond the stream's end, which is {}{}", position, stream_end, possible);
  }
  return text("{} is too far away: no consumer can begin at positions from {} (2^62) on{}",
              position, limits::cursor_limit, possible);
}

std::string JoinRules::why_gone(std::uint64_t oldest) const {
  const std::string gone = text(" is no longer in the ring, whose oldest is {}. ", oldest);
  if (!state_.options.goes_back || !state_.ledger.length_known()) {
    return text(
        "{}Its samples cannot be made again: join with `rewind`, and next time serve the stream "
        "with more memory, which holds them longer",
        gone);
  }
  if (state_.tickets.next() >= state_.ledger.stream_end()) {
    return text(
        "{}All of the stream is made, so it goes back no more: join with `rewind`, or serve it "
        "again",
        gone);
  }
  return text(
      "{}The stream goes back there once no other consumer is attached to it. Until then join with "
      "`rewind`, or serve what you resume as a separate stream",
      gone);
}

}  // namespace batchcast::inline v0_1

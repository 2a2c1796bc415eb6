// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/writer.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>

#include "ring/writer/pending_wakes.hpp"

#include <algorithm>
#include <utility>

// Several rings with one stream: what the one that is filled first knows of the others, and how one
// that is filled from it begins anew.
namespace batchcast::inline v0_1 {

bool RingWriter::set_trainers_elsewhere(std::uint32_t trainers) {
  PendingWakes wakes;
  bool open = false;
  {
    Lock lock(mutex_);
    if (trainers < trainers_elsewhere_) last_leave_ns_ = now_ns();
    trainers_elsewhere_ = trainers;
    had_consumer_ = had_consumer_ || trainers != 0;
    const auto refusal = refusal_if_over();
    open = !refusal || refusal->reason == NotAdmitted::Reason::finished;
    if (!over() && !held_back()) advance(wakes);
    bump();
  }
  wakes.wake();
  return open;
}

std::optional<std::uint64_t> RingWriter::take_left_at() {
  Lock lock(mutex_);
  return std::exchange(left_anew_, false) ? left_at_ : std::nullopt;
}

void RingWriter::set_left_at(std::optional<std::uint64_t> position) {
  Lock lock(mutex_);
  if (!position) return;
  left_at_ = std::min(*position, published_);
  limit_ = 0;
  bump();
}

std::uint32_t RingWriter::trainers_here() const {
  Lock lock(mutex_);
  return trainers();
}

bool RingWriter::has_demand() const {
  Lock lock(mutex_);
  return std::any_of(attached_.begin(), attached_.end(),
                     [](const Attached& one) { return !one.paused && !one.mirrors; });
}

std::variant<MirrorStart, NotAdmitted> RingWriter::resume_mirror(std::uint32_t index,
                                                                 std::uint64_t consumer_id,
                                                                 const MirrorRequest& request) {
  Lock lock(mutex_);
  if (auto refusal = refusal_if_over()) return *refusal;
  // Of what it holds, it can tell the epochs of no more than it remembers.
  const auto held_from = [this] {
    return std::max(oldest_held(claimed_, capacity_, valid_from_), ledger_.known_from());
  };
  // What the mirror's ring holds is had without going back, unless the host has gone on from there:
  // what comes between the two is to be made again.
  const bool goes_on_there = request.cursor < request.next && request.next >= held_from();
  if (request.cursor >= request.oldest && !goes_on_there) {
    go_back_if_asked(request.join, request.cursor, consumer_id);
  }
  const std::uint64_t held = held_from();
  // Two windows that meet are one.
  const bool meet = request.next >= held;
  const Reach reach{meet ? request.oldest : std::max(held, request.oldest), request.oldest};
  std::string why_not;
  MirrorStart start;
  start.trainer = place(request.join, request.cursor, reach, why_not);
  Attached* mirror = find(index, consumer_id);
  if (mirror == nullptr) {
    return NotAdmitted{NotAdmitted::Reason::stopped, "its mirror was removed"};
  }
  BATCHCAST_ASSERT(mirror->mirrors && mirror->paused);
  if (!start.trainer && !why_not.empty()) {
    return NotAdmitted{NotAdmitted::Reason::cursor_gone, why_not};
  }
  if (start.trainer && *start.trainer >= stream_end_) {
    return NotAdmitted{NotAdmitted::Reason::finished,
                       "the stream's last epoch is no longer in the ring, and none follows"};
  }
  const std::uint64_t newest = std::max(published_, request.next);
  if (!start.trainer) {
    start.position = newest;
  } else if (*start.trainer <= request.next) {
    start.position = request.next;
  } else if (ledger_.length_known()) {
    start.position = *start.trainer;
    if (held_back()) {
      // Of those who are waited for others may stand behind it, by as much as they were apart when
      // they stood at one ring.
      const std::uint64_t behind = saturating_sub(start.position, capacity_);
      start.position = std::min(start.position, std::max(newest, behind));
    }
  } else {
    // Which epoch a position to come belongs to is known once it is published, not before.
    start.position = std::min(*start.trainer, newest);
  }
  start.epoch = ledger_.epoch_of(start.position);
  start.epoch_start = ledger_.start_of(start.epoch);
  ordered::set_release(mirror->desk->skipping, 0);
  mirror->floor = mirror->bound = start.position;
  mirror->skipping = 0;
  mirror->paused = false;
  ordered::set_release(mirror->desk->released, start.position);
  ordered::set(board_.consumer(index).paused, 0);
  limit_ = 0;
  bump();
  return start;
}

void RingWriter::restart_at(std::uint64_t position, std::uint64_t epoch,
                            std::uint64_t epoch_start) {
  PendingWakes wakes;
  {
    Lock lock(mutex_);
    if (over()) return;
    const bool asked = std::any_of(attached_.begin(), attached_.end(),
                                   [](const Attached& one) { return !one.paused; });
    BATCHCAST_ASSERT(outstanding_.empty() && !asked);
    BATCHCAST_ASSERT((position >= published_ || attached_.empty()) && epoch_start <= position);
    if (position != published_) {
      next_ = claimed_ = published_ = valid_from_ = demand_base_ = position;
      ordered::claim(board_.progress(), claimed_);
      ordered::set_release(board_.progress().valid_from, valid_from_);
      ledger_.restarted(position, epoch, epoch_start);
      ordered::publish(board_.progress(), published_);
    } else if (ledger_.epoch_of(position) != epoch) {
      BATCHCAST_ASSERT(ledger_.epoch_of(position) + 1 == epoch && epoch_start == position);
      ledger_.end_current(position, position);  // it ended while nobody looked
    }
    limit_ = 0;
    if (published_ >= stream_end_) {
      enter_end(StreamState::finished, "", wakes);
    } else {
      wake_sleepers(wakes, true);
      bump();
    }
  }
  wakes.wake();
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

// Who asks for a mirror's samples: when it starts, where, and when it rests.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr int look_ms = 10;
// What is on its way when the last trainer leaves has arrived by then.
constexpr std::uint64_t rests_within_ns = 100'000'000;

bool asks(const AdmitRequest& request) noexcept {
  return !request.observes && request.between_epochs != BetweenEpochs::let_go;
}

}  // namespace

Mirror::Seat::Seat(const Parts& parts, std::uint64_t samples_max)
    : writer(parts.host_writer), desk(std::make_shared<Desk>()) {
  AdmitRequest request;
  request.name = "mirror " + parts.place;
  request.name.resize(std::min(request.name.size(), limits::consumer_name_bytes_max));
  request.pid = static_cast<std::uint32_t>(::getpid());
  request.batch_size = static_cast<std::uint32_t>(samples_max);
  request.mirrors = true;
  const auto reply = writer.admit(request, desk);
  if (const auto* refusal = std::get_if<NotAdmitted>(&reply)) {
    throw InvalidArgument("batchcast: the mirror on " + parts.place +
                          " was not let into the host ring: " + refusal->text + ".");
  }
  admitted = std::get<Admitted>(reply);
}

std::uint64_t Mirror::oldest() const noexcept {
  const BoardView& board = board_;
  return oldest_held(ordered::load_claimed(board.progress()), board.head().capacity,
                     ordered::get_acquire(board.progress().valid_from));
}

std::variant<MirrorStart, NotAdmitted> Mirror::begin(const MirrorRequest& request) {
  auto reply =
      host_writer_.resume_mirror(seat_.admitted.index, seat_.admitted.consumer_id, request);
  if (const auto* start = std::get_if<MirrorStart>(&reply)) {
    writer_.restart_at(start->position, start->epoch, start->epoch_start);
  }
  return reply;
}

void Mirror::go_on(const MirrorStart& start) {
  start_ = start;
  state_ = State::running;
  rest_wanted_ = false;
  ordered::bump(changed_);
  source_.ring();
}

/// Where the last trainer has just left: until the mirror rests, no ring begins anew.
void Mirror::let_it_rest(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t started_ns = now_ns();
  while (state_ == State::running && rest_wanted_ && now_ns() - started_ns < rests_within_ns) {
    const std::uint32_t value = ordered::load_word(changed_);
    lock.unlock();
    futex_wait(changed_, value, look_ms);
    lock.lock();
  }
}

std::variant<Admitted, NotAdmitted> Mirror::admit(const AdmitRequest& request,
                                                  std::shared_ptr<Desk> desk) {
  std::unique_lock lock(mutex_);
  const bool is_behind = request.join == Join::at && request.cursor < oldest();
  if (is_behind && asks(request)) let_it_rest(lock);
  if (state_ != State::resting || !asks(request)) {
    auto reply = writer_.admit(request, std::move(desk));
    if (asks(request) && std::holds_alternative<Admitted>(reply)) rest_wanted_ = false;
    return reply;
  }
  // Before the ring begins anew for its sake: a window that was given up does not come back.
  if (auto refusal = writer_.refusal_of_newcomers()) return std::move(*refusal);
  MirrorRequest wanted{request.join, request.cursor};
  const std::uint64_t next = ordered::load_published(board_.progress());
  // A trainer may have wanted samples that were far from being made, and left: where the ring holds
  // nothing, and no trainer is attached, it need not wait for them. Nor does it, while none is
  // attached, keep a trainer from a cursor behind what it holds, or place one where the host ring
  // went back from.
  const bool elsewhere =
      request.join == Join::at ? request.cursor < oldest() : next > host_writer_.status().published;
  const bool begins_anew = oldest() == next || elsewhere;
  const bool may_begin_anew =
      writer_.samples_per_epoch() != 0 && writer_.status().consumers.empty();
  if (!begins_anew || !may_begin_anew) wanted.oldest = oldest(), wanted.next = next;
  AtRest at_rest(seat_);
  auto begun = begin(wanted);
  if (auto* refusal = std::get_if<NotAdmitted>(&begun)) return std::move(*refusal);
  const MirrorStart& start = std::get<MirrorStart>(begun);
  AdmitRequest placed = request;
  if (start.trainer) {
    placed.join = Join::at;
    placed.cursor = *start.trainer;
  }
  auto reply = writer_.admit(placed, std::move(desk));
  if (std::holds_alternative<Admitted>(reply)) {
    at_rest.end();
    go_on(start);
  }
  return reply;
}

std::variant<std::uint64_t, NotAdmitted> Mirror::resume(std::uint32_t index,
                                                        std::uint64_t consumer_id, Join join,
                                                        std::uint64_t cursor) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::resting) {
    auto reply = writer_.resume(index, consumer_id, join, cursor);
    if (std::holds_alternative<std::uint64_t>(reply)) rest_wanted_ = false;
    return reply;
  }
  const std::vector<ConsumerStatus> rows = writer_.status().consumers;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ConsumerStatus& one) {
    return one.index == index && one.consumer_id == consumer_id;
  });
  // Who is not between loops is answered as it stands: nothing that is held goes for its sake.
  if (row == rows.end() || row->state != ConsumerState::paused) {
    return writer_.resume(index, consumer_id, join, cursor);
  }
  // Who has had samples already does not go back behind where it stood, as its own writer sees it:
  // that one must not refuse it any more once the ring has begun anew for its sake.
  const std::uint64_t at_least = row->fresh ? oldest() : std::max(oldest(), row->position);
  const std::uint64_t next = ordered::load_published(board_.progress());
  AtRest at_rest(seat_);
  auto begun = begin({join, cursor, at_least, next});
  if (auto* refusal = std::get_if<NotAdmitted>(&begun)) return std::move(*refusal);
  const MirrorStart& start = std::get<MirrorStart>(begun);
  auto reply = writer_.resume(index, consumer_id, start.trainer ? Join::at : join,
                              start.trainer.value_or(cursor));
  if (std::holds_alternative<std::uint64_t>(reply)) {
    at_rest.end();
    go_on(start);
  }
  return reply;
}

void Mirror::look_for_demand() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::running) return;
  const bool asked = writer_.has_demand();
  if (asked != rest_wanted_) return;
  rest_wanted_ = !asked;
  if (rest_wanted_) source_.ring();
}

bool Mirror::wait_drained(int timeout_ms) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    const std::uint32_t value = ordered::load_word(changed_);
    State state = State::over;
    {
      const std::lock_guard lock(mutex_);
      state = state_;
    }
    // Who asks for nothing has nothing to drain. But once nobody is let in, this ring ends as well.
    if (state == State::resting) {
      if (!source_.is_closed()) return true;
      source_.ring();
    }
    if (state == State::over && writer_.wait_drained(0)) return true;
    // The host ring's stream may be stopped while it drains.
    if (host_writer_.status().state == StreamState::stopped) return false;
    if (deadline.over()) return false;
    futex_wait(changed_, value, look_ms);
  }
}

}  // namespace batchcast::inline v0_1::detail

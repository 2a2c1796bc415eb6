// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/futex.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr int look_ms = 10;
// By then everything that was on its way when the last trainer left has arrived.
constexpr std::uint64_t rests_within_ns = 100'000'000;

bool asks(const AdmitRequest& request) noexcept {
  const bool is_in_loop = request.in_loop || request.between_epochs != BetweenEpochs::let_go;
  return !request.observes && is_in_loop;
}

/// The destructor rests the seat again, if an exception comes before a trainer is admitted.
class AtRest {
 public:
  explicit AtRest(MirrorSeat& seat) noexcept : seat_(&seat) {}
  ~AtRest() {
    if (seat_ != nullptr) seat_->rest();
  }
  AtRest(const AtRest&) = delete;
  AtRest& operator=(const AtRest&) = delete;
  void end() noexcept { seat_ = nullptr; }

 private:
  MirrorSeat* seat_;
};

}  // namespace

Mirror::Mirror(const Parts& parts)
    : host_writer_(parts.host_writer),
      board_(parts.board),
      writer_(parts.writer),
      copier_(parts.copies),
      seat_(parts.host_writer, parts.place, copier_.samples_max(0)),
      source_(parts.host_board, seat_.desk()),
      thread_({parts.copies.device, parts.place, parts.writer, parts.pins, parts.log, copier_,
               seat_, source_, orders_}) {}

std::uint64_t Mirror::oldest() const noexcept {
  const BoardView& board = board_;
  return oldest_held(ordered::load_kept_from(board.progress()),
                     ordered::get_acquire(board.progress().valid_from));
}

std::variant<MirrorStart, NotAdmitted> Mirror::begin(const MirrorRequest& request) {
  auto reply = seat_.resume(request);
  if (const auto* start = std::get_if<MirrorStart>(&reply)) {
    writer_.restart_at(start->position, start->epoch, start->epoch_start);
  }
  return reply;
}

void Mirror::go_on(const MirrorStart& start) {
  orders_.start = start;
  orders_.rest_wanted = false;
  orders_.set_state(State::copying);
  source_.ring();
}

/// Waits until the mirror rests, where the last trainer has just left; only then it begins again.
void Mirror::let_it_rest(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t started_ns = now_ns();
  while (orders_.state == State::copying && orders_.rest_wanted &&
         now_ns() - started_ns < rests_within_ns) {
    const std::uint32_t value = ordered::load_word(orders_.changed);
    lock.unlock();
    futex_wait(orders_.changed, value, look_ms);
    lock.lock();
  }
}

std::variant<Admitted, NotAdmitted> Mirror::admit(const AdmitRequest& request,
                                                  std::shared_ptr<Desk> desk) {
  std::unique_lock lock(orders_.mutex);
  const bool is_behind = request.join == Join::at && request.cursor < oldest();
  if (is_behind && asks(request)) let_it_rest(lock);
  if (orders_.state != State::resting || !asks(request)) {
    auto reply = writer_.admit(request, std::move(desk));
    if (asks(request) && std::holds_alternative<Admitted>(reply)) orders_.rest_wanted = false;
    return reply;
  }
  // A trainer that would be refused must not make the ring give up its window.
  if (auto refusal = writer_.refusal_of_newcomers()) return std::move(*refusal);
  MirrorRequest wanted{request.join, request.cursor};
  const std::uint64_t next = ordered::load_published(board_.progress());
  // An earlier trainer may have wanted samples that were far from being made, and left. Where the
  // ring holds nothing, and no trainer is attached, the ring need not wait for them. While none is
  // attached, it also keeps no trainer from an earlier cursor, and places none where the host ring
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
  const std::lock_guard lock(orders_.mutex);
  if (orders_.state != State::resting) {
    auto reply = writer_.resume(index, consumer_id, join, cursor);
    if (std::holds_alternative<std::uint64_t>(reply)) orders_.rest_wanted = false;
    return reply;
  }
  const std::vector<ConsumerStatus> rows = writer_.status().consumers;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ConsumerStatus& one) {
    return one.index == index && one.consumer_id == consumer_id;
  });
  // A consumer that is not between loops gets an answer at once: the ring gives up nothing.
  if (row == rows.end() || row->state != ConsumerState::paused) {
    return writer_.resume(index, consumer_id, join, cursor);
  }
  // A consumer that has had samples does not go back before where it stood, as the device ring's
  // writer sees it. Otherwise that writer would refuse it after the ring has begun again for its
  // sake.
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
  const std::lock_guard lock(orders_.mutex);
  if (orders_.state != State::copying) return;
  const bool asked = writer_.has_demand();
  if (asked != orders_.rest_wanted) return;
  orders_.rest_wanted = !asked;
  if (orders_.rest_wanted) source_.ring();
}

bool Mirror::wait_drained(int timeout_ms) {
  const Deadline deadline(timeout_ms);
  for (;;) {
    const std::uint32_t value = ordered::load_word(orders_.changed);
    State state = State::over;
    {
      const std::lock_guard lock(orders_.mutex);
      state = orders_.state;
    }
    // A ring without a trainer that asks has nothing to drain. But once the host ring admits no
    // consumer, this ring ends as well.
    if (state == State::resting) {
      if (!source_.is_closed()) return true;
      source_.ring();
    }
    if (state == State::over && writer_.wait_drained(0)) return true;
    // The host ring's stream may be stopped while it drains.
    if (host_writer_.status().state == StreamState::stopped) return false;
    if (deadline.over()) return false;
    futex_wait(orders_.changed, value, look_ms);
  }
}

}  // namespace batchcast::inline v0_1::detail

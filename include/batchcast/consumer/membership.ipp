// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/membership.hpp>

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/stream_over.hpp>

#include <utility>
#include <variant>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE Membership::Membership(const ConsumerOptions& options, ProducerLink& link,
                                        BoardView board, RingReader& reader, bool in_loop)
    : options_(options),
      link_(link),
      board_(board),
      reader_(reader),
      join_(in_loop ? Join::rewind : options.join),
      paused_(!in_loop && (options.observes || options.between_epochs == BetweenEpochs::let_go)) {
  // Where its first loop will join is where it stands.
  if (paused_ && join_ == Join::at) reader_.move_to(RowPlace{options_.cursor, options_.cursor_row});
}

BATCHCAST_INLINE bool Membership::has_let_go() const noexcept {
  if (options_.between_epochs != BetweenEpochs::let_go) return false;
  const std::lock_guard lock(mutex_);  // another thread may be pausing with the last lease
  return paused_ || when_idle_.load(std::memory_order_relaxed) == WhenIdle::pause;
}

BATCHCAST_INLINE Membership::Loop Membership::begin_loop(int& timeout_ms, For reason) {
  {
    const std::lock_guard lock(mutex_);
    when_idle_.store(WhenIdle::stay, std::memory_order_relaxed);
    // Batches of the last loop are still held: the place was never given up.
    if (!paused_) return Loop::joined;
  }
  reader_.check();
  if (!skip_stale_answers(timeout_ms)) return Loop::timed_out;
  const Deadline deadline(timeout_ms);
  if (!asked_) {
    const DoorSend sent =
        link_.ask(encode(Rejoin{join_, {options_.cursor, options_.cursor_row}}), timeout_ms);
    if (sent == DoorSend::closed) throw_door_closed();
    if (sent == DoorSend::timed_out) return Loop::timed_out;
    asked_ = true;
  }
  DoorMessage answer;
  const DoorRead read = link_.hear(answer, deadline.left_ms());
  if (read == DoorRead::timed_out) return Loop::timed_out;
  timeout_ms = deadline.left_ms();
  asked_ = false;
  if (read != DoorRead::message) throw_door_closed();
  const ProducerMessage message = decode_from_producer(answer.text);
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    if (refusal->kind == RefusalKind::finished) return Loop::stream_is_over;
    throw_refused(*refusal);
  }
  reader_.check();
  const auto* rejoined = std::get_if<Rejoined>(&message);
  if (rejoined == nullptr) throw_door_closed();
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
  }
  const std::uint64_t row = join_ == Join::at ? options_.cursor_row : 0;
  // A cursor is where the first loop begins; the others follow the stream.
  if (join_ == Join::at && reason == For::loop) join_ = Join::rewind;
  reader_.move_to(RowPlace{rejoined->position, row});
  return Loop::joined;
}

BATCHCAST_INLINE std::optional<bool> Membership::move_to(RowPlace cursor, int timeout_ms) {
  const Deadline deadline(timeout_ms);
  if (!asked_) {
    const DoorSend sent = link_.ask(encode(Rejoin{Join::at, cursor}), timeout_ms);
    if (sent == DoorSend::timed_out) return std::nullopt;
    if (sent == DoorSend::closed) return false;
    asked_ = true;
  }
  DoorMessage answer;
  const DoorRead read = link_.hear(answer, deadline.left_ms());
  if (read == DoorRead::timed_out) return std::nullopt;
  asked_ = false;
  if (read != DoorRead::message) return false;
  const ProducerMessage message = decode_from_producer(answer.text);
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    const bool is_about_place =
        refusal->kind == RefusalKind::cursor_gone || refusal->kind == RefusalKind::finished;
    if (is_about_place) throw_refused(*refusal);
    return false;
  }
  const auto* rejoined = std::get_if<Rejoined>(&message);
  // An older producer answers where the consumer stands.
  if (rejoined == nullptr || rejoined->position != cursor.position) return false;
  reader_.move_to(cursor);
  return true;
}

BATCHCAST_INLINE std::optional<std::uint64_t> Membership::count_batches(
    const CountBatches& request) {
  constexpr int patience_ms = 10'000;
  int left_ms = patience_ms;
  // The answer to a loop that was asked for comes first, and belongs to the call that asked.
  if (asked_ || !skip_stale_answers(left_ms)) return std::nullopt;
  const Deadline deadline(left_ms);
  if (link_.ask(encode(request), left_ms) != DoorSend::sent) return std::nullopt;
  DoorMessage answer;
  const DoorRead read = link_.hear(answer, deadline.left_ms());
  if (read == DoorRead::timed_out) ++stale_answers_;
  if (read != DoorRead::message) return std::nullopt;
  const ProducerMessage message = decode_from_producer(answer.text);
  const auto* count = std::get_if<BatchCount>(&message);
  if (count == nullptr || !count->known) return std::nullopt;
  return count->batches;
}

/// False at the time-out.
BATCHCAST_INLINE bool Membership::skip_stale_answers(int& timeout_ms) {
  for (; stale_answers_ > 0; --stale_answers_) {
    const Deadline deadline(timeout_ms);
    DoorMessage stale;
    const DoorRead read = link_.hear(stale, timeout_ms);
    if (read == DoorRead::timed_out) return false;
    if (read != DoorRead::message) throw_door_closed();
    timeout_ms = deadline.left_ms();
  }
  return true;
}

BATCHCAST_INLINE void Membership::give_up_loop() noexcept {
  if (!std::exchange(asked_, false)) return;
  ++stale_answers_;  // the producer answers all the same
  link_.tell(Pause{});
}

BATCHCAST_INLINE void Membership::end_loop() noexcept {
  if (options_.between_epochs != BetweenEpochs::let_go) return;
  const std::lock_guard lock(mutex_);
  if (paused_) return;
  when_idle_.store(WhenIdle::pause, std::memory_order_relaxed);
  act_locked();
}

BATCHCAST_INLINE void Membership::leave() noexcept {
  const std::lock_guard lock(mutex_);
  when_idle_.store(WhenIdle::leave, std::memory_order_relaxed);
  act_locked();
}

BATCHCAST_INLINE void Membership::act_if_idle() noexcept {
  const std::lock_guard lock(mutex_);
  act_locked();
}

BATCHCAST_INLINE void Membership::act_locked() noexcept {
  // Also asked for a lease that is back: meanwhile the consumer may hold one of the loop after
  // that.
  if (!reader_.idle()) return;
  const WhenIdle wanted = when_idle_.exchange(WhenIdle::stay, std::memory_order_relaxed);
  if (wanted == WhenIdle::leave) {
    link_.leave();
  } else if (wanted == WhenIdle::pause) {
    paused_ = true;
    link_.tell(Pause{});
  }
}

BATCHCAST_INLINE void Membership::throw_door_closed() const {
  reader_.check();
  // The board knows how the stream ended; a producer that died left it running.
  throw_stream_over(board_, ordered::load_state(board_.progress()), options_.stream, std::nullopt);
}

}  // namespace batchcast::inline v0_1::detail

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attachment.hpp>

#include <batchcast/consumer/host_copy.hpp>
#include <batchcast/core/inline.hpp>

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <variant>

// How batches go, and the pauses between epochs.
namespace batchcast::inline v0_1::detail {
namespace attachment_release {

// Where an answer is awaited, the producer's death is looked for so often.
inline constexpr int look_ms = 100;

}  // namespace attachment_release

BATCHCAST_INLINE void Attachment::use(BatchRecord& record, void* cuda_stream) {
  if (!delivery_ || in_forked_child()) return;
  const std::lock_guard lock(mutex_);
  const auto known = std::find(record.streams.begin(), record.streams.end(), cuda_stream);
  if (known != record.streams.end()) return;
  if (record.copied) delivery_->order_copies(cuda_stream);
  record.streams.push_back(cuda_stream);
}

BATCHCAST_INLINE void Attachment::take_back(BatchRecord& record) noexcept {
  if (!delivery_) {
    release_passed(&record);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }
  const std::shared_ptr<Attachment> self = record.owner;  // the release may be its end
  delivery_->when_passed(record.streams, &record, &release_passed);
}

BATCHCAST_INLINE void Attachment::release_passed(void* record) noexcept {
  auto& passed = *static_cast<BatchRecord*>(record);
  const std::shared_ptr<Attachment> owner = std::move(passed.owner);
  owner->release(passed);
}

BATCHCAST_INLINE void Attachment::release(BatchRecord& record) noexcept {
  release_use(record, record.leased && reader_->give_back(record.run.lease));
}

/// A copy's place in the ring is given back as soon as the copy is made, however long its batch is
/// held.
BATCHCAST_INLINE void Attachment::give_back_when_copied(BatchRecord& record, std::uint64_t lease) {
  {
    const std::lock_guard lock(mutex_);
    ++pending_;
    ++record.uses;
  }
  record.copied_lease = lease;
  record.copier = shared_from_this();
  delivery_->when_copied(&record, &release_copied);
}

BATCHCAST_INLINE void Attachment::release_copied(void* record) noexcept {
  auto& copied = *static_cast<BatchRecord*>(record);
  const std::shared_ptr<Attachment> owner = std::move(copied.copier);
  owner->release_use(copied, owner->reader_->give_back(copied.copied_lease));
}

BATCHCAST_INLINE void Attachment::release_use(BatchRecord& record, bool idle) noexcept {
  const std::lock_guard lock(mutex_);
  if (--record.uses == 0) {
    leave_place_locked(record);
    idle_records_.push_back(&record);
  }
  if (delivery_) {
    --pending_;
    passed_.notify_all();
  }
  // Looked at again: meanwhile another thread may hold a batch of the loop after that.
  if (!idle || !reader_->idle()) return;
  if (abandoned_) {
    leave();
  } else if (pause_wanted_ && !paused_) {
    pause_wanted_ = false;
    say_pause();
  }
}

BATCHCAST_INLINE bool Attachment::wait_for_pending(std::size_t most, int timeout_ms) {
  std::unique_lock lock(mutex_);
  const auto enough = [this, most] { return pending_ <= most; };
  if (timeout_ms >= 0) {
    return passed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), enough);
  }
  passed_.wait(lock, enough);
  return true;
}

BATCHCAST_INLINE void retain(BatchRecord& record) noexcept {
  record.references.fetch_add(1, std::memory_order_relaxed);
}

BATCHCAST_INLINE void drop(BatchRecord& record) noexcept {
  if (record.owner->in_forked_child()) return;
  if (record.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  record.owner->take_back(record);
}

BATCHCAST_INLINE void check(const BatchRecord& record) { record.owner->check(); }

BATCHCAST_INLINE void use(BatchRecord& record, void* cuda_stream) {
  record.owner->use(record, cuda_stream);
}

BATCHCAST_INLINE Batch copy_to_host(const Batch& batch) {
  return BatchRecord::of(batch).owner->copy_to_host(BatchRecord::contents(batch));
}

// ---- pauses

BATCHCAST_INLINE bool Attachment::has_let_go() noexcept {
  if (options_.between_epochs != BetweenEpochs::let_go) return false;
  const std::lock_guard lock(mutex_);  // the last lease may be coming back, and the pause with it
  return paused_ || pause_wanted_;
}

BATCHCAST_INLINE void Attachment::pause_if_idle() noexcept {
  if (options_.between_epochs != BetweenEpochs::let_go) return;
  const std::lock_guard lock(mutex_);
  if (paused_) return;
  const bool idle = reader_->idle();
  pause_wanted_ = !idle;
  if (!idle) return;
  say_pause();
}

BATCHCAST_INLINE void Attachment::say_pause() noexcept {
  paused_ = true;
  try {
    static_cast<void>(door_.send(encode(Pause{})));
  } catch (const std::exception&) {
    // The next rejoin meets the same door and says so.
  }
}

BATCHCAST_INLINE Attachment::Rejoining Attachment::rejoin(int& timeout_ms) {
  {
    const std::lock_guard lock(mutex_);
    pause_wanted_ = false;
    // Batches of the last loop are still held: the place was never given up.
    if (!paused_) return Rejoining::joined;
  }
  check();
  const std::uint64_t started_ns = now_ns();
  const int timeout_at_first_ms = timeout_ms;
  const auto take_off_what_passed = [&] {
    if (timeout_at_first_ms < 0) return;
    const auto passed_ms = static_cast<std::int64_t>((now_ns() - started_ns) / 1'000'000);
    timeout_ms = static_cast<int>(std::max<std::int64_t>(0, timeout_at_first_ms - passed_ms));
  };
  for (; stale_answers_ > 0; --stale_answers_) {
    DoorMessage stale;
    const DoorRead read = hear_producer(stale, timeout_ms);
    if (read == DoorRead::timed_out) return Rejoining::timed_out;
    if (read != DoorRead::message) throw_door_closed();
    take_off_what_passed();
  }
  if (!rejoin_asked_ && !ask_to_rejoin(timeout_ms)) return Rejoining::timed_out;
  take_off_what_passed();
  DoorMessage answer;
  const DoorRead read = hear_producer(answer, timeout_ms);
  if (read == DoorRead::timed_out) return Rejoining::timed_out;
  take_off_what_passed();
  rejoin_asked_ = false;
  if (read != DoorRead::message) throw_door_closed();
  const ProducerMessage message = decode_from_producer(answer.text);
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    if (refusal->kind == RefusalKind::finished) return Rejoining::over;
    throw_refused(*refusal);
  }
  check();
  if (!std::holds_alternative<Rejoined>(message)) throw_door_closed();
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
  }
  // A cursor is where the first loop begins; the others follow the stream.
  if (options_.join == Join::at) options_.join = Join::rewind;
  reader_->move_to(std::get<Rejoined>(message).position);
  return Rejoining::joined;
}

/// Gives up a loop that was asked for and has not begun, so that the stream does not wait for it.
/// The answer still comes.
BATCHCAST_INLINE void Attachment::take_back_rejoin() noexcept {
  rejoin_asked_ = false;
  ++stale_answers_;
  const std::lock_guard lock(mutex_);
  say_pause();
}

/// False at the time-out.
BATCHCAST_INLINE bool Attachment::ask_to_rejoin(int timeout_ms) {
  const std::string request = encode(Rejoin{options_.join, options_.cursor});
  for (;;) {
    const DoorSend sent =
        door_.send(request, {}, timeout_ms < 0 ? attachment_release::look_ms : timeout_ms);
    rejoin_asked_ = sent == DoorSend::sent;
    if (rejoin_asked_) return true;
    if (sent == DoorSend::closed || producer_is_dead()) throw_door_closed();
    if (timeout_ms >= 0) return false;
  }
}

/// A forked child of a dead producer may hold the door's socket: it is closed for us all the same.
BATCHCAST_INLINE DoorRead Attachment::hear_producer(DoorMessage& message, int timeout_ms) {
  for (int left_ms = timeout_ms;; left_ms -= timeout_ms < 0 ? 0 : attachment_release::look_ms) {
    const bool last = timeout_ms >= 0 && left_ms <= attachment_release::look_ms;
    const DoorRead read = door_.receive(message, 0, last ? left_ms : attachment_release::look_ms);
    if (read != DoorRead::timed_out) return read;
    if (producer_is_dead()) {
      const bool said = door_.receive(message, 0) == DoorRead::message;
      return said ? DoorRead::message : DoorRead::closed;
    }
    if (last) return DoorRead::timed_out;
  }
}

BATCHCAST_INLINE void Attachment::throw_door_closed() {
  check();
  // The board knows how the stream ended; a producer that died left it running.
  const StreamState state = ordered::load_state(board().progress());
  if (state == StreamState::draining || state == StreamState::finished) {
    throw StreamFinished("batchcast: stream `" + options_.stream +
                         "` is finished: all of its epochs were made.");
  }
  const std::string text(board().progress().state_text.data());
  if (state == StreamState::stopped) {
    throw Stopped("batchcast: stream `" + options_.stream + "` was stopped: " + text);
  }
  if (state == StreamState::failed) {
    throw StreamFailed("batchcast: stream `" + options_.stream + "` failed: " + text);
  }
  throw ProducerGone("batchcast: stream `" + options_.stream +
                     "` lost its producer between two epochs. Start it again, and attach anew.");
}

BATCHCAST_INLINE void Attachment::abandon() noexcept {
  leave_epoch();
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  if (reader_->idle()) leave();
}

}  // namespace batchcast::inline v0_1::detail

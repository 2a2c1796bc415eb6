// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/producer_link.hpp>

#include <batchcast/core/inline.hpp>

#include <utility>
#include <variant>

namespace batchcast::inline v0_1::detail {
namespace producer_link {

// While a call waits for an answer, it checks this often whether the producer is dead.
inline constexpr int look_ms = 100;
inline constexpr int farewell_timeout_ms = 200;

}  // namespace producer_link

BATCHCAST_INLINE ProducerLink::ProducerLink(const AttachedProcess& process, DoorConnection door)
    : process_(process), door_(std::move(door)) {}

BATCHCAST_INLINE ProducerLink::~ProducerLink() {
  if (!process_.in_forked_child()) leave();
}

BATCHCAST_INLINE void ProducerLink::open(DoorConnection door) noexcept {
  const std::lock_guard lock(mutex_);
  door_ = std::move(door);
}

BATCHCAST_INLINE void ProducerLink::watch(FileDescriptor producer_pidfd) noexcept {
  producer_pidfd_ = std::move(producer_pidfd);
}

BATCHCAST_INLINE DoorSend ProducerLink::ask(std::string_view text, int timeout_ms) {
  for (;;) {
    const DoorSend sent =
        door_.send(text, {}, timeout_ms < 0 ? producer_link::look_ms : timeout_ms);
    if (sent != DoorSend::timed_out) return sent;
    if (producer_is_dead()) return DoorSend::closed;
    if (timeout_ms >= 0) return DoorSend::timed_out;
  }
}

BATCHCAST_INLINE DoorRead ProducerLink::hear(DoorMessage& message, int timeout_ms) {
  for (int left_ms = timeout_ms;; left_ms -= timeout_ms < 0 ? 0 : producer_link::look_ms) {
    const bool last = timeout_ms >= 0 && left_ms <= producer_link::look_ms;
    const DoorRead read = door_.receive(message, 0, last ? left_ms : producer_link::look_ms);
    if (read != DoorRead::timed_out) return read;
    if (producer_is_dead()) {
      const bool said = door_.receive(message, 0) == DoorRead::message;
      return said ? DoorRead::message : DoorRead::closed;
    }
    if (last) return DoorRead::timed_out;
  }
}

BATCHCAST_INLINE std::string ProducerLink::why_revoked() {
  const std::lock_guard lock(mutex_);
  DoorMessage message;
  try {
    while (door_ &&
           door_.receive(message, 0, producer_link::farewell_timeout_ms) == DoorRead::message) {
      const ProducerMessage said = decode_from_producer(message.text);
      if (const auto* farewell = std::get_if<Farewell>(&said)) {
        group_broke_ = farewell->group_broke;
        return farewell->reason;
      }
    }
  } catch (const std::exception&) {
    // Only the reason is lost.
  }
  return "the producer evicted it";
}

BATCHCAST_INLINE void ProducerLink::leave() noexcept {
  const std::lock_guard lock(mutex_);
  leave_locked();
}

BATCHCAST_INLINE void ProducerLink::leave_locked() noexcept {
  if (std::exchange(left_, true) || !door_) return;
  tell_locked(Bye{});
  door_.shutdown();
}

BATCHCAST_INLINE void ProducerLink::close() noexcept {
  const std::lock_guard lock(mutex_);
  leave_locked();
  static_cast<void>(door_.release());
  producer_pidfd_ = FileDescriptor();
}

}  // namespace batchcast::inline v0_1::detail

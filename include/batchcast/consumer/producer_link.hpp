// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/attached_process.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>

#include <exception>
#include <mutex>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// A joined consumer's connection to its producer: the door, where the two talk, and the pidfd that
/// tells whether the producer lives. Says bye when it goes, in a forked child nothing. One thread
/// at a time, but `tell`, `leave` and `why_revoked` from any, and `producer_is_dead` until `close`.
class ProducerLink {
 public:
  ProducerLink(const AttachedProcess& process, DoorConnection door);
  ~ProducerLink();
  ProducerLink(const ProducerLink&) = delete;
  ProducerLink& operator=(const ProducerLink&) = delete;

  /// For one that was made without a door.
  void open(DoorConnection door) noexcept;
  /// From then on it can be asked whether the producer is dead.
  void watch(FileDescriptor producer_pidfd) noexcept;
  [[nodiscard]] bool producer_is_dead() const noexcept { return is_dead(producer_pidfd_); }

  /// The producer closed the door for this consumer, which it does to all as it ends.
  [[nodiscard]] bool is_hung_up() const noexcept { return door_.is_left(); }

  /// Sends without waiting. What the door does not take is lost: the next question finds that out.
  template <class Message>
  void tell(const Message& message) noexcept {
    const std::lock_guard lock(mutex_);
    tell_locked(message);
  }
  /// Waits until the door takes it; `closed` where the producer is dead as well.
  [[nodiscard]] DoorSend ask(std::string_view text, int timeout_ms);
  /// The producer's next message. A dead producer's door counts as closed even while a child that
  /// it forked holds the socket.
  [[nodiscard]] DoorRead hear(DoorMessage& message, int timeout_ms);
  /// The producer's reason for an eviction, as far as it was said.
  [[nodiscard]] std::string why_revoked();
  /// That reason is another rank of the consumer's group.
  [[nodiscard]] bool group_broke() const noexcept { return group_broke_; }
  /// Says bye, once, and closes the door for the producer too.
  void leave() noexcept;
  /// The same, and gives up both descriptors.
  void close() noexcept;

 private:
  template <class Message>
  void tell_locked(const Message& message) noexcept {
    try {
      static_cast<void>(door_.send(encode(message)));
    } catch (const std::exception&) {
      // The next question meets the same door.
    }
  }
  void leave_locked() noexcept;

  const AttachedProcess& process_;
  std::mutex mutex_;  ///< so that the door is not closed under another thread's call
  DoorConnection door_;
  FileDescriptor producer_pidfd_;
  bool left_ = false;
  bool group_broke_ = false;
};

}  // namespace batchcast::inline v0_1::detail

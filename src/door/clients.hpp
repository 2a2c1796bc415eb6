// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/door.hpp>
#include "door/door_server.hpp"
#include "door/watch_set.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace batchcast::inline v0_1 {

/// One connection at the door: silent until it has said hello, a consumer once it is admitted.
struct DoorClient {
  std::uint64_t id = 0;
  DoorConnection connection;
  PeerIdentity peer;
  std::uint64_t hello_due_ns = 0;
  std::optional<ConsumerKey> key;
  bool closed = false;  ///< its end of the connection is; soon we know whether it died
};

/// All connections at the door, by their ids, and the two sets in which they are watched. Ids begin
/// at 1 and only grow, so that the first silent client is the oldest. Belongs to the door's thread.
class DoorClients {
 public:
  /// A connection's events carry its id and this number, a pidfd's events its id.
  static constexpr std::uint64_t tokens_besides = 2;

  /// Both must outlive it. `deaths` is for the pidfds of consumers.
  DoorClients(const WatchSet& connections, const WatchSet& deaths) noexcept
      : connections_(connections), deaths_(deaths) {}

  /// Adds a client that is silent, and not watched yet.
  DoorClient& add(DoorConnection connection, PeerIdentity peer, std::uint64_t hello_due_ns);
  // Both throw SystemError.
  void watch_connection(const DoorClient& client);
  void watch_death(const DoorClient& client);
  void forget_connection(const DoorClient& client) noexcept;
  /// Makes the client a consumer, also if it has waited with another key.
  void admitted(DoorClient& client, ConsumerKey key);
  /// The caller owns it from then on, and closes it.
  [[nodiscard]] DoorClient take(std::uint64_t id);
  void close(DoorClient client) noexcept;
  /// Does not wait: a client that has not read what came before misses it.
  static void say(DoorClient& client, const std::string& text) noexcept;

  [[nodiscard]] DoorClient* find(std::uint64_t id) noexcept;
  /// The client whose connection has an event with this token. Null for the door's events.
  [[nodiscard]] DoorClient* find_of_token(std::uint64_t token) noexcept {
    return token > tokens_besides ? find(token - tokens_besides) : nullptr;
  }
  [[nodiscard]] DoorClient* find_consumer(ConsumerKey key) noexcept;
  [[nodiscard]] DoorClient* oldest_silent() noexcept {
    return silent_.empty() ? nullptr : find(*silent_.begin());
  }
  [[nodiscard]] std::size_t silent_count() const noexcept { return silent_.size(); }
  void close_all() noexcept;

 private:
  const WatchSet& connections_;
  const WatchSet& deaths_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, DoorClient> all_;
  std::set<std::uint64_t> silent_;
  std::unordered_map<ConsumerKey, std::uint64_t> by_key_;
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/door.hpp>
#include "door/server.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

namespace batchcast::inline v0_1 {

/// One connection at the door: silent until it has said hello, a consumer once it is admitted.
struct DoorClient {
  std::uint64_t id = 0;
  DoorConnection connection;
  PeerIdentity peer;
  std::uint64_t hello_due_ns = 0;
  std::optional<ConsumerKey> key;
  bool closed = false;  ///< its end of the connection is; whether it died is about to be known
};

/// All connections, by the numbers that epoll events carry. Ids only grow, so that the first silent
/// one is the oldest.
class DoorClients {
 public:
  DoorClient& add(DoorConnection connection, PeerIdentity peer, std::uint64_t hello_due_ns) {
    const std::uint64_t id = next_id_++;
    silent_.insert(id);
    return all_
        .emplace(id, DoorClient{id, std::move(connection), std::move(peer), hello_due_ns, {}})
        .first->second;
  }
  void admitted(DoorClient& client, ConsumerKey key) {
    client.key = key;
    silent_.erase(client.id);
    by_key_[key] = client.id;
  }
  /// The caller owns it from then on.
  [[nodiscard]] DoorClient take(std::uint64_t id) {
    auto node = all_.extract(id);
    silent_.erase(id);
    if (node.mapped().key) by_key_.erase(*node.mapped().key);
    return std::move(node.mapped());
  }

  [[nodiscard]] DoorClient* find(std::uint64_t id) noexcept {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] DoorClient* find_consumer(ConsumerKey key) noexcept {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : find(found->second);
  }
  [[nodiscard]] DoorClient* oldest_silent() noexcept {
    return silent_.empty() ? nullptr : find(*silent_.begin());
  }
  [[nodiscard]] std::size_t silent_count() const noexcept { return silent_.size(); }
  [[nodiscard]] DoorClient* any() noexcept {
    return all_.empty() ? nullptr : &all_.begin()->second;
  }

 private:
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, DoorClient> all_;
  std::set<std::uint64_t> silent_;
  std::unordered_map<ConsumerKey, std::uint64_t> by_key_;
};

}  // namespace batchcast::inline v0_1

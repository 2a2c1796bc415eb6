// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "door/clients.hpp"

#include <exception>
#include <utility>

namespace batchcast::inline v0_1 {

DoorClient& DoorClients::add(DoorConnection connection, PeerIdentity peer,
                             std::uint64_t hello_due_ns) {
  const std::uint64_t id = next_id_++;
  silent_.insert(id);
  return all_.emplace(id, DoorClient{id, std::move(connection), std::move(peer), hello_due_ns, {}})
      .first->second;
}

void DoorClients::watch_connection(const DoorClient& client) {
  connections_.watch(client.connection.native_handle(), client.id + tokens_besides);
}

void DoorClients::watch_death(const DoorClient& client) {
  deaths_.watch(client.peer.pidfd.get(), client.id);
}

void DoorClients::forget_connection(const DoorClient& client) noexcept {
  connections_.forget(client.connection.native_handle());
}

void DoorClients::admitted(DoorClient& client, ConsumerKey key) {
  if (client.key) by_key_.erase(*client.key);
  client.key = key;
  silent_.erase(client.id);
  by_key_[key] = client.id;
}

DoorClient DoorClients::take(std::uint64_t id) {
  auto node = all_.extract(id);
  silent_.erase(id);
  if (node.mapped().key) by_key_.erase(*node.mapped().key);
  return std::move(node.mapped());
}

void DoorClients::close(DoorClient client) noexcept {
  try {
    // Unread bytes would reach the other side as a reset, ahead of what was said to it.
    constexpr int unread_max = 16;
    DoorMessage unread;
    for (int i = 0; i < unread_max; ++i) {
      const DoorRead read = client.connection.receive(unread, 0);
      if (read == DoorRead::timed_out || read == DoorRead::closed) break;
    }
  } catch (const std::exception&) {
  }
  forget_connection(client);
  if (client.peer.pidfd) deaths_.forget(client.peer.pidfd.get());
  client.connection.shutdown();
}

void DoorClients::say(DoorClient& client, const std::string& text) noexcept {
  try {
    static_cast<void>(client.connection.send(text));
  } catch (const std::exception&) {
  }
}

DoorClient* DoorClients::find(std::uint64_t id) noexcept {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : &found->second;
}

DoorClient* DoorClients::find_consumer(ConsumerKey key) noexcept {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : find(found->second);
}

void DoorClients::close_all() noexcept {
  while (!all_.empty()) close(take(all_.begin()->first));
}

}  // namespace batchcast::inline v0_1

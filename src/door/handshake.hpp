// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>
#include "door/clients.hpp"
#include "door/consumers.hpp"
#include "door/door_server.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// The answer to a client where the producer has no place for one more connection.
[[nodiscard]] Refusal too_many_connections();

/// The silent clients at the door. It takes a client's hello, and makes the client a consumer or
/// refuses it. Belongs to the door's thread.
class DoorHandshake {
 public:
  /// All members must outlive it.
  struct Parts {
    DoorClients& clients;
    DoorConsumers& consumers;
    DoorEvents& events;
    const DoorServer::Options& options;
  };
  explicit DoorHandshake(const Parts& parts) noexcept : parts_(parts) {}

  /// Its connection is readable.
  void hear(DoorClient& client);
  /// Handles what was read from the client, which may be gone afterwards.
  void take_hello(DoorClient& client, DoorRead read, DoorMessage& message);
  /// Tells the client why, and closes its connection.
  void refuse(std::uint64_t id, const Refusal& refusal);
  /// Refuses the clients that have been silent for too long.
  void refuse_late(std::uint64_t now);
  /// Refuses the oldest silent clients, where there are more than the options allow.
  void refuse_surplus();
  /// Refuses the oldest silent client. False where there is none.
  bool refuse_oldest();

 private:
  [[nodiscard]] std::optional<Refusal> identify(DoorClient& client, DoorMessage& message) const;
  void admit(DoorClient& client, const Hello& hello);
  void warn(const std::string& text) const noexcept;

  const Parts parts_;
};

}  // namespace batchcast::inline v0_1

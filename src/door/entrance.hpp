// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "door/clients.hpp"
#include "door/door_server.hpp"
#include "door/handshake.hpp"
#include "door/listener.hpp"
#include "door/watch_set.hpp"
#include "stream/stream_directory.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// The door counts in nanoseconds; its options are in milliseconds.
inline constexpr std::uint64_t ns_per_ms = 1'000'000;

/// The socket at the door, through which clients come. It keeps the socket there, and accepts
/// connections while the producer has file descriptors for them. Belongs to the door's thread.
class DoorEntrance {
 public:
  /// All members must outlive it.
  struct Parts {
    StreamDirectory& directory;
    const WatchSet& watched;
    DoorClients& clients;
    DoorHandshake& handshake;
    const DoorServer::Options& options;
    std::uint64_t token = 0;  ///< of the socket's events
  };
  /// Opens the door. Throws SystemError.
  explicit DoorEntrance(const Parts& parts);

  /// A connection waits: accepts some.
  void accept_some();
  /// Makes the socket and its directory again where they vanished. After a rest it accepts again,
  /// when it is time.
  void do_what_is_due(std::uint64_t now);
  [[nodiscard]] std::uint64_t next_due_ns() const noexcept;
  void close() noexcept;

 private:
  void open();
  void look_after();
  void let_in(DoorConnection connection);
  void rest();
  [[nodiscard]] bool may_enter(std::uint32_t uid) const noexcept;
  [[nodiscard]] Refusal refusal_of_user(std::uint32_t uid) const;
  void warn(const std::string& text) const noexcept;

  const Parts parts_;
  std::optional<DoorListener> listener_;
  bool listening_ = false;  ///< the listener is watched
  bool told_exhausted_ = false;
  bool told_closed_ = false;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t listen_again_ns_ = 0;
};

}  // namespace batchcast::inline v0_1

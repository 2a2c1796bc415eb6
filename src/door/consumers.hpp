// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include "door/clients.hpp"
#include "door/door_server.hpp"
#include "door/watch_set.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// The consumers at the door, from their admission on. It hears what they say, and sees them leave
/// or die. Belongs to the door's thread.
class DoorConsumers {
 public:
  /// All members must outlive it.
  struct Parts {
    DoorClients& clients;
    const WatchSet& connections;
    const WatchSet& deaths;
    DoorEvents& events;
    const LogCallback& log;
  };
  explicit DoorConsumers(const Parts& parts) noexcept : parts_(parts) {}

  /// Its connection is readable.
  void hear(DoorClient& client);
  /// Hears what consumers have said until now, and sees which have died. A hello that comes after
  /// another consumer's bye must not meet that one at the door. It is bounded, so that a consumer
  /// that talks for ever keeps no other out.
  void hear_waiting();
  /// Loses the consumers whose processes have died.
  void see_deaths();
  /// Tells that consumer why, and closes its connection. An unknown key is ignored.
  void evict(ConsumerKey key, const std::string& reason);
  /// Loses a consumer that has gone, or has to go. `left` follows at once.
  void lose(std::uint64_t id, Leaving how);
  /// The client closed its end. It is lost after a wait that shows whether its process died.
  void lose_closed(DoorClient& client);
  /// Loses the closed ones that have been waited for long enough.
  void lose_due(std::uint64_t now);
  /// Tells ranks the news about others.
  void tell_news();
  /// When `lose_due` has something to do next, if ever.
  [[nodiscard]] std::optional<std::uint64_t> next_due_ns() const noexcept;

 private:
  struct Closed {
    std::uint64_t id;
    std::uint64_t due_ns;
  };

  [[nodiscard]] Leaving last_words(DoorClient& client) noexcept;
  void rejoin(DoorClient& client, const Rejoin& request);
  void answer(DoorClient& client, const std::string& text);
  void misbehaved(DoorClient& client, const std::string& what);
  void dismiss(ConsumerKey key, const Farewell& farewell);
  void tell(const RankNews& news);
  void welcome(DoorClient& client, const Admission& admission);

  const Parts parts_;
  std::deque<Closed> closed_;  ///< those that have not died by then will not have
  bool tells_news_ = false;    ///< meanwhile, more may come
};

}  // namespace batchcast::inline v0_1

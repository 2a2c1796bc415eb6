// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "door/server.hpp"

#include "core/wake_descriptor.hpp"
#include "door/clients.hpp"
#include "door/listener.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// Everything but the queue of evictions belongs to the door's thread.
class DoorServer::Impl {
 public:
  Impl(StreamDirectory& directory, DoorEvents& events, Options options);
  ~Impl() { stop(); }

  void evict(ConsumerKey key, std::string reason);
  void stop() noexcept;
  [[nodiscard]] std::int32_t owner_pid() const noexcept { return owner_pid_; }

 private:
  void run();
  void see_deaths();
  void handle(std::uint64_t token);
  [[nodiscard]] int wait_ms(std::uint64_t now) const noexcept;
  void do_what_is_due(std::uint64_t now);

  // The socket at the door.
  [[nodiscard]] unsigned door_mode() const noexcept;
  void open_door();
  void close_door() noexcept;
  void look_after_door();
  void accept_all();
  void let_in(DoorConnection connection);
  void rest();
  [[nodiscard]] bool may_enter(std::uint32_t uid) const noexcept;

  // Those who have not said hello.
  void hear_hello(DoorClient& client);
  void take_hello(DoorClient& client, DoorRead read, DoorMessage& message);
  [[nodiscard]] std::optional<Refusal> identify(DoorClient& client, DoorMessage& message);
  void admit(DoorClient& client, const Hello& hello);
  void refuse(std::uint64_t id, const Refusal& refusal, std::string_view hello = {});

  // Consumers.
  void hear_consumer(DoorClient& client);
  void rejoin(DoorClient& client, const Rejoin& request);
  void lose(std::uint64_t id, Leaving how);
  void lose_closed(DoorClient& client);
  void lose_those_due(std::uint64_t now);
  void misbehaved(DoorClient& client, const std::string& what);
  void evict_queued();

  static void watch(const FileDescriptor& epoll, int fd, std::uint64_t token);
  static void forget(const FileDescriptor& epoll, int fd) noexcept;
  void close(DoorClient client) noexcept;
  void say(DoorClient& client, const std::string& text) noexcept;
  void warn(const std::string& text) const noexcept;

  StreamDirectory& directory_;
  DoorEvents& events_;
  const Options options_;
  const std::int32_t owner_pid_;
  FileDescriptor epoll_;
  FileDescriptor deaths_;  ///< an epoll set within that one: the pidfds of those who are admitted
  WakeDescriptor wake_;
  std::optional<DoorListener> listener_;
  bool listening_ = false;  ///< the listener is in the epoll set
  bool told_exhausted_ = false;
  bool told_closed_ = false;
  DoorClients clients_;
  std::uint64_t next_tick_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t listen_again_ns_ = 0;
  struct Closed {
    std::uint64_t id;
    std::uint64_t due_ns;
  };
  std::deque<Closed> closed_;  ///< consumers that will not have died if they have not by then

  std::mutex mutex_;
  std::vector<std::pair<ConsumerKey, std::string>> evictions_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Commands, their answers and events, as JSON over ZeroMQ. Nothing else depends on them: each
// message may be lost.
namespace batchcast::inline v0_1 {

/// Answers commands and publishes events on a private thread.
class ControlServer {
 public:
  struct Options {
    std::string control_path;
    std::string events_path;
    /// Answers one command, a JSON object of at most limits::message_bytes_max bytes, with another
    /// one. Called on the server's thread. An exception becomes the answer {"error": what()}.
    std::function<std::string(std::string_view command)> handle;
    /// Gives an event every `statistics_interval_ms`, on the server's thread. Optional.
    std::function<std::string()> statistics = {};
    int statistics_interval_ms = 1'000;
    /// Whether what lies at the sockets' paths is this server's, so that it may replace it. A
    /// thread of the server asks before it makes a socket again. Empty: always.
    std::function<bool()> owns_paths = {};
    LogCallback log = {};
  };

  /// The sockets are there when this returns. Those that vanish later are made again within a
  /// second, once their directory exists. Throws InvalidArgument (path too long), SystemError.
  explicit ControlServer(Options options);
  /// Stops. In a forked child: leaves everything alone.
  ~ControlServer();

  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// From any thread; never waits. Nothing is kept for clients that do not listen.
  void publish_event(std::string json);

  /// Ends the thread; neither callback is called afterwards. Not from a callback.
  void stop() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// {"error": text}, the answer of servers to what they cannot do.
[[nodiscard]] std::string error_answer(std::string_view text);

/// Sends one command and waits for the answer. Nothing at the time-out, also for a socket without a
/// server. Throws InvalidArgument (path too long), SystemError.
[[nodiscard]] std::optional<std::string> ask_control(const std::string& control_path,
                                                     std::string_view command, int timeout_ms);

/// The threads of several clients. Those that are made with it keep it; one thread at a time uses
/// them all.
class ControlContext;
[[nodiscard]] std::shared_ptr<ControlContext> make_control_context();

/// The same for many commands, over one connection. One thread at a time.
class ControlClient {
 public:
  /// Without a context it has threads for itself.
  explicit ControlClient(std::string control_path, std::shared_ptr<ControlContext> context = {});
  ~ControlClient();

  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// Does what `ask_control` does. After a time-out the next call connects again, so that no late
  /// answer is taken for its own.
  [[nodiscard]] std::optional<std::string> ask(std::string_view command, int timeout_ms);
  /// The two halves of `ask`, so that several servers work at the same time: after a `send` comes a
  /// `receive`. `send` is false where no server listens.
  [[nodiscard]] bool send(std::string_view command, int timeout_ms);
  [[nodiscard]] std::optional<std::string> receive(int timeout_ms);

  /// Waits until one of them can `receive` at once. The indices of those that can; none at the
  /// time-out.
  [[nodiscard]] static std::vector<std::size_t> wait_for_any(
      const std::vector<ControlClient*>& clients, int timeout_ms);

 private:
  class Connection;
  const std::string path_;
  const std::shared_ptr<ControlContext> context_;
  std::unique_ptr<Connection> connection_;  ///< null: none
};

/// Listens to a server's events, from the next one on. One thread at a time.
class EventListener {
 public:
  explicit EventListener(const std::string& events_path);
  ~EventListener();

  EventListener(const EventListener&) = delete;
  EventListener& operator=(const EventListener&) = delete;

  /// Nothing at the time-out.
  [[nodiscard]] std::optional<std::string> next(int timeout_ms);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "core/wake_descriptor.hpp"

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace batchcast::inline v0_1 {

/// The ZeroMQ sockets of a ControlServer and the one thread that touches them. That thread has a
/// private table of file descriptors. So no code of the program runs on it but the callbacks below:
/// two of them only queue, and one looks at files.
class Messenger {
 public:
  /// Where an answer goes: the frames before the command.
  using Envelope = std::vector<std::string>;
  struct Callbacks {
    /// False: too many commands wait already.
    std::function<bool(Envelope envelope, std::string command)> on_command;
    std::function<void(std::string text)> on_trouble;
    std::function<bool()> owns_paths;  ///< as of the ControlServer; may be empty
  };

  /// The sockets are bound when this returns. Throws what binding throws.
  Messenger(std::string control_path, std::string events_path, Callbacks callbacks);
  ~Messenger() { stop(); }

  // From any thread; they never wait. What cannot be sent at once is lost.
  void answer(Envelope envelope, std::string text);
  void publish(std::string event);

  void stop() noexcept;

 private:
  struct Outgoing {
    Envelope envelope;  ///< empty: an event
    std::string text;
  };
  struct Sockets;

  void run();
  void send_all(Sockets& sockets);
  void receive_some(Sockets& sockets);
  void queue(Outgoing outgoing);

  const std::string control_path_;
  const std::string events_path_;
  const Callbacks callbacks_;
  WakeDescriptor wake_;
  std::latch tried_{1};  ///< counted down once bound_ and failure_ say how binding went
  bool bound_ = false;
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::deque<Outgoing> outgoing_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1

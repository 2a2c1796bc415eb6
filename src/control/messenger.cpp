// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/messenger.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>
#include "control/transport.hpp"

#include <batchcast/core/named_thread.hpp>
#include "control/own_descriptors.hpp"
#include "control/zmq_threads.hpp"
#include "join/bound_socket.hpp"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <exception>
#include <utility>
#include <zmq.hpp>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::chrono::milliseconds look_every{500};
// A program may lower its limit of open files at any time.
constexpr std::chrono::milliseconds look_at_limit_every{100};
constexpr unsigned descriptors_for_clients = 8;
constexpr std::size_t outgoing_max = 1'024;
constexpr int commands_at_once = 32;
// A message above its limit gets an error as the answer. ZeroMQ drops one above this limit together
// with its connection.
constexpr auto bytes_received_max = static_cast<std::int64_t>(4 * limits::message_bytes_max);

/// A bound socket. ZeroMQ alone would neither choose its file's mode nor bind it again.
class Endpoint {
 public:
  Endpoint(zmq::context_t& context, zmq::socket_type type, std::string path)
      : path_(std::move(path)), address_("ipc://" + path_), socket_(context, type) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::sndhwm, 64);
    socket_.set(zmq::sockopt::rcvhwm, 64);
    socket_.set(zmq::sockopt::maxmsgsize, bytes_received_max);
    if (type == zmq::socket_type::router) socket_.set(zmq::sockopt::router_mandatory, true);
  }

  void bind() {
    BoundSocket bound = listen_at(path_, SOCK_STREAM, 0600);
    socket_.set(zmq::sockopt::use_fd, bound.socket.get());
    socket_.bind(address_);
    static_cast<void>(bound.socket.release());  // ZeroMQ closes it
    identity_ = bound.identity;
    withdrawn_ = false;
  }
  [[nodiscard]] bool intact() const noexcept {
    return identity_ != FileIdentity{} && identity_at(path_) == identity_;
  }
  void bind_again() {
    unbind();
    bind();
  }
  /// Takes no connections any more, until it is bound again.
  void withdraw() {
    unbind();
    withdrawn_ = true;
  }
  [[nodiscard]] bool is_withdrawn() const noexcept { return withdrawn_; }
  [[nodiscard]] zmq::socket_t& socket() noexcept { return socket_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void unbind() {
    const bool bound = identity_ != FileIdentity{};
    identity_ = {};
    if (bound) socket_.unbind(address_);
  }

  std::string path_;
  std::string address_;
  zmq::socket_t socket_;
  FileIdentity identity_;
  bool withdrawn_ = false;
};

}  // namespace

struct Messenger::Sockets {
  Sockets(const std::string& control_path, const std::string& events_path)
      : context(1),
        control(context, zmq::socket_type::router, control_path),
        events(context, zmq::socket_type::pub, events_path) {
    control.bind();
    events.bind();
  }

  /// libzmq 4.3.4 ends the process where accept() finds no descriptor free.
  void look_at_limit(const Callbacks& callbacks) {
    const bool may_listen = has_free_descriptors(descriptors_for_clients);
    if (may_listen == listens) return;
    if (!may_listen) {
      for (Endpoint* endpoint : {&control, &events}) endpoint->withdraw();
      callbacks.on_trouble(
          "this process may open too few files: there are no commands and statistics (`batchcast "
          "ls`, `batchcast stop`) until it may open more (`ulimit -n`)");
    }
    listens = may_listen;
    look_after(callbacks);
  }

  void look_after(const Callbacks& callbacks) {
    if (!listens) return;
    for (Endpoint* endpoint : {&control, &events}) {
      if (endpoint->intact()) continue;
      // After the directory was removed, another producer may serve from the same path.
      if (callbacks.owns_paths && !callbacks.owns_paths()) return;
      const bool is_back = endpoint->is_withdrawn();
      try {
        endpoint->bind_again();
        callbacks.on_trouble(text("the socket {}{}", endpoint->path(),
                                  is_back
                                      ? " is there again, since more files may be opened"
                                      : " was removed from outside; the producer made it again"));
      } catch (const std::exception&) {
        // The directory is not there: the door server reports that, and makes it again.
      }
    }
  }

  zmq::context_t context;
  Endpoint control;
  Endpoint events;
  bool listens = true;
};

Messenger::Messenger(std::string control_path, std::string events_path, Callbacks callbacks)
    : control_path_(std::move(control_path)),
      events_path_(std::move(events_path)),
      callbacks_(std::move(callbacks)) {
  thread_ = start_thread("bc-messages", [this] { run(); });
  tried_.wait();
  if (bound_) return;
  // After the join no other thread holds the exception: it is read and destroyed here.
  thread_.join();
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Messenger::answer(Envelope envelope, std::string text) {
  queue({std::move(envelope), std::move(text)});
}

void Messenger::publish(std::string event) { queue({{}, std::move(event)}); }

void Messenger::queue(Outgoing outgoing) {
  {
    const std::lock_guard lock(mutex_);
    if (outgoing_.size() >= outgoing_max) outgoing_.pop_front();
    outgoing_.push_back(std::move(outgoing));
  }
  wake_.wake();
}

void Messenger::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  wake_.wake();
  thread_.join();
}

void Messenger::run() {
  std::unique_ptr<Sockets> sockets;
  try {
    // Without its table, all works as long as the program has descriptors left.
    static_cast<void>(take_own_descriptors(wake_.get()));
    check_zmq_can_start();
    sockets = std::make_unique<Sockets>(control_path_, events_path_);
  } catch (...) {
    failure_ = std::current_exception();
  }
  bound_ = sockets != nullptr;
  tried_.count_down();
  if (!sockets) return;
  std::uint64_t look_at_ns = now_ns();
  while (!stopping_.load()) {
    try {
      std::array<zmq::pollitem_t, 2> items = {
          zmq::pollitem_t{sockets->control.socket().handle(), 0, ZMQ_POLLIN, 0},
          zmq::pollitem_t{nullptr, wake_.get(), ZMQ_POLLIN, 0}};
      zmq::poll(items.data(), items.size(), look_at_limit_every);
      sockets->look_at_limit(callbacks_);
      if (items[1].revents != 0) wake_.clear();
      send_all(*sockets);
      if (items[0].revents != 0) receive_some(*sockets);
      if (now_ns() >= look_at_ns) {
        look_at_ns = now_ns() + std::chrono::nanoseconds(look_every).count();
        sockets->look_after(callbacks_);
      }
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) callbacks_.on_trouble(text("ZeroMQ: {}", error.what()));
    }
  }
  send_all(*sockets);
}

void Messenger::send_all(Sockets& sockets) {
  std::deque<Outgoing> outgoing;
  {
    const std::lock_guard lock(mutex_);
    outgoing.swap(outgoing_);
  }
  for (const Outgoing& message : outgoing) {
    zmq::socket_t& socket =
        message.envelope.empty() ? sockets.events.socket() : sockets.control.socket();
    try {
      bool sent = true;
      for (const std::string& frame : message.envelope) {
        sent = sent && socket.send(zmq::buffer(frame),
                                   zmq::send_flags::sndmore | zmq::send_flags::dontwait);
      }
      if (sent)
        static_cast<void>(socket.send(zmq::buffer(message.text), zmq::send_flags::dontwait));
    } catch (const zmq::error_t&) {
      // The client that asked is gone (EHOSTUNREACH).
    }
  }
}

void Messenger::receive_some(Sockets& sockets) {
  constexpr std::size_t frames_kept = 4;
  zmq::socket_t& socket = sockets.control.socket();
  for (int i = 0; i < commands_at_once; ++i) {
    std::vector<std::string> frames;
    std::size_t count = 0;
    bool more = true;
    while (more) {
      zmq::message_t frame;
      if (!socket.recv(frame, zmq::recv_flags::dontwait)) return;
      more = frame.more();
      if (++count <= frames_kept) frames.push_back(frame.to_string());
    }
    // identity, body (DEALER) or identity, empty, body (REQ)
    const bool request = count == 3 && frames[1].empty();
    if (count != 2 && !request) {
      answer({frames.front()}, error_answer("a command is one frame"));
      continue;
    }
    std::string command = std::move(frames.back());
    frames.pop_back();
    if (!callbacks_.on_command(frames, std::move(command))) {
      answer(std::move(frames), error_answer("too many commands are waiting; try again"));
    }
  }
}

}  // namespace batchcast::inline v0_1

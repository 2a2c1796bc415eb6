// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/transport.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/unix_socket.hpp>

#include "control/zmq_threads.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include <zmq.h>
#include <zmq.hpp>

namespace batchcast::inline v0_1 {
namespace {

// An answer is shorter by far; another user's process may send what it likes.
constexpr std::int64_t answer_bytes_max = 1 << 20;

/// Whether a producer listens at the path. ZeroMQ alone would try to connect for ever.
bool is_listened_at(const std::string& path) {
  const sockaddr_un address = socket_address(path);
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) throw SystemError("batchcast: cannot make a socket", errno);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return true;
  }
  if (errno == EACCES) {
    throw SystemError(text("batchcast: {} belongs to another user's producer", path), errno);
  }
  return errno == EAGAIN;
}

zmq::socket_t connected(zmq::context_t& context, zmq::socket_type type, const std::string& path) {
  check_socket_path(path);
  zmq::socket_t socket(context, type);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvhwm, 64);
  socket.set(zmq::sockopt::maxmsgsize, std::int64_t{answer_bytes_max});
  if (type == zmq::socket_type::sub) socket.set(zmq::sockopt::subscribe, "");
  socket.connect("ipc://" + path);
  return socket;
}

zmq::socket_t subscribed(zmq::context_t& context, const std::string& path) {
  check_zmq_can_start();
  return connected(context, zmq::socket_type::sub, path);
}

std::optional<std::string> receive(zmq::socket_t& socket, int timeout_ms) {
  socket.set(zmq::sockopt::rcvtimeo, timeout_ms);
  zmq::message_t message;
  if (!socket.recv(message)) return std::nullopt;
  return message.to_string();
}

}  // namespace

std::optional<std::string> ask_control(const std::string& control_path, std::string_view command,
                                       int timeout_ms) {
  if (!is_listened_at(control_path)) return std::nullopt;
  check_zmq_can_start();
  zmq::context_t context(1);
  zmq::socket_t socket = connected(context, zmq::socket_type::dealer, control_path);
  socket.set(zmq::sockopt::sndtimeo, timeout_ms);
  if (!socket.send(zmq::buffer(command))) return std::nullopt;
  return receive(socket, timeout_ms);
}

class ControlContext {
 public:
  /// Its threads start with the first socket.
  [[nodiscard]] zmq::context_t& zmq() noexcept { return zmq_; }

 private:
  zmq::context_t zmq_{1};
};

std::shared_ptr<ControlContext> make_control_context() {
  return std::make_shared<ControlContext>();
}

class ControlClient::Connection {
 public:
  Connection(std::shared_ptr<ControlContext> context, const std::string& path)
      : context_(std::move(context)),
        socket_(connected(context_->zmq(), zmq::socket_type::dealer, path)) {}
  [[nodiscard]] zmq::socket_t& socket() noexcept { return socket_; }

 private:
  const std::shared_ptr<ControlContext> context_;
  zmq::socket_t socket_;
};

ControlClient::ControlClient(std::string control_path, std::shared_ptr<ControlContext> context)
    : path_(std::move(control_path)), context_(std::move(context)) {}
ControlClient::~ControlClient() = default;

std::optional<std::string> ControlClient::ask(std::string_view command, int timeout_ms) {
  if (!send(command, timeout_ms)) return std::nullopt;
  return receive(timeout_ms);
}

bool ControlClient::send(std::string_view command, int timeout_ms) {
  if (!connection_) {
    if (!is_listened_at(path_)) return false;
    check_zmq_can_start();
    connection_ = std::make_unique<Connection>(context_ ? context_ : make_control_context(), path_);
  }
  zmq::socket_t& socket = connection_->socket();
  socket.set(zmq::sockopt::sndtimeo, timeout_ms);
  const bool is_sent = socket.send(zmq::buffer(command)).has_value();
  if (!is_sent) connection_.reset();
  return is_sent;
}

std::optional<std::string> ControlClient::receive(int timeout_ms) {
  if (!connection_) return std::nullopt;
  auto answer = batchcast::receive(connection_->socket(), timeout_ms);
  if (!answer) connection_.reset();
  return answer;
}

std::vector<std::size_t> ControlClient::wait_for_any(const std::vector<ControlClient*>& clients,
                                                     int timeout_ms) {
  std::vector<std::size_t> asked;
  std::vector<zmq::pollitem_t> items;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (!clients[i]->connection_) continue;
    asked.push_back(i);
    items.push_back({clients[i]->connection_->socket().handle(), 0, ZMQ_POLLIN, 0});
  }
  std::vector<std::size_t> ready;
  if (items.empty()) return ready;
  while (::zmq_poll(items.data(), static_cast<int>(items.size()), timeout_ms) < 0) {
    if (errno != EINTR) throw SystemError("batchcast: cannot wait for answers", errno);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if ((items[i].revents & ZMQ_POLLIN) != 0) ready.push_back(asked[i]);
  }
  return ready;
}

class EventListener::Impl {
 public:
  explicit Impl(const std::string& path) : context_(1), socket_(subscribed(context_, path)) {}
  [[nodiscard]] zmq::socket_t& socket() noexcept { return socket_; }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
};

EventListener::EventListener(const std::string& events_path)
    : impl_(std::make_unique<Impl>(events_path)) {}
EventListener::~EventListener() = default;

std::optional<std::string> EventListener::next(int timeout_ms) {
  return receive(impl_->socket(), timeout_ms);
}

}  // namespace batchcast::inline v0_1

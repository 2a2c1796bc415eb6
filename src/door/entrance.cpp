// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "door/entrance.hpp"
#include "join/producer_messages.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::uint64_t look_every_ns = 500 * ns_per_ms;
constexpr std::uint64_t rest_when_exhausted_ns = 100 * ns_per_ms;
// Few at a time, so that a storm of connections does not keep a death from being seen.
constexpr int accepts_at_once = 16;

}  // namespace

DoorEntrance::DoorEntrance(const Parts& parts) : parts_(parts) {
  open();
  next_look_ns_ = now_ns() + look_every_ns;
}

void DoorEntrance::open() {
  const unsigned mode = parts_.directory.allow_uids().empty() ? 0600U : 0666U;
  listener_.emplace(parts_.directory.paths().door, mode);
  parts_.watched.watch(listener_->native_handle(), parts_.token);
  listening_ = true;
}

void DoorEntrance::close() noexcept {
  if (listener_ && listening_) parts_.watched.forget(listener_->native_handle());
  listening_ = false;
  listener_.reset();
}

std::uint64_t DoorEntrance::next_due_ns() const noexcept {
  return listening_ ? next_look_ns_ : std::min(next_look_ns_, listen_again_ns_);
}

void DoorEntrance::do_what_is_due(std::uint64_t now) {
  if (now >= next_look_ns_) {
    next_look_ns_ = now + look_every_ns;
    look_after();
  }
  if (!listening_ && listener_ && now >= listen_again_ns_) {
    parts_.watched.watch(listener_->native_handle(), parts_.token);
    listening_ = true;
  }
}

void DoorEntrance::look_after() {
  StreamDirectory& directory = parts_.directory;
  if (!directory.intact() && !directory.repair()) return;
  if (listener_ && listener_->intact()) return;
  const std::string socket = text("the socket {}", directory.paths().door);
  try {
    if (listener_) accept_some();  // clients that came before the socket vanished
    close();
    open();
    told_closed_ = false;
    warn(text("{} was removed from outside; the producer made it again", socket));
  } catch (const std::exception& error) {
    if (!std::exchange(told_closed_, true)) {
      warn(text("{} is gone, and no consumer can join until it is back: {}", socket, error.what()));
    }
  }
}

void DoorEntrance::accept_some() {
  for (int i = 0; i < accepts_at_once; ++i) {
    DoorConnection connection;
    switch (listener_->accept(connection)) {
      case DoorListener::Outcome::none:
        return;
      case DoorListener::Outcome::accepted:
        let_in(std::move(connection));
        break;
      case DoorListener::Outcome::exhausted:
        if (!parts_.handshake.refuse_oldest()) return rest();
        break;
    }
  }
}

// A client that waits outside keeps the listener readable: watching it would spin.
void DoorEntrance::rest() {
  if (listening_) parts_.watched.forget(listener_->native_handle());
  listening_ = false;
  listen_again_ns_ = now_ns() + rest_when_exhausted_ns;
  if (std::exchange(told_exhausted_, true)) return;
  warn(
      text("no file descriptor is free for another consumer of the stream {}; it waits at the "
           "door. Raise the limit (`ulimit -n`).",
           parts_.directory.stream()));
}

void DoorEntrance::let_in(DoorConnection connection) {
  // Most clients have said hello before they are accepted, and then never count as silent.
  DoorMessage message;
  DoorRead read = DoorRead::closed;
  try {
    read = connection.receive(message, 1);
  } catch (const SystemError& error) {
    return warn(text("a connection could not be read: {}", error.what()));
  }
  if (read == DoorRead::closed) return;
  std::optional<PeerIdentity> peer;
  try {
    peer = peer_identity(connection, parts_.options.pidfd_source);
  } catch (const SystemError&) {
    static_cast<void>(connection.send(encode(too_many_connections())));
    return rest();
  }
  told_exhausted_ = false;
  const auto timeout_ns = static_cast<std::uint64_t>(parts_.options.hello_timeout_ms) * ns_per_ms;
  DoorClient& client =
      parts_.clients.add(std::move(connection), std::move(*peer), now_ns() + timeout_ns);
  if (!may_enter(client.peer.uid)) {
    return parts_.handshake.refuse(client.id, refusal_of_user(client.peer.uid));
  }
  try {
    parts_.clients.watch_connection(client);
  } catch (const SystemError&) {
    return parts_.handshake.refuse(client.id, too_many_connections());
  }
  parts_.handshake.take_hello(client, read, message);
  parts_.handshake.refuse_surplus();
}

bool DoorEntrance::may_enter(std::uint32_t uid) const noexcept {
  const auto& allowed = parts_.directory.allow_uids();
  return uid == ::geteuid() || std::find(allowed.begin(), allowed.end(), uid) != allowed.end();
}

Refusal DoorEntrance::refusal_of_user(std::uint32_t uid) const {
  return {RefusalKind::uid, text("batchcast: the stream {} is served by user {} and does not admit "
                                 "user {}. Serve it with `--allow-uid {}`.",
                                 parts_.directory.stream(), ::geteuid(), uid, uid)};
}

void DoorEntrance::warn(const std::string& text) const noexcept {
  detail::report(parts_.options.log, LogLevel::warning, text);
}

}  // namespace batchcast::inline v0_1

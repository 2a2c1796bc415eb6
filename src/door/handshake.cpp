// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "door/handshake.hpp"
#include "join/producer_messages.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>

#include <exception>
#include <utility>
#include <variant>

namespace batchcast::inline v0_1 {

Refusal too_many_connections() {
  return {RefusalKind::busy, "batchcast: too many connections at the producer's door; try again"};
}

void DoorHandshake::hear(DoorClient& client) {
  DoorMessage message;
  DoorRead read = DoorRead::closed;
  try {
    read = client.connection.receive(message, 1);
  } catch (const SystemError& error) {
    warn(text("a hello could not be received: {}", error.what()));
  }
  take_hello(client, read, message);
}

void DoorHandshake::take_hello(DoorClient& client, DoorRead read, DoorMessage& message) {
  DoorClients& clients = parts_.clients;
  const std::uint64_t id = client.id;
  try {
    switch (read) {
      case DoorRead::timed_out:
        return;
      case DoorRead::closed:
        return clients.close(clients.take(id));
      case DoorRead::oversized:
        return refuse(id, {RefusalKind::bad_hello,
                           text("batchcast: the hello cannot be read: it takes more than {} bytes",
                                limits::consumer_record_bytes_max)});
      case DoorRead::message:
        break;
    }
    auto hello = decode_hello(message.text, parts_.options.layout_version);
    if (const auto* refusal = std::get_if<Refusal>(&hello)) {
      return refuse(id, *refusal);
    }
    parts_.consumers.hear_waiting();
    // A client that has gone again takes no place in the ring.
    if (client.connection.is_left()) return clients.close(clients.take(id));
    if (const auto refusal = identify(client, message)) return refuse(id, *refusal);
    admit(client, std::get<Hello>(hello));
  } catch (const std::exception& error) {
    warn(text("a consumer could not be admitted: {}", error.what()));
    if (DoorClient* still = clients.find(id)) {
      if (still->key) return parts_.consumers.lose(id, Leaving::closed);
      refuse(id, {RefusalKind::full,
                  text("batchcast: the producer cannot admit another consumer: {}", error.what())});
    }
  }
}

std::optional<Refusal> DoorHandshake::identify(DoorClient& client, DoorMessage& message) const {
  if (client.peer.pidfd) return std::nullopt;
  if (message.descriptors.empty() || message.descriptors_lost) {
    if (message.descriptors_lost) {
      return Refusal{RefusalKind::busy,
                     "batchcast: the hello's file descriptors did not arrive: more than one, or "
                     "none free in the producer (`ulimit -n`)"};
    }
    return Refusal{RefusalKind::bad_hello,
                   "batchcast: the hello carries no pidfd, which the producer's kernel needs"};
  }
  const auto wrong = adopt_pidfd(client.peer, std::move(message.descriptors.front()));
  if (!wrong) return std::nullopt;
  return Refusal{RefusalKind::bad_hello, text("batchcast: {}", *wrong)};
}

void DoorHandshake::admit(DoorClient& client, const Hello& hello) {
  // Watching comes first: once the client is admitted, no failure may skip `left`.
  parts_.clients.watch_death(client);
  AdmissionReply reply = parts_.events.admit(hello, client.peer);
  if (const auto* refusal = std::get_if<Refusal>(&reply)) {
    refuse(client.id, *refusal);
    return parts_.consumers.tell_news();  // ranks that wait for this one
  }
  if (const auto* waiting = std::get_if<Waiting>(&reply)) {
    parts_.clients.admitted(client, waiting->key);
    return parts_.consumers.tell_news();
  }
  const auto& admission = std::get<Admission>(reply);
  parts_.clients.admitted(client, admission.key);
  if (client.connection.send(encode(admission.welcome), admission.descriptors) != DoorSend::sent) {
    parts_.consumers.lose_closed(client);
  }
}

void DoorHandshake::refuse(std::uint64_t id, const Refusal& refusal) {
  DoorClient client = parts_.clients.take(id);
  DoorClients::say(client, encode(refusal));
  parts_.clients.close(std::move(client));
}

void DoorHandshake::refuse_late(std::uint64_t now) {
  while (DoorClient* oldest = parts_.clients.oldest_silent()) {
    if (oldest->hello_due_ns > now) break;
    refuse(oldest->id,
           {RefusalKind::bad_hello, text("batchcast: no hello came within {} ms of connecting",
                                         parts_.options.hello_timeout_ms)});
  }
}

void DoorHandshake::refuse_surplus() {
  while (parts_.clients.silent_count() > parts_.options.silent_connections_max && refuse_oldest()) {
  }
}

bool DoorHandshake::refuse_oldest() {
  DoorClient* const oldest = parts_.clients.oldest_silent();
  if (oldest == nullptr) return false;
  refuse(oldest->id, too_many_connections());
  return true;
}

void DoorHandshake::warn(const std::string& text) const noexcept {
  detail::report(parts_.options.log, LogLevel::warning, text);
}

}  // namespace batchcast::inline v0_1

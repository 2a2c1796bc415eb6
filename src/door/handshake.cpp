// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What the door server says and hears.

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include "core/report.hpp"
#include "door/server_impl.hpp"

namespace batchcast::inline v0_1 {
namespace {

// A killed process closes its sockets a moment before its pidfd says so.
constexpr std::uint64_t death_follows_ns = 2'000'000;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

}  // namespace

void DoorServer::Impl::hear_hello(DoorClient& client) {
  DoorMessage message;
  DoorRead read = DoorRead::closed;
  try {
    read = client.connection.receive(message, 1);
  } catch (const SystemError& error) {
    warn(std::string("a hello could not be received: ") + error.what());
  }
  take_hello(client, read, message);
}

void DoorServer::Impl::take_hello(DoorClient& client, DoorRead read, DoorMessage& message) {
  const std::uint64_t id = client.id;
  try {
    switch (read) {
      case DoorRead::timed_out:
        return;
      case DoorRead::closed:
        return close(clients_.take(id));
      case DoorRead::oversized:
        return refuse(id, {RefusalKind::bad_hello,
                           "batchcast: the hello cannot be read: it takes more than " +
                               std::to_string(limits::consumer_record_bytes_max) + " bytes"});
      case DoorRead::message:
        break;
    }
    auto hello = decode_hello(message.text, options_.layout_version);
    if (const auto* refusal = std::get_if<Refusal>(&hello)) {
      return refuse(id, *refusal, message.text);
    }
    // A place is made for nobody who has gone again.
    if (client.connection.is_left()) return close(clients_.take(id));
    if (const auto refusal = identify(client, message)) return refuse(id, *refusal);
    admit(client, std::get<Hello>(hello));
  } catch (const std::exception& error) {
    warn(std::string("a consumer could not be admitted: ") + error.what());
    if (DoorClient* still = clients_.find(id)) {
      if (still->key) return lose(id, Leaving::closed);
      refuse(id, {RefusalKind::full,
                  std::string("batchcast: the producer cannot admit another consumer: ") +
                      error.what()});
    }
  }
}

std::optional<Refusal> DoorServer::Impl::identify(DoorClient& client, DoorMessage& message) {
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
  return Refusal{RefusalKind::bad_hello, "batchcast: " + *wrong};
}

void DoorServer::Impl::admit(DoorClient& client, const Hello& hello) {
  // Watched first: once admitted, nothing may fail any more without `left` being called.
  watch(deaths_, client.peer.pidfd.get(), client.id);
  AdmissionReply reply = events_.admit(hello, client.peer);
  if (const auto* refusal = std::get_if<Refusal>(&reply)) return refuse(client.id, *refusal);
  const auto& admission = std::get<Admission>(reply);
  clients_.admitted(client, admission.key);
  if (client.connection.send(encode(admission.welcome), admission.descriptors) != DoorSend::sent) {
    lose_closed(client);
  }
}

void DoorServer::Impl::refuse(std::uint64_t id, const Refusal& refusal, std::string_view hello) {
  DoorClient client = clients_.take(id);
  say(client, encode_answer(hello, refusal));
  close(std::move(client));
}

void DoorServer::Impl::hear_consumer(DoorClient& client) {
  const std::uint64_t id = client.id;
  const ConsumerKey key = *client.key;
  try {
    DoorMessage message;
    switch (client.connection.receive(message, 0)) {
      case DoorRead::timed_out:
        return;
      case DoorRead::closed:
        return lose_closed(client);
      case DoorRead::oversized:
        return misbehaved(client, "a message above " +
                                      std::to_string(limits::consumer_record_bytes_max) + " bytes");
      case DoorRead::message:
        break;
    }
    if (message.descriptors_lost) {
      return misbehaved(client, "file descriptors that nobody asked for");
    }
    std::visit(Overloaded{[&](const Bye&) { lose(id, Leaving::bye); },
                          [&](const Pause&) { events_.paused(key); },
                          [&](const Rejoin& request) { rejoin(client, request); },
                          [&](const BadMessage& bad) { misbehaved(client, bad.text); }},
               decode_from_consumer(message.text));
  } catch (const std::exception& error) {
    warn(std::string("the connection to a consumer failed: ") + error.what());
    if (clients_.find(id)) lose(id, Leaving::closed);
  }
}

void DoorServer::Impl::rejoin(DoorClient& client, const Rejoin& request) {
  const auto reply = events_.rejoin(*client.key, request);
  const std::string text = std::visit([](const auto& answer) { return encode(answer); }, reply);
  if (client.connection.send(text) != DoorSend::sent) lose_closed(client);
}

void DoorServer::Impl::misbehaved(DoorClient& client, const std::string& what) {
  warn("a consumer was dropped: " + what);
  say(client, encode(Farewell{"batchcast: the producer closed the connection: " + what}));
  lose(client.id, Leaving::misbehaved);
}

void DoorServer::Impl::lose(std::uint64_t id, Leaving how) {
  DoorClient client = clients_.take(id);
  const auto key = client.key;
  close(std::move(client));
  if (!key) return;
  try {
    events_.left(*key, how);
  } catch (const std::exception& error) {
    warn(std::string("a consumer's leaving was not taken well: ") + error.what());
  }
}

// Nobody is kept waiting for that moment: if it died, its pidfd says so before it is over.
void DoorServer::Impl::lose_closed(DoorClient& client) {
  if (is_dead(client.peer.pidfd)) return lose(client.id, Leaving::died);
  forget(epoll_, client.connection.native_handle());
  if (!std::exchange(client.closed, true)) {
    closed_.push_back({client.id, now_ns() + death_follows_ns});
  }
}

void DoorServer::Impl::lose_those_due(std::uint64_t now) {
  while (!closed_.empty() && closed_.front().due_ns <= now) {
    const std::uint64_t id = closed_.front().id;
    closed_.pop_front();
    if (clients_.find(id)) lose(id, Leaving::closed);
  }
}

void DoorServer::Impl::evict_queued() {
  std::vector<std::pair<ConsumerKey, std::string>> evictions;
  {
    const std::lock_guard lock(mutex_);
    evictions.swap(evictions_);
  }
  for (const auto& [key, reason] : evictions) {
    DoorClient* client = clients_.find_consumer(key);
    if (!client) continue;
    say(*client, encode(Farewell{reason}));
    lose(client->id, Leaving::evicted);
  }
}

void DoorServer::Impl::say(DoorClient& client, const std::string& text) noexcept {
  try {
    // Who does not read in time does not get to know.
    static_cast<void>(client.connection.send(text));
  } catch (const std::exception&) {
  }
}

void DoorServer::Impl::close(DoorClient client) noexcept {
  try {
    // What is left unread would reach the other side as a reset, ahead of what was said to it.
    DoorMessage unread;
    for (int i = 0; i < 16; ++i) {
      const DoorRead read = client.connection.receive(unread, 0);
      if (read == DoorRead::timed_out || read == DoorRead::closed) break;
    }
  } catch (const std::exception&) {
  }
  forget(epoll_, client.connection.native_handle());
  if (client.peer.pidfd) forget(deaths_, client.peer.pidfd.get());
  client.connection.shutdown();
}

}  // namespace batchcast::inline v0_1

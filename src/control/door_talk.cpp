// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What the doorkeeper says and hears.

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include "control/doorkeeper_impl.hpp"
#include "control/report.hpp"

namespace batchcast::inline v0_1 {
namespace {

// A killed process closes its sockets a moment before its pidfd says so.
constexpr std::uint64_t death_follows_ns = 2'000'000;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

}  // namespace

void Doorkeeper::Impl::hear_hello(Visitor& visitor) {
  DoorMessage message;
  DoorRead read = DoorRead::closed;
  try {
    read = visitor.connection.receive(message, 1);
  } catch (const SystemError& error) {
    warn(std::string("a hello could not be received: ") + error.what());
  }
  take_hello(visitor, read, message);
}

void Doorkeeper::Impl::take_hello(Visitor& visitor, DoorRead read, DoorMessage& message) {
  const std::uint64_t id = visitor.id;
  try {
    switch (read) {
      case DoorRead::timed_out:
        return;
      case DoorRead::closed:
        return close(visitors_.take(id));
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
    if (visitor.connection.is_left()) return close(visitors_.take(id));
    if (const auto refusal = identify(visitor, message)) return refuse(id, *refusal);
    admit(visitor, std::get<Hello>(hello));
  } catch (const std::exception& error) {
    warn(std::string("a consumer could not be admitted: ") + error.what());
    if (Visitor* still = visitors_.find(id)) {
      if (still->key) return lose(id, Leaving::closed);
      refuse(id, {RefusalKind::full,
                  std::string("batchcast: the producer cannot admit another consumer: ") +
                      error.what()});
    }
  }
}

std::optional<Refusal> Doorkeeper::Impl::identify(Visitor& visitor, DoorMessage& message) {
  if (visitor.peer.pidfd) return std::nullopt;
  if (message.descriptors.empty() || message.descriptors_lost) {
    if (message.descriptors_lost) {
      return Refusal{RefusalKind::busy,
                     "batchcast: the hello's file descriptors did not arrive: more than one, or "
                     "none free in the producer (`ulimit -n`)"};
    }
    return Refusal{RefusalKind::bad_hello,
                   "batchcast: the hello carries no pidfd, which the producer's kernel needs"};
  }
  const auto wrong = adopt_pidfd(visitor.peer, std::move(message.descriptors.front()));
  if (!wrong) return std::nullopt;
  return Refusal{RefusalKind::bad_hello, "batchcast: " + *wrong};
}

void Doorkeeper::Impl::admit(Visitor& visitor, const Hello& hello) {
  // Watched first: once admitted, nothing may fail any more without `left` being called.
  watch(deaths_, visitor.peer.pidfd.get(), visitor.id);
  AdmissionReply reply = events_.admit(hello, visitor.peer);
  if (const auto* refusal = std::get_if<Refusal>(&reply)) return refuse(visitor.id, *refusal);
  const auto& admission = std::get<Admission>(reply);
  visitors_.admitted(visitor, admission.key);
  if (visitor.connection.send(encode(admission.welcome), admission.descriptors) != DoorSend::sent) {
    lose_closed(visitor);
  }
}

void Doorkeeper::Impl::refuse(std::uint64_t id, const Refusal& refusal, std::string_view hello) {
  Visitor visitor = visitors_.take(id);
  say(visitor, encode_answer(hello, refusal));
  close(std::move(visitor));
}

void Doorkeeper::Impl::hear_consumer(Visitor& visitor) {
  const std::uint64_t id = visitor.id;
  const ConsumerKey key = *visitor.key;
  try {
    DoorMessage message;
    switch (visitor.connection.receive(message, 0)) {
      case DoorRead::timed_out:
        return;
      case DoorRead::closed:
        return lose_closed(visitor);
      case DoorRead::oversized:
        return misbehaved(
            visitor,
            "a message above " + std::to_string(limits::consumer_record_bytes_max) + " bytes");
      case DoorRead::message:
        break;
    }
    if (message.descriptors_lost) {
      return misbehaved(visitor, "file descriptors that nobody asked for");
    }
    std::visit(Overloaded{[&](const Bye&) { lose(id, Leaving::bye); },
                          [&](const Pause&) { events_.paused(key); },
                          [&](const Rejoin& request) { rejoin(visitor, request); },
                          [&](const BadMessage& bad) { misbehaved(visitor, bad.text); }},
               decode_from_consumer(message.text));
  } catch (const std::exception& error) {
    warn(std::string("the connection to a consumer failed: ") + error.what());
    if (visitors_.find(id)) lose(id, Leaving::closed);
  }
}

void Doorkeeper::Impl::rejoin(Visitor& visitor, const Rejoin& request) {
  const auto reply = events_.rejoin(*visitor.key, request);
  const std::string text = std::visit([](const auto& answer) { return encode(answer); }, reply);
  if (visitor.connection.send(text) != DoorSend::sent) lose_closed(visitor);
}

void Doorkeeper::Impl::misbehaved(Visitor& visitor, const std::string& what) {
  warn("a consumer was dropped: " + what);
  say(visitor, encode(Farewell{"batchcast: the producer closed the connection: " + what}));
  lose(visitor.id, Leaving::misbehaved);
}

void Doorkeeper::Impl::lose(std::uint64_t id, Leaving how) {
  Visitor visitor = visitors_.take(id);
  const auto key = visitor.key;
  close(std::move(visitor));
  if (!key) return;
  try {
    events_.left(*key, how);
  } catch (const std::exception& error) {
    warn(std::string("a consumer's leaving was not taken well: ") + error.what());
  }
}

// Nobody is kept waiting for that moment: if it died, its pidfd says so before it is over.
void Doorkeeper::Impl::lose_closed(Visitor& visitor) {
  if (is_dead(visitor.peer.pidfd)) return lose(visitor.id, Leaving::died);
  forget(epoll_, visitor.connection.native_handle());
  if (!std::exchange(visitor.closed, true)) {
    closed_.push_back({visitor.id, now_ns() + death_follows_ns});
  }
}

void Doorkeeper::Impl::lose_those_due(std::uint64_t now) {
  while (!closed_.empty() && closed_.front().due_ns <= now) {
    const std::uint64_t id = closed_.front().id;
    closed_.pop_front();
    if (visitors_.find(id)) lose(id, Leaving::closed);
  }
}

void Doorkeeper::Impl::evict_queued() {
  std::vector<std::pair<ConsumerKey, std::string>> evictions;
  {
    const std::lock_guard lock(mutex_);
    evictions.swap(evictions_);
  }
  for (const auto& [key, reason] : evictions) {
    Visitor* visitor = visitors_.find_consumer(key);
    if (!visitor) continue;
    say(*visitor, encode(Farewell{reason}));
    lose(visitor->id, Leaving::evicted);
  }
}

void Doorkeeper::Impl::say(Visitor& visitor, const std::string& text) noexcept {
  try {
    // Who does not read in time does not get to know.
    static_cast<void>(visitor.connection.send(text));
  } catch (const std::exception&) {
  }
}

void Doorkeeper::Impl::close(Visitor visitor) noexcept {
  try {
    // What is left unread would reach the other side as a reset, ahead of what was said to it.
    DoorMessage unread;
    for (int i = 0; i < 16; ++i) {
      const DoorRead read = visitor.connection.receive(unread, 0);
      if (read == DoorRead::timed_out || read == DoorRead::closed) break;
    }
  } catch (const std::exception&) {
  }
  forget(epoll_, visitor.connection.native_handle());
  if (visitor.peer.pidfd) forget(deaths_, visitor.peer.pidfd.get());
  visitor.connection.shutdown();
}

}  // namespace batchcast::inline v0_1

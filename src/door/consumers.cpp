// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "door/consumers.hpp"
#include "join/producer_messages.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <utility>
#include <variant>

namespace batchcast::inline v0_1 {
namespace {

// A killed process closes its sockets a moment before its pidfd says so.
constexpr std::uint64_t death_follows_ns = 2'000'000;

// A socket holds 208 KiB by default, as the kernel counts: 49 of these messages.
constexpr std::size_t forming_unread_max = 64 << 10;

// A well-behaved rank has sent two messages at most.
constexpr int last_words_max = 16;

// A well-behaved consumer has sent two messages at most: that it pauses, and bye.
constexpr int hearings_max = 8;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

}  // namespace

void DoorConsumers::hear(DoorClient& client) {
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
        return misbehaved(client,
                          text("a message above {} bytes", limits::consumer_record_bytes_max));
      case DoorRead::message:
        break;
    }
    if (message.descriptors_lost) {
      return misbehaved(client, "file descriptors that the producer did not ask for");
    }
    std::visit(Overloaded{[&](const Bye&) { lose(id, Leaving::bye); },
                          [&](const Pause&) { parts_.events.paused(key); },
                          [&](const Rejoin& request) { rejoin(client, request); },
                          [&](const CountBatches& request) {
                            parts_.events.count_batches(key, request);
                            tell_news();
                          },
                          [&](const EpochEnd& end) {
                            parts_.events.epoch_ended(key, end);
                            tell_news();
                          },
                          [&](const BadMessage& bad) { misbehaved(client, bad.text); }},
               decode_from_consumer(message.text));
  } catch (const std::exception& error) {
    detail::report(parts_.log, LogLevel::warning,
                   text("the connection to a consumer failed: {}", error.what()));
    if (parts_.clients.find(id)) lose(id, Leaving::closed);
  }
}

void DoorConsumers::hear_waiting() {
  see_deaths();
  std::array<epoll_event, 64> ready;
  for (int i = 0; i < hearings_max; ++i) {
    const std::size_t count = parts_.connections.wait(ready, 0);
    bool has_heard = false;
    for (std::size_t k = 0; k < count; ++k) {
      DoorClient* const client = parts_.clients.find_of_token(ready[k].data.u64);
      if (client == nullptr || !client->key) continue;
      hear(*client);
      has_heard = true;
    }
    if (!has_heard && count < ready.size()) return;
  }
}

void DoorConsumers::rejoin(DoorClient& client, const Rejoin& request) {
  const auto reply = parts_.events.rejoin(*client.key, request);
  answer(client, std::visit([](const auto& said) { return encode(said); }, reply));
}

void DoorConsumers::answer(DoorClient& client, const std::string& text) {
  if (client.connection.send(text) != DoorSend::sent) lose_closed(client);
}

void DoorConsumers::misbehaved(DoorClient& client, const std::string& what) {
  detail::report(parts_.log, LogLevel::warning, text("a consumer was dropped: {}", what));
  DoorClients::say(
      client, encode(Farewell{text("batchcast: the producer closed the connection: {}", what)}));
  lose(client.id, Leaving::misbehaved);
}

void DoorConsumers::see_deaths() {
  std::array<epoll_event, 64> dead;
  std::size_t count = 0;
  do {
    count = parts_.deaths.wait(dead, 0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t id = dead[i].data.u64;
      if (DoorClient* const client = parts_.clients.find(id)) lose(id, last_words(*client));
    }
  } while (count == dead.size());
}

/// A rank that ends right after its epoch has reported that, and its death may be seen first. So
/// its messages, on which others depend, are read before it is lost.
Leaving DoorConsumers::last_words(DoorClient& client) noexcept {
  try {
    DoorMessage message;
    for (int i = 0; client.key && i < last_words_max; ++i) {
      if (client.connection.receive(message, 0) != DoorRead::message) break;
      const ConsumerMessage said = decode_from_consumer(message.text);
      if (const auto* end = std::get_if<EpochEnd>(&said)) {
        parts_.events.epoch_ended(*client.key, *end);
      }
      if (std::holds_alternative<Bye>(said)) return Leaving::bye;
    }
  } catch (const std::exception& error) {
    detail::report(parts_.log, LogLevel::warning,
                   text("what a dead consumer had said was lost: {}", error.what()));
  }
  return Leaving::died;
}

void DoorConsumers::evict(ConsumerKey key, const std::string& reason) {
  dismiss(key, Farewell{reason});
}

void DoorConsumers::dismiss(ConsumerKey key, const Farewell& farewell) {
  DoorClient* client = parts_.clients.find_consumer(key);
  if (!client) return;
  DoorClients::say(*client, encode(farewell));
  lose(client->id, Leaving::evicted);
}

void DoorConsumers::tell_news() {
  if (std::exchange(tells_news_, true)) return;
  try {
    for (auto all = parts_.events.take_news(); !all.empty(); all = parts_.events.take_news()) {
      for (const RankNews& news : all) tell(news);
    }
  } catch (const std::exception& error) {
    detail::report(parts_.log, LogLevel::warning,
                   text("the door could not tell the ranks of a group: {}", error.what()));
  }
  tells_news_ = false;
}

void DoorConsumers::tell(const RankNews& news) {
  if (const auto* farewell = std::get_if<Farewell>(&news.said)) return dismiss(news.key, *farewell);
  DoorClient* const client = parts_.clients.find_consumer(news.key);
  if (client == nullptr) {
    // The client has gone with its old key: `left` frees the place of the new one.
    const auto* admission = std::get_if<Admission>(&news.said);
    if (admission != nullptr) parts_.events.left(admission->key, Leaving::closed);
    return;
  }
  if (const auto* forming = std::get_if<Forming>(&news.said)) {
    // A rank that reads none of these, as on a crowded machine, still has room for its welcome.
    if (client->connection.unread_bytes() < forming_unread_max) {
      DoorClients::say(*client, encode(*forming));
    }
  } else if (const auto* count = std::get_if<BatchCount>(&news.said)) {
    answer(*client, encode(*count));
  } else if (const auto* refusal = std::get_if<Refusal>(&news.said)) {
    DoorClient refused = parts_.clients.take(client->id);
    DoorClients::say(refused, encode(*refusal));
    parts_.clients.close(std::move(refused));
  } else {
    welcome(*client, std::get<Admission>(news.said));
  }
}

/// Does not throw when this fails: the other ranks have their places, and wait for their welcome.
void DoorConsumers::welcome(DoorClient& client, const Admission& admission) {
  const std::uint64_t id = client.id;
  parts_.clients.admitted(client, admission.key);
  try {
    const DoorSend sent = client.connection.send(encode(admission.welcome), admission.descriptors);
    if (sent != DoorSend::sent) lose_closed(client);
  } catch (const std::exception& error) {
    detail::report(parts_.log, LogLevel::warning,
                   text("a rank could not be welcomed: {}", error.what()));
    if (parts_.clients.find(id)) lose(id, Leaving::closed);
  }
}

void DoorConsumers::lose(std::uint64_t id, Leaving how) {
  DoorClient client = parts_.clients.take(id);
  const auto key = client.key;
  parts_.clients.close(std::move(client));
  if (!key) return;
  try {
    parts_.events.left(*key, how);
  } catch (const std::exception& error) {
    detail::report(parts_.log, LogLevel::warning,
                   text("the producer could not let a consumer go: {}", error.what()));
  }
  tell_news();
}

// The wait delays no other consumer: a process that died is seen by its pidfd before it is over.
void DoorConsumers::lose_closed(DoorClient& client) {
  if (is_dead(client.peer.pidfd)) return lose(client.id, Leaving::died);
  parts_.clients.forget_connection(client);
  if (!std::exchange(client.closed, true)) {
    closed_.push_back({client.id, now_ns() + death_follows_ns});
  }
}

void DoorConsumers::lose_due(std::uint64_t now) {
  while (!closed_.empty() && closed_.front().due_ns <= now) {
    const std::uint64_t id = closed_.front().id;
    closed_.pop_front();
    if (parts_.clients.find(id)) lose(id, Leaving::closed);
  }
}

std::optional<std::uint64_t> DoorConsumers::next_due_ns() const noexcept {
  if (closed_.empty()) return std::nullopt;
  return closed_.front().due_ns;
}

}  // namespace batchcast::inline v0_1

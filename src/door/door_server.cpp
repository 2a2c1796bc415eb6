// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "door/door_server.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/core/text.hpp>
#include "core/wake_descriptor.hpp"
#include "door/clients.hpp"
#include "door/consumers.hpp"
#include "door/entrance.hpp"
#include "door/handshake.hpp"
#include "door/watch_set.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

// Few at a time, so that a storm of messages does not keep a death from being seen.
constexpr std::size_t events_at_once = 16;

// Clients' events have higher tokens than these three.
constexpr std::uint64_t entrance_token = 0;
constexpr std::uint64_t wake_token = 1;
constexpr std::uint64_t deaths_token = 2;
static_assert(deaths_token == DoorClients::tokens_besides);

}  // namespace

std::string_view name_of(Leaving how) noexcept {
  constexpr std::array<std::string_view, 5> names = {"bye", "closed", "died", "misbehaved",
                                                     "evicted"};
  const auto index = static_cast<std::size_t>(how);
  return index < names.size() ? names[index] : std::string_view("?");
}

/// The door's thread, and the queue of evictions, through which other threads reach it.
class DoorServer::Impl {
 public:
  Impl(StreamDirectory& directory, DoorEvents& events, Options options)
      : events_(events),
        options_(std::move(options)),
        owner_pid_(::getpid()),
        clients_(watched_, deaths_),
        consumers_({clients_, watched_, deaths_, events_, options_.log}),
        handshake_({clients_, consumers_, events_, options_}),
        entrance_({directory, watched_, clients_, handshake_, options_, entrance_token}) {
    watched_.watch(wake_.get(), wake_token);
    watched_.watch(deaths_.get(), deaths_token);
    thread_ = start_thread("bc-door", [this] { run(); });
  }
  ~Impl() { stop(); }

  void evict(ConsumerKey key, std::string reason) {
    {
      const std::lock_guard lock(mutex_);
      evictions_.emplace_back(key, std::move(reason));
    }
    wake_.wake();
  }

  void stop() noexcept {
    if (!thread_.joinable() || owner_pid_ != ::getpid()) return;
    stopping_.store(true);
    wake_.wake();
    thread_.join();
    clients_.close_all();
    entrance_.close();
  }

  [[nodiscard]] std::int32_t owner_pid() const noexcept { return owner_pid_; }

 private:
  void run();
  /// False once the door is lost.
  [[nodiscard]] bool take_turn();
  void handle(std::uint64_t token);
  void evict_queued();
  [[nodiscard]] int wait_ms(std::uint64_t now) const noexcept;
  void do_what_is_due(std::uint64_t now);
  /// Tells the news of that event too.
  template <class Event>
  void call(Event&& event);

  DoorEvents& events_;
  const Options options_;
  const std::int32_t owner_pid_;
  WatchSet watched_;
  WatchSet deaths_;  ///< watched within that one: the pidfds of consumers
  WakeDescriptor wake_;
  DoorClients clients_;
  DoorConsumers consumers_;
  DoorHandshake handshake_;
  DoorEntrance entrance_;
  std::uint64_t next_tick_ns_ = 0;
  bool told_trouble_ = false;

  std::mutex mutex_;  ///< of the next one
  std::vector<std::pair<ConsumerKey, std::string>> evictions_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// A turn handles all deaths, then one datagram of each of a few clients. Ready clients take turns,
// as the kernel queues them.
bool DoorServer::Impl::take_turn() {
  std::array<epoll_event, events_at_once> ready;
  consumers_.see_deaths();
  const std::size_t count = watched_.wait(ready, wait_ms(now_ns()));
  if (count == 0 && watched_.is_lost()) return false;
  for (std::size_t i = 0; i < count && !stopping_.load(); ++i) handle(ready[i].data.u64);
  if (!stopping_.load()) do_what_is_due(now_ns());
  return true;
}

void DoorServer::Impl::run() {
  constexpr auto rest = std::chrono::milliseconds(100);
  while (!stopping_.load()) {
    try {
      if (!take_turn()) return events_.door_lost();
    } catch (const std::exception& error) {
      if (!std::exchange(told_trouble_, true)) {
        detail::report(options_.log, LogLevel::error,
                       text("the door could not be looked after: {}", error.what()));
      }
      std::this_thread::sleep_for(rest);
    }
  }
}

void DoorServer::Impl::handle(std::uint64_t token) {
  if (token == entrance_token) {
    entrance_.accept_some();
  } else if (token == wake_token) {
    wake_.clear();
    evict_queued();
  } else if (token == deaths_token) {
    consumers_.see_deaths();
  } else if (DoorClient* client = clients_.find_of_token(token)) {
    if (client->key) {
      consumers_.hear(*client);
    } else {
      handshake_.hear(*client);
    }
  }
}

void DoorServer::Impl::evict_queued() {
  std::vector<std::pair<ConsumerKey, std::string>> evictions;
  {
    const std::lock_guard lock(mutex_);
    evictions.swap(evictions_);
  }
  for (const auto& [key, reason] : evictions) consumers_.evict(key, reason);
}

int DoorServer::Impl::wait_ms(std::uint64_t now) const noexcept {
  if (events_.has_work()) return 0;
  std::uint64_t due = std::min(next_tick_ns_, entrance_.next_due_ns());
  if (const auto consumer_due = consumers_.next_due_ns()) due = std::min(due, *consumer_due);
  return due <= now ? 0 : static_cast<int>((due - now + ns_per_ms - 1) / ns_per_ms);
}

template <class Event>
void DoorServer::Impl::call(Event&& event) {
  try {
    event();
  } catch (const std::exception& error) {
    detail::report(options_.log, LogLevel::warning,
                   text("the producer's housekeeping failed: {}", error.what()));
  }
  consumers_.tell_news();
}

void DoorServer::Impl::do_what_is_due(std::uint64_t now) {
  consumers_.lose_due(now);
  // Silent clients are looked at with the tick: their time need not be exact.
  if (now >= next_tick_ns_) {
    next_tick_ns_ = now + static_cast<std::uint64_t>(std::max(options_.tick_ms, 1)) * ns_per_ms;
    handshake_.refuse_late(now);
    call([this] { events_.tick(); });
  }
  if (events_.has_work()) call([this] { events_.work(); });
  entrance_.do_what_is_due(now);
}

DoorServer::DoorServer(StreamDirectory& directory, DoorEvents& events, Options options)
    : impl_(std::make_unique<Impl>(directory, events, std::move(options))) {}

DoorServer::~DoorServer() {
  // In a forked child there is no thread to join, and closing would disturb the parent's epoll set.
  if (impl_ && impl_->owner_pid() != ::getpid()) static_cast<void>(impl_.release());
}

void DoorServer::evict(ConsumerKey key, std::string reason) {
  impl_->evict(key, std::move(reason));
}

void DoorServer::stop() noexcept { impl_->stop(); }

}  // namespace batchcast::inline v0_1

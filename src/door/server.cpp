// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "door/server.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <batchcast/core/named_thread.hpp>
#include "core/report.hpp"
#include "door/server_impl.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace batchcast::inline v0_1 {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t look_every_ns = 500 * ms;
constexpr std::uint64_t rest_when_exhausted_ns = 100 * ms;
// So that a storm of connections or of what they say does not keep a death from being seen.
constexpr int accepts_at_once = 16;
constexpr std::size_t door_clients_max = 16;

// Events carry the client's id, which begin at 1, after these three.
constexpr std::uint64_t listener_token = 0;
constexpr std::uint64_t wake_token = 1;
constexpr std::uint64_t deaths_token = 2;
constexpr std::uint64_t tokens_besides = 2;
constexpr std::uint64_t connection_token(std::uint64_t id) { return id + tokens_besides; }

const Refusal too_crowded{RefusalKind::busy,
                          "batchcast: too many connections at the producer's door; try again"};

}  // namespace

std::string_view name_of(Leaving how) noexcept {
  constexpr std::array<std::string_view, 5> names = {"bye", "closed", "died", "misbehaved",
                                                     "evicted"};
  const auto index = static_cast<std::size_t>(how);
  return index < names.size() ? names[index] : std::string_view("?");
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

DoorServer::Impl::Impl(StreamDirectory& directory, DoorEvents& events, Options options)
    : directory_(directory),
      events_(events),
      options_(std::move(options)),
      owner_pid_(::getpid()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      deaths_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_ || !deaths_) throw SystemError("batchcast: cannot watch the door", errno);
  watch(epoll_, wake_.get(), wake_token);
  watch(epoll_, deaths_.get(), deaths_token);
  open_door();
  next_look_ns_ = now_ns() + look_every_ns;
  thread_ = start_thread("bc-door", [this] { run(); });
}

void DoorServer::Impl::evict(ConsumerKey key, std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    evictions_.emplace_back(key, std::move(reason));
  }
  wake_.wake();
}

void DoorServer::Impl::stop() noexcept {
  if (!thread_.joinable() || owner_pid_ != ::getpid()) return;
  stopping_.store(true);
  wake_.wake();
  thread_.join();
  while (DoorClient* client = clients_.any()) close(clients_.take(client->id));
  close_door();
}

// A turn: all deaths, then one datagram of each of a few clients. Those that are ready take turns,
// as the kernel queues them.
void DoorServer::Impl::run() {
  std::array<epoll_event, door_clients_max> ready;
  while (!stopping_.load()) {
    see_deaths();
    const int count =
        ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), wait_ms(now_ns()));
    for (int i = 0; i < count && !stopping_.load(); ++i) {
      handle(ready[static_cast<std::size_t>(i)].data.u64);
    }
    if (!stopping_.load()) do_what_is_due(now_ns());
  }
}

void DoorServer::Impl::see_deaths() {
  std::array<epoll_event, 64> dead;
  int count = 0;
  do {
    count = ::epoll_wait(deaths_.get(), dead.data(), static_cast<int>(dead.size()), 0);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = dead[static_cast<std::size_t>(i)].data.u64;
      if (clients_.find(id)) lose(id, Leaving::died);
    }
  } while (count == static_cast<int>(dead.size()));
}

void DoorServer::Impl::handle(std::uint64_t token) {
  if (token == listener_token) {
    accept_all();
  } else if (token == wake_token) {
    wake_.clear();
    evict_queued();
  } else if (token == deaths_token) {
    see_deaths();
  } else if (DoorClient* client = clients_.find(token - tokens_besides)) {
    if (client->key) {
      hear_consumer(*client);
    } else {
      hear_hello(*client);
    }
  }
}

int DoorServer::Impl::wait_ms(std::uint64_t now) const noexcept {
  std::uint64_t due = std::min(next_tick_ns_, next_look_ns_);
  if (!listening_) due = std::min(due, listen_again_ns_);
  if (!closed_.empty()) due = std::min(due, closed_.front().due_ns);
  return due <= now ? 0 : static_cast<int>((due - now + ms - 1) / ms);
}

void DoorServer::Impl::do_what_is_due(std::uint64_t now) {
  lose_those_due(now);
  // Silent clients are looked at with the tick: their time need not be exact.
  if (now >= next_tick_ns_) {
    next_tick_ns_ = now + static_cast<std::uint64_t>(std::max(options_.tick_ms, 1)) * ms;
    while (DoorClient* oldest = clients_.oldest_silent()) {
      if (oldest->hello_due_ns > now) break;
      refuse(oldest->id, {RefusalKind::bad_hello, "batchcast: no hello came within " +
                                                      std::to_string(options_.hello_timeout_ms) +
                                                      " ms of connecting"});
    }
    try {
      events_.tick();
    } catch (const std::exception& error) {
      warn(std::string("the producer's housekeeping failed: ") + error.what());
    }
  }
  if (now >= next_look_ns_) {
    next_look_ns_ = now + look_every_ns;
    look_after_door();
  }
  if (!listening_ && listener_ && now >= listen_again_ns_) {
    watch(epoll_, listener_->native_handle(), listener_token);
    listening_ = true;
  }
}

unsigned DoorServer::Impl::door_mode() const noexcept {
  return directory_.allow_uids().empty() ? 0600U : 0666U;
}

void DoorServer::Impl::open_door() {
  listener_.emplace(directory_.paths().door, door_mode());
  watch(epoll_, listener_->native_handle(), listener_token);
  listening_ = true;
}

void DoorServer::Impl::close_door() noexcept {
  if (listener_ && listening_) forget(epoll_, listener_->native_handle());
  listening_ = false;
  listener_.reset();
}

void DoorServer::Impl::look_after_door() {
  if (!directory_.intact() && !directory_.repair()) return;
  if (listener_ && listener_->intact()) return;
  try {
    if (listener_) accept_all();  // who came before the socket vanished
    close_door();
    open_door();
    told_closed_ = false;
    warn("the socket " + directory_.paths().door + " was removed by somebody; made it again");
  } catch (const std::exception& error) {
    if (!std::exchange(told_closed_, true)) {
      warn("the socket " + directory_.paths().door +
           " is gone, and nobody can join until it is back: " + error.what());
    }
  }
}

void DoorServer::Impl::accept_all() {
  for (int i = 0; i < accepts_at_once; ++i) {
    DoorConnection connection;
    switch (listener_->accept(connection)) {
      case DoorListener::Outcome::none:
        return;
      case DoorListener::Outcome::accepted:
        let_in(std::move(connection));
        break;
      case DoorListener::Outcome::exhausted:
        if (clients_.silent_count() == 0) return rest();
        refuse(clients_.oldest_silent()->id, too_crowded);
        break;
    }
  }
}

// Who waits outside keeps the listener readable: looking on would spin.
void DoorServer::Impl::rest() {
  if (listening_) forget(epoll_, listener_->native_handle());
  listening_ = false;
  listen_again_ns_ = now_ns() + rest_when_exhausted_ns;
  if (std::exchange(told_exhausted_, true)) return;
  warn("no file descriptor is free for another consumer of the stream " + directory_.stream() +
       "; it waits at the door. Raise the limit (`ulimit -n`).");
}

void DoorServer::Impl::let_in(DoorConnection connection) {
  // Most say hello before they are let in, and then never count as silent.
  DoorMessage message;
  DoorRead read = DoorRead::closed;
  try {
    read = connection.receive(message, 1);
  } catch (const SystemError& error) {
    return warn(std::string("a connection could not be read: ") + error.what());
  }
  if (read == DoorRead::closed) return;
  std::optional<PeerIdentity> peer;
  try {
    peer = peer_identity(connection, options_.pidfd_source);
  } catch (const SystemError&) {
    static_cast<void>(connection.send(encode(too_crowded)));
    return rest();
  }
  told_exhausted_ = false;
  const std::uint64_t due = now_ns() + static_cast<std::uint64_t>(options_.hello_timeout_ms) * ms;
  const std::uint64_t id = clients_.add(std::move(connection), std::move(*peer), due).id;
  DoorClient& client = *clients_.find(id);
  if (!may_enter(client.peer.uid)) {
    const std::string uid = std::to_string(client.peer.uid);
    return refuse(id, {RefusalKind::uid, "batchcast: the stream " + directory_.stream() +
                                             " is served by user " + std::to_string(::geteuid()) +
                                             " and does not admit user " + uid +
                                             ". Serve it with `--allow-uid " + uid + "`."});
  }
  try {
    watch(epoll_, client.connection.native_handle(), connection_token(id));
  } catch (const SystemError&) {
    return refuse(id, too_crowded);
  }
  take_hello(client, read, message);
  while (clients_.silent_count() > options_.silent_connections_max) {
    refuse(clients_.oldest_silent()->id, too_crowded);
  }
}

bool DoorServer::Impl::may_enter(std::uint32_t uid) const noexcept {
  const auto& allowed = directory_.allow_uids();
  return uid == ::geteuid() || std::find(allowed.begin(), allowed.end(), uid) != allowed.end();
}

void DoorServer::Impl::watch(const FileDescriptor& epoll, int fd, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = token;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw SystemError("batchcast: cannot watch a file descriptor", errno);
  }
}

// Always before closing: a forked child may hold a duplicate, which would keep the entry alive.
void DoorServer::Impl::forget(const FileDescriptor& epoll, int fd) noexcept {
  ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void DoorServer::Impl::warn(const std::string& text) const noexcept {
  report(options_.log, LogLevel::warning, text);
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Tickets and the thread that looks at them, over the tests' own CUDA driver.
#include "../cuda/fake.hpp"

#include "../catch.hpp"

#include <batchcast/cuda/stream.hpp>
#include <batchcast/delivery/release_poller.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using detail::ReleasePoller;
using detail::Ticket;
using detail::TicketPool;
using detail::cuda::Device;
using detail::cuda::Stream;

namespace {

/// Something that happens once, on any thread.
class Event {
 public:
  /// Of a ticket, with this as its context.
  static void happen(void* event) noexcept { static_cast<Event*>(event)->promise_.set_value(); }
  /// Waits for it, far longer than it takes.
  [[nodiscard]] bool happens() const {
    return future_.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  }
  [[nodiscard]] bool has_happened() const {
    return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

/// A stream with a pending operation, which makes no progress until it is released.
class HeldStream {
 public:
  explicit HeldStream(const std::shared_ptr<Device>& device) : stream_(device) {
    batchcast_fake_cuda_hold(stream_.handle());
  }
  ~HeldStream() { release(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  [[nodiscard]] void* handle() const noexcept { return stream_.handle(); }
  void release() noexcept { batchcast_fake_cuda_release(stream_.handle()); }

 private:
  Stream stream_;
};

struct Polled {
  const FakeSettings fake{""};
  std::shared_ptr<Device> device = Device::open(0);
  std::vector<std::string> said;
  TicketPool pool{device, [this](LogLevel, std::string_view text) { said.emplace_back(text); }};

  Ticket& submit(Event& event, const std::vector<void*>& streams) {
    Ticket& ticket = pool.take();
    ticket.begin(&event, &Event::happen);
    for (void* const stream : streams) ticket.add(stream);
    ReleasePoller::of_process().submit(ticket);
    return ticket;
  }
  /// The poller has looked at all that was submitted before: it looks in the order of submission.
  void let_it_look() {
    Event event;
    submit(event, {});
    REQUIRE(event.happens());
  }
};

}  // namespace

TEST_CASE("a ticket is called once its stream has come to where it was taken", "[cuda][fake]") {
  Polled polled;
  HeldStream held(polled.device);
  Event event;
  polled.submit(event, {held.handle()});
  polled.let_it_look();
  CHECK_FALSE(event.has_happened());
  held.release();
  CHECK(event.happens());
}

TEST_CASE("a ticket waits for each of its streams", "[cuda][fake]") {
  Polled polled;
  HeldStream first(polled.device), second(polled.device), third(polled.device);
  Event event;
  polled.submit(event, {first.handle(), second.handle(), third.handle()});
  for (HeldStream* stream : {&third, &first}) {
    stream->release();
    polled.let_it_look();
    CHECK_FALSE(event.has_happened());
  }
  second.release();
  CHECK(event.happens());
}

TEST_CASE("tickets do not wait for those that came before them", "[cuda][fake]") {
  Polled polled;
  HeldStream first(polled.device), second(polled.device);
  Event early, late;
  polled.submit(early, {first.handle()});
  polled.submit(late, {second.handle()});
  second.release();
  CHECK(late.happens());
  CHECK_FALSE(early.has_happened());
  first.release();
  CHECK(early.happens());
}

TEST_CASE("a ticket is in its pool again when it is called", "[cuda][fake]") {
  Polled polled;
  struct Called {
    TicketPool& pool;
    Event event = {};
    Ticket* taken = nullptr;
  } called{polled.pool};
  Ticket& ticket = polled.pool.take();
  ticket.begin(&called, [](void* context) noexcept {
    auto& of = *static_cast<Called*>(context);
    of.taken = &of.pool.take();
    Event::happen(&of.event);
  });
  ReleasePoller::of_process().submit(ticket);
  REQUIRE(called.event.happens());
  CHECK(called.taken == &ticket);
  polled.pool.put(ticket);
}

TEST_CASE("nothing will run any more on a lost GPU, so its tickets are called", "[cuda][fake]") {
  Polled polled;
  HeldStream held(polled.device);
  Event event;
  polled.submit(event, {held.handle()});
  polled.let_it_look();
  CHECK_FALSE(event.has_happened());
  batchcast_fake_cuda_lose(0, 46);  // CUDA_ERROR_DEVICE_UNAVAILABLE
  CHECK(event.happens());
  CHECK(polled.said.empty());
}

TEST_CASE("a driver that does not say whether a stream has passed is asked again, and noted once",
          "[cuda][fake]") {
  Polled polled;
  const Stream stream(polled.device);
  batchcast_fake_cuda_answer(400);  // CUDA_ERROR_INVALID_HANDLE
  Event first, second;
  polled.submit(first, {stream.handle()});
  polled.submit(second, {stream.handle()});
  polled.let_it_look();
  CHECK_FALSE(first.has_happened());
  batchcast_fake_cuda_answer(0);
  CHECK(first.happens());
  CHECK(second.happens());
  REQUIRE(polled.said.size() == 1);
  CHECK_THAT(polled.said[0], Catch::Contains("does not say whether a stream has read a batch") &&
                                 Catch::Contains("CUDA_ERROR_INVALID_HANDLE"));
}

TEST_CASE("an ending that waits holds up no ticket: it runs on another thread than they do",
          "[cuda][fake]") {
  Polled polled;
  struct Ending {
    Event begun = {}, may_end = {}, ended = {};
    std::thread::id polling = {}, ending = {};
  } ending;
  Ticket& ticket = polled.pool.take();
  ticket.begin(&ending, [](void* context) noexcept {
    static_cast<Ending*>(context)->polling = std::this_thread::get_id();
    ReleasePoller::of_process().end_apart(context, [](void* of) noexcept {
      auto& self = *static_cast<Ending*>(of);
      self.ending = std::this_thread::get_id();
      Event::happen(&self.begun);
      static_cast<void>(self.may_end.happens());
      Event::happen(&self.ended);
    });
  });
  ReleasePoller::of_process().submit(ticket);
  REQUIRE(ending.begun.happens());
  polled.let_it_look();  // while the ending waits
  CHECK_FALSE(ending.ended.has_happened());
  Event::happen(&ending.may_end);
  REQUIRE(ending.ended.happens());
  CHECK(ending.ending != ending.polling);
  CHECK(ending.ending != std::this_thread::get_id());
}

TEST_CASE("an ending that another thread asks for has ended when it returns", "[cuda][fake]") {
  std::thread::id ending;
  ReleasePoller::of_process().end_apart(&ending, [](void* context) noexcept {
    *static_cast<std::thread::id*>(context) = std::this_thread::get_id();
  });
  CHECK(ending == std::this_thread::get_id());
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// `while_waiting`: each call that waits asks it, and ends by what it throws.
#include <batchcast/batchcast.hpp>
#include <batchcast/join/message.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <latch>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

using namespace batchcast;

namespace {

constexpr int long_ms = 60'000;

struct GivenUp {};

/// Gives up at the third call, and says how long the wait took.
class Patience {
 public:
  [[nodiscard]] std::function<void()> callback() {
    return [this] {
      if (++calls_ == 3) throw GivenUp();
    };
  }
  /// Whether that call ended by giving up, well before it would have.
  template <class Call>
  [[nodiscard]] bool ends(Call&& call) {
    calls_ = 0;
    const auto began = std::chrono::steady_clock::now();
    try {
      call();
      return false;
    } catch (const GivenUp&) {
      return calls_ == 3 && std::chrono::steady_clock::now() - began < std::chrono::seconds(5);
    }
  }
  [[nodiscard]] int calls() const noexcept { return calls_; }

 private:
  int calls_ = 0;
};

/// A producer whose door's thread stays in its log once a consumer `late` comes.
class BusyDoor {
 public:
  [[nodiscard]] LogCallback log() {
    return [this](LogLevel, std::string_view text) {
      if (text.find("`late`") == text.npos) return;
      inside_.count_down();
      goes_on_.wait();
    };
  }
  void wait_until_inside() { inside_.wait(); }
  struct LetsGo {
    BusyDoor& door;
    ~LetsGo() { door.goes_on_.count_down(); }
  };

 private:
  std::latch inside_{1};
  std::latch goes_on_{1};
};

/// This process's connection to the door at that path.
int connection_to(const std::string& door) {
  for (int fd = 3; fd < 1'024; ++fd) {
    sockaddr_un peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) continue;
    if (peer.sun_family == AF_UNIX && door == peer.sun_path) return fd;
  }
  return -1;
}

struct Stream {
  batchcast::testing::TemporaryFolder folder;
  Patience patience;
  Producer producer{ProducerOptions{.stream = "waits",
                                    .schema = {{"value", DType::u64}},
                                    .memory = 64 << 10,
                                    .samples_per_epoch = 4,
                                    .linger_ms = 0,
                                    .directory = folder.path()}};

  [[nodiscard]] ConsumerOptions options() {
    return {.stream = "waits",
            .batch_size = 4,
            .connect_timeout_ms = long_ms,
            .directory = folder.path(),
            .while_waiting = patience.callback()};
  }
};

}  // namespace

TEST_CASE("a wait for a batch is given up, and nothing is lost") {
  Stream stream;
  ConsumerOptions options = stream.options();
  SECTION("by a consumer that holds its place") {}
  SECTION("by one that lets go") { options.between_epochs = BetweenEpochs::let_go; }
  SECTION("by one that copies") { options.access = Access::private_copy; }
  SECTION("by one of `free` pace") { options.pace = Pace::free; }
  SECTION("by a rank") { options.group = "g:0/1"; }
  Consumer consumer(options);
  CHECK(stream.patience.ends([&] { static_cast<void>(consumer.next()); }));
  CHECK(stream.patience.ends([&] { static_cast<void>(consumer.try_next(long_ms)); }));
  CHECK(consumer.cursor() == 0);
  stream.producer.loan(4)->publish();
  const std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  CHECK(batch->position() == 0);
  CHECK_FALSE(consumer.next());
  if (options.between_epochs == BetweenEpochs::hold) {
    CHECK(stream.patience.ends([&] { static_cast<void>(consumer.has_next_epoch()); }));
  }
}

TEST_CASE("a look without waiting asks nothing") {
  Stream stream;
  Consumer consumer(stream.options());
  static_cast<void>(stream.patience.ends([&] {
    for (int i = 0; i < 1000; ++i) CHECK(consumer.try_next(0).outcome == Outcome::timed_out);
  }));
  CHECK(stream.patience.calls() == 0);
}

TEST_CASE("attaching is given up") {
  Stream stream;
  ConsumerOptions options = stream.options();
  SECTION("while there is no stream") { options.stream = "none"; }
  SECTION("while there is none, for ever") {
    options.stream = "none";
    options.connect_timeout_ms = -1;
  }
  SECTION("while a group forms") {
    options.batch_size = 2;
    options.group = "g:0/2";
  }
  CHECK(stream.patience.ends([&] { const Consumer consumer(options); }));
}

TEST_CASE("a rank that gave up leaves its place in the group") {
  Stream stream;
  ConsumerOptions options = stream.options();
  options.batch_size = 2;
  options.group = "g:0/2";
  REQUIRE(stream.patience.ends([&] { const Consumer consumer(options); }));
  options.group = "g:0/1";
  options.while_waiting = {};
  // The producer sees it go a moment later.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    try {
      const Consumer consumer(options);
      CHECK(consumer.group().world == 1);
      break;
    } catch (const Error&) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
    }
  }
}

TEST_CASE("a rank gives up while its producer does not hear its epoch's end, and tells it later") {
  BusyDoor door;
  Stream stream;
  stream.producer = Producer({.stream = "busy",
                              .schema = {{"value", DType::u64}},
                              .memory = 64 << 10,
                              .samples_per_epoch = 4,
                              .linger_ms = 0,
                              .directory = stream.folder.path(),
                              .log = door.log()});
  ConsumerOptions options = stream.options();
  options.stream = "busy";
  options.group = "g:0/1";
  Consumer rank(options);
  for (int batch = 0; batch < 2; ++batch) stream.producer.loan(4)->publish();
  CHECK(rank.next()->position() == 0);
  CHECK_FALSE(rank.next());
  CHECK(rank.next()->position() == 4);
  const int connection = connection_to(stream.folder.path() + "/busy/door");
  {
    const std::jthread late([options]() mutable {
      options.name = "late";
      options.group = {};
      options.while_waiting = {};
      const Consumer consumer(options);
    });
    const BusyDoor::LetsGo lets_go{door};
    door.wait_until_inside();
    const std::string told_before = encode(EpochEnd{.epoch = 0});
    while (::send(connection, told_before.data(), told_before.size(), MSG_DONTWAIT) > 0) continue;
    CHECK(stream.patience.ends([&] { static_cast<void>(rank.next()); }));
    CHECK(rank.cursor() == 8);
    CHECK_FALSE(rank.next());  // the end that it could not return
  }
  stream.producer.loan(4)->publish();
  const std::optional<Batch> third = rank.next();
  REQUIRE(third);
  CHECK(third->position() == 8);
  CHECK(rank.stats().epochs_matched == 2);
}

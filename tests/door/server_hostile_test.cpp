// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "door/listener.hpp"
#include "server_support.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <random>
#include <thread>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

constexpr std::uint32_t nobody = 65534;

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void limit_descriptors(rlim_t soft) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A consumer that is sent away because too many stand at the door tries again.
Visit join_patiently(const std::string& door) {
  while (true) {
    Visit guest = join(door);
    const auto refusal = guest.get<Refusal>();
    if (!refusal || refusal->kind != RefusalKind::busy) return guest;
  }
}

std::vector<FileDescriptor> use_up_descriptors() {
  std::vector<FileDescriptor> all;
  while (true) {
    FileDescriptor fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) return all;
    all.push_back(std::move(fd));
  }
}

}  // namespace

TEST_CASE("a thousand connections that say nothing do not keep an honest consumer out") {
  House house;
  const Visit early = join(house.door());
  REQUIRE(early.get<Welcome>());
  const Pipe ready;
  Child crowd([&] {
    limit_descriptors(4'096);
    std::vector<DoorConnection> mute;
    for (int i = 0; i < 1'000; ++i) {
      DoorAttempt one = connect_door(house.door());
      if (one.answer != DoorAnswer::open) return 1;
      mute.push_back(std::move(one.connection));
    }
    ready.put('x');
    ::pause();
    return 0;
  });
  CHECK(join_patiently(house.door()).get<Welcome>());  // in the middle of the storm
  static_cast<void>(ready.get<char>());
  CHECK(join_patiently(house.door()).get<Welcome>());
  CHECK(house.producer.left_count <= 2);  // of those three, never the early one
  CHECK_FALSE(house.producer.wait_for_left(1, 0));
}

TEST_CASE("the oldest of too many silent connections gives way, and is told so") {
  House house({.silent_connections_max = 3});
  std::vector<DoorConnection> mute;
  for (int i = 0; i < 5; ++i) mute.push_back(connect_door(house.door()).connection);
  DoorMessage message;
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(mute[i].receive(message, 0, 1'000) == DoorRead::message);
    CHECK_THAT(message.text, Contains("try again"));
  }
  CHECK(mute[2].receive(message, 0) == DoorRead::timed_out);
  CHECK(mute[4].ask(encode(hello_of()), {}, message, 4, 5'000) == DoorRead::message);
}

TEST_CASE("a producer without a free descriptor lets consumers wait, and does not spin") {
  const TemporaryDirectory base;
  const Pipe ready, go_on;
  Child server([&] {
    std::atomic<int> lines{0};
    StreamDirectory directory({.stream = "demo", .base = base.path()});
    FakeProducer producer;
    DoorServer keeper(
        directory, producer,
        {.layout_version = layout, .log = [&](LogLevel, std::string_view) { ++lines; }});
    // UBSan checks an object's type at the first call of its kind, and needs descriptors for that.
    while (producer.ticks == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    limit_descriptors(64);
    auto used_up = use_up_descriptors();
    ready.put('x');
    static_cast<void>(go_on.get<char>());  // the consumer waits at the door from now on
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double busy = cpu_seconds() - before;
    const int complaints = lines;
    used_up.clear();
    ready.put('y');
    static_cast<void>(go_on.get<char>());
    if (busy > 0.05) return 1;
    return complaints == 1 ? 0 : 2;
  });
  static_cast<void>(ready.get<char>());
  DoorAttempt attempt = connect_door(base / "demo/door");
  REQUIRE(attempt.answer == DoorAnswer::open);
  const FileDescriptor self = own_pidfd();
  CHECK(attempt.connection.send(encode(hello_of()), std::array{self.get()}) == DoorSend::sent);
  go_on.put('x');
  static_cast<void>(ready.get<char>());
  DoorMessage message;
  REQUIRE(attempt.connection.receive(message, 4, 5'000) == DoorRead::message);
  CHECK(std::holds_alternative<Welcome>(decode_from_producer(message.text)));
  go_on.put('x');
  CHECK(server.wait() == 0);
}

TEST_CASE("sockets and directories that vanish are made again within a second") {
  House house;
  Visit guest = join(house.door());
  REQUIRE(guest.get<Welcome>());
  const auto back = [&] { return connect_door(house.door()).answer == DoorAnswer::open; };
  SECTION("the socket") { std::filesystem::remove(house.door()); }
  SECTION("the socket, and another one stands there") {
    std::filesystem::remove(house.door());
    const DoorListener squatter(house.door(), 0600);
  }
  SECTION("the stream's directory") {
    std::filesystem::remove_all(house.directory.paths().directory);
  }
  SECTION("all of it") { std::filesystem::remove_all(house.base.path()); }
  CHECK(holds_within(1'000, back));
  CHECK(join(house.door()).get<Welcome>());
  CHECK_THROWS_AS(StreamDirectory({.stream = "demo", .base = house.base.path()}), StreamTaken);
  // A consumer from before has noticed nothing.
  guest.read = guest.connection.ask(encode(Rejoin{}), {}, guest.message, 0, 5'000);
  CHECK(guest.get<Rejoined>());
  CHECK_FALSE(house.producer.wait_for_left(1, 0));
  CHECK_FALSE(house.log().empty());
}

TEST_CASE("another user is refused before it says anything, unless admitted") {
  if (::geteuid() != 0) return;
  const bool admitted = GENERATE(false, true);
  House house({}, admitted ? std::vector<std::uint32_t>{nobody} : std::vector<std::uint32_t>{});
  if (!admitted) {
    // The door's own check, not the file modes that also stand in the way.
    ::chmod(house.base.path().c_str(), 0711);
    ::chmod(house.directory.paths().directory.c_str(), 0711);
    ::chmod(house.door().c_str(), 0666);
  }
  Child stranger([&] {
    if (::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0) {
      return 9;
    }
    DoorAttempt attempt = connect_door(house.door());
    if (attempt.answer != DoorAnswer::open) return 8;
    DoorMessage message;
    if (!admitted) {
      if (attempt.connection.receive(message, 4, 5'000) != DoorRead::message) return 7;
      const auto answer = decode_from_producer(message.text);
      const auto* refusal = std::get_if<Refusal>(&answer);
      const bool right = refusal && refusal->kind == RefusalKind::uid &&
                         refusal->text.find("--allow-uid 65534") != std::string::npos;
      return right && message.descriptors.empty() ? 0 : 6;
    }
    const Visit guest = join(house.door());
    return guest.get<Welcome>() && !guest.message.descriptors.empty() ? 0 : 5;
  });
  CHECK(stranger.wait() == 0);
  CHECK((house.producer.last_key == 1) == admitted);
}

TEST_CASE("a storm of clients that come, stammer and go leaves the door open") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  House house({.hello_timeout_ms = 50});
  const auto storm = [&](unsigned salt) {
    std::mt19937 random(seed + salt);
    const std::string hello = encode(hello_of());
    for (int i = 0; i < 300; ++i) {
      DoorAttempt one = connect_door(house.door());
      if (one.answer != DoorAnswer::open) continue;
      std::string text = hello;
      if (random() % 2 == 0) text[random() % text.size()] = static_cast<char>(random());
      if (random() % 8 == 0) continue;
      static_cast<void>(one.connection.send(text));
      DoorMessage answer;
      if (random() % 2 == 0) static_cast<void>(one.connection.receive(answer, 4, 1'000));
      if (random() % 4 == 0) static_cast<void>(one.connection.send(text.substr(text.size() / 2)));
    }
  };
  std::thread other([&] { storm(1); });
  storm(0);
  other.join();
  CHECK(join(house.door()).get<Welcome>());
  // All that were admitted have left, once each, but for the last.
  const auto all_left = [&] {
    return house.producer.left_count == static_cast<int>(house.producer.last_key);
  };
  CHECK(holds_within(5'000, all_left));
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "server_support.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "catch.hpp"
#include "join/producer_messages.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::getline(comm, names.emplace_back());
  }
  return names;
}

std::string refusal_to(const std::string& door, const std::string& hello) {
  const Visit guest = visit(door, hello);
  const auto refusal = guest.get<Refusal>();
  return refusal ? std::string(name_of(refusal->kind)) + ": " + refusal->text : "no refusal";
}

}  // namespace

TEST_CASE("a consumer is admitted with what the producer gives it") {
  House house;
  Visit guest = join(house.door());
  REQUIRE(guest.get<Welcome>());
  CHECK(guest.get<Welcome>()->name == "trainer");
  REQUIRE(guest.message.descriptors.size() == 1);
  std::uint64_t value = 0;
  CHECK(::read(guest.message.descriptors[0].get(), &value, sizeof value) == sizeof value);
  CHECK(value == 42);
  CHECK(house.producer.pid_of(1) == ::getpid());
  const auto names = thread_names();
  CHECK(std::count(names.begin(), names.end(), "bc-door") == 1);
}

TEST_CASE("a consumer leaves with a word, without one, or by talking rubbish") {
  House house;
  Visit guest = join(house.door());
  REQUIRE(guest.get<Welcome>());
  SECTION("bye") {
    CHECK(guest.connection.send(encode(Bye{})) == DoorSend::sent);
    guest.connection.shutdown();
    CHECK(house.producer.how_left(1) == "bye");
  }
  SECTION("bye, while a forked child holds the socket") {
    const Pipe up;
    Child child([&] {
      up.put('x');
      ::pause();
      return 0;
    });
    static_cast<void>(up.get<char>());
    CHECK(guest.connection.send(encode(Bye{})) == DoorSend::sent);
    guest.connection.shutdown();
    CHECK(house.producer.how_left(1) == "bye");
  }
  SECTION("closed") {
    guest.connection = {};
    CHECK(house.producer.how_left(1) == "closed");
  }
  SECTION("rubbish") {
    CHECK(guest.connection.send("rubbish") == DoorSend::sent);
    CHECK(house.producer.how_left(1) == "misbehaved");
    DoorMessage message;
    REQUIRE(guest.connection.receive(message, 0, 5'000) == DoorRead::message);
    CHECK(std::holds_alternative<Farewell>(decode_from_producer(message.text)));
    CHECK(guest.connection.receive(message, 0, 5'000) == DoorRead::closed);
  }
  SECTION("a second hello") {
    CHECK(guest.connection.send(encode(hello_of())) == DoorSend::sent);
    CHECK(house.producer.how_left(1) == "misbehaved");
  }
  SECTION("descriptors that the producer did not ask for") {
    const FileDescriptor self = own_pidfd();
    CHECK(guest.connection.send(encode(Pause{}), std::array{self.get()}) == DoorSend::sent);
    CHECK(house.producer.how_left(1) == "misbehaved");
  }
  // None of this reaches the other consumers, and none leaves twice.
  Visit other = join(house.door(), hello_of("other"));
  REQUIRE(other.get<Welcome>());
  other.connection = {};
  CHECK(house.producer.how_left(2) == "closed");
  CHECK(house.producer.left_count == 2);
}

TEST_CASE("a consumer pauses and rejoins") {
  House house;
  Visit guest = join(house.door());
  CHECK(guest.connection.send(encode(Pause{})) == DoorSend::sent);
  guest.read = guest.connection.ask(encode(Rejoin{}), {}, guest.message, 0, 5'000);
  CHECK(house.producer.pauses == 1);
  REQUIRE(guest.get<Rejoined>());
  CHECK(guest.get<Rejoined>()->position == 100);
  guest.read = guest.connection.ask(encode(Rejoin{Join::at, 5}), {}, guest.message, 0, 5'000);
  REQUIRE(guest.get<Refusal>());
  CHECK(guest.get<Refusal>()->kind == RefusalKind::cursor_gone);
}

TEST_CASE("what consumers said before a hello is heard before it, however busy the door was") {
  House house;
  Visit guest = join(house.door());
  REQUIRE(guest.get<Welcome>());
  std::optional<Child> killed;
  const Pipe up;
  SECTION("bye") {}
  SECTION("bye, and the death of another process") {
    killed.emplace([&] {
      const Visit other = join(house.door());
      up.put('x');
      ::pause();
      return 0;
    });
    static_cast<void>(up.get<char>());
  }
  house.producer.busy = true;
  while (!house.producer.held) std::this_thread::yield();
  CHECK(guest.connection.send(encode(Pause{})) == DoorSend::sent);
  CHECK(guest.connection.send(encode(Bye{})) == DoorSend::sent);
  guest.connection.shutdown();
  if (killed) {
    killed->kill();
    static_cast<void>(killed->wait());
  }
  DoorAttempt newcomer = connect_door(house.door());
  REQUIRE(newcomer.answer == DoorAnswer::open);
  const FileDescriptor self = own_pidfd();
  REQUIRE(newcomer.connection.send(encode(hello_of()), std::array{self.get()}) == DoorSend::sent);
  const int are_to_leave = killed ? 2 : 1;
  house.producer.busy = false;
  DoorMessage message;
  REQUIRE(newcomer.connection.receive(message, 8, 5'000) == DoorRead::message);
  CHECK(house.producer.left_at_last_admission == are_to_leave);
}

TEST_CASE("the producer's refusal reaches the consumer") {
  House house;
  house.producer.refuse_all({RefusalKind::full, "all desks are taken"});
  const Visit guest = join(house.door());
  REQUIRE(guest.get<Refusal>());
  CHECK(guest.get<Refusal>()->text == "all desks are taken");
  CHECK(house.producer.left_count == 0);
}

TEST_CASE("an evicted consumer is told why") {
  House house;
  Visit guest = join(house.door());
  Visit other = join(house.door());
  house.keeper.evict(1, "made no progress for 60 s");
  house.keeper.evict(77, "nobody");
  CHECK(house.producer.how_left(1) == "evicted");
  DoorMessage message;
  REQUIRE(guest.connection.receive(message, 0, 5'000) == DoorRead::message);
  CHECK(std::get<Farewell>(decode_from_producer(message.text)).reason ==
        "made no progress for 60 s");
  CHECK(guest.connection.receive(message, 0, 5'000) == DoorRead::closed);
  CHECK(other.connection.receive(message, 0) == DoorRead::timed_out);
}

TEST_CASE("a killed consumer is seen within 50 ms, also while its forked child lives") {
  const bool with_child = GENERATE(false, true);
  const PidfdSource source = GENERATE(PidfdSource::kernel_if_it_can, PidfdSource::from_hello);
  CAPTURE(with_child, source == PidfdSource::from_hello);
  House house({.tick_ms = 60'000, .pidfd_source = source});  // no tick shows it
  std::vector<double> waits_ms;
  for (ConsumerKey key = 1; key <= 5; ++key) {
    const Pipe ready;
    Child consumer([&] {
      const Visit guest = join(house.door());
      if (!guest.get<Welcome>()) return 1;
      const pid_t child = with_child ? ::fork() : 1;
      if (child != 0) ready.put(child);
      ::pause();
      return 0;
    });
    const pid_t grandchild = ready.get<pid_t>();
    CHECK(house.producer.pid_of(key) == consumer.pid());
    const std::uint64_t killed_ns = now_ns();
    consumer.kill();
    const auto left = house.producer.wait_for_left(key);  // before it is reaped
    if (with_child) ::kill(grandchild, SIGKILL);
    REQUIRE(left);
    // The kernel closes a dying process's socket a moment before it says that the process is dead.
    CHECK((left->how == Leaving::died || (!with_child && left->how == Leaving::closed)));
    waits_ms.push_back(seconds_from_ns(left->at_ns - killed_ns) * 1'000);
  }
  std::sort(waits_ms.begin(), waits_ms.end());
  CHECK(waits_ms[2] < 50);
}

TEST_CASE("what a consumer said before it died is heard, however late its death is seen") {
  const bool says_bye = GENERATE(false, true);
  CAPTURE(says_bye);
  House house({.tick_ms = 1});
  const Pipe joined;
  const Pipe go;
  Child consumer([&] {
    Visit guest = join(house.door());
    if (!guest.get<Welcome>()) return 1;
    joined.put('x');
    static_cast<void>(go.get<char>());
    const bool sent = guest.connection.send(encode(EpochEnd{})) == DoorSend::sent &&
                      (!says_bye || guest.connection.send(encode(Bye{})) == DoorSend::sent);
    return sent ? 0 : 1;
  });
  static_cast<void>(joined.get<char>());
  house.producer.busy = true;
  while (!house.producer.held) std::this_thread::yield();
  go.put('x');
  CHECK(consumer.wait() == 0);
  house.producer.busy = false;
  CHECK(house.producer.how_left(1) == (says_bye ? "bye" : "died"));
  CHECK(house.producer.epochs_ended == 1);
}

TEST_CASE("what an epoch's end means for others is told at once, not with the next tick") {
  House house({.tick_ms = 3'600'000});
  house.producer.dismisses_at_epoch_end = true;
  Visit guest = join(house.door());
  REQUIRE(guest.get<Welcome>());
  CHECK(guest.connection.send(encode(EpochEnd{})) == DoorSend::sent);
  REQUIRE(guest.connection.receive(guest.message, 0, 5'000) == DoorRead::message);
  REQUIRE(guest.get<Farewell>());
  CHECK(guest.get<Farewell>()->reason == "its epoch ended");
  CHECK(house.producer.how_left(1) == "evicted");
}

TEST_CASE("a hello that cannot be read is refused with the reason") {
  House house;
  CHECK_THAT(refusal_to(house.door(), "rubbish"), Contains("bad_hello:") && Contains("record"));
  CHECK_THAT(refusal_to(house.door(), std::string(limits::consumer_record_bytes_max, '{')),
             Contains("bad_hello:"));
  Hello other_version = hello_of();
  other_version.layout_version = 8;
  CHECK_THAT(refusal_to(house.door(), encode(other_version)),
             Contains("layout:") && Contains("version 7") && Contains("version 8"));

  DoorAttempt oversized = connect_door(house.door());
  const std::string text(64 * 1024, '[');
  REQUIRE(::write(oversized.connection.native_handle(), text.data(), text.size()) ==
          static_cast<ssize_t>(text.size()));
  DoorMessage message;
  REQUIRE(oversized.connection.receive(message, 0, 5'000) == DoorRead::message);
  CHECK(std::get<Refusal>(decode_from_producer(message.text)).kind == RefusalKind::bad_hello);
  CHECK_THAT(message.text, Contains("more than 1024 bytes"));
  CHECK(oversized.connection.receive(message, 0, 5'000) == DoorRead::closed);
  CHECK(house.producer.last_key == 0);
}

TEST_CASE("a consumer that closes without a word delays no other while its death is awaited") {
  House house({.tick_ms = 1'000});
  std::vector<Visit> guests;
  for (int i = 0; i < 200; ++i) guests.push_back(join(house.door()));
  const std::uint64_t before_ns = now_ns();
  guests.clear();
  CHECK(holds_within(5'000, [&] { return house.producer.left_count == 200; }));
  CHECK(seconds_from_ns(now_ns() - before_ns) < 0.2);  // 2 ms each would be 0.4 s
  CHECK(house.producer.how_left(1) == "closed");
}

TEST_CASE("a client that says nothing is refused after the hello's time") {
  House house({.tick_ms = 10, .hello_timeout_ms = 50});
  DoorAttempt mute = connect_door(house.door());
  DoorMessage message;
  REQUIRE(mute.connection.receive(message, 0, 5'000) == DoorRead::message);
  CHECK_THAT(message.text, Contains("no hello"));
  CHECK(mute.connection.receive(message, 0, 5'000) == DoorRead::closed);
}

TEST_CASE("where the kernel has no SO_PEERPIDFD, the hello's pidfd must be the consumer's own") {
  House house({.pidfd_source = PidfdSource::from_hello});
  const FileDescriptor forged(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  const FileDescriptor no_pidfd(::eventfd(0, EFD_CLOEXEC));
  const auto text_to = [&](std::vector<int> descriptors) {
    const Visit guest = visit(house.door(), encode(hello_of()), std::move(descriptors));
    const auto refusal = guest.get<Refusal>();
    return refusal ? refusal->text : "no refusal";
  };
  CHECK_THAT(text_to({forged.get()}), Contains("of process"));
  CHECK_THAT(text_to({no_pidfd.get()}), Contains("no pidfd"));
  CHECK_THAT(text_to({}), Contains("carries no pidfd"));
  CHECK_THAT(text_to({forged.get(), forged.get()}), Contains("did not arrive"));
  CHECK(house.producer.last_key == 0);
  CHECK(join(house.door()).get<Welcome>());
}

TEST_CASE("ticks come and nothing else happens to an idle door") {
  House house({.tick_ms = 5});
  CHECK(holds_within(5'000, [&] { return house.producer.ticks >= 10; }));
}

TEST_CASE("stopping is quick and calls no event") {
  House house({.tick_ms = 60'000});  // it waits for none
  Visit guest = join(house.door());
  const std::uint64_t before_ns = now_ns();
  house.keeper.stop();
  CHECK(seconds_from_ns(now_ns() - before_ns) < 5);
  DoorMessage message;
  CHECK(guest.connection.receive(message, 0, 5'000) == DoorRead::closed);
  CHECK(house.producer.left_count == 0);
  CHECK(connect_door(house.door()).answer == DoorAnswer::unserved);
}

TEST_CASE("a forked child of the producer cannot disturb its door") {
  House house;
  Visit guest = join(house.door());
  Child child([&] {
    house.keeper.~DoorServer();
    house.directory.~StreamDirectory();
    return 0;
  });
  CHECK(child.wait() == 0);
  guest.read = guest.connection.ask(encode(Rejoin{}), {}, guest.message, 0, 5'000);
  CHECK(guest.get<Rejoined>());
  CHECK(join(house.door()).get<Welcome>());
}

TEST_CASE("a program that closes the door's descriptors loses the door, and is told") {
  const bool removed = GENERATE(false, true);
  // In a process of its own, whose other descriptors are no loss.
  Child child([&] {
    House house;
    ::close_range(3, 1'000, 0);
    if (removed) ::unlink(house.door().c_str());
    for (int i = 0; i < 5'000 && !house.producer.lost; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return house.producer.lost ? 0 : 1;
  });
  CHECK(child.wait() == 0);
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Pausing, joining again and leaving, over a ring on the heap: the test is the producer at the
// other end of the door.
#include "../catch.hpp"
#include "../ring/heap_ring.hpp"
#include "join/producer_messages.hpp"

#include <batchcast/consumer/attached_process.hpp>
#include <batchcast/consumer/membership.hpp>
#include <batchcast/consumer/producer_link.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

using namespace batchcast;
using namespace batchcast::testing;
using batchcast::detail::Membership;

namespace {

using Loop = Membership::Loop;
using For = Membership::For;

constexpr int soon_ms = 20;     // for an answer that does not come
constexpr int long_ms = 5'000;  // for one that does

/// The two ends of a door's connection.
struct Door {
  Door() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    consumer = DoorConnection(FileDescriptor(ends[0]));
    producer = DoorConnection(FileDescriptor(ends[1]));
  }
  DoorConnection consumer;
  DoorConnection producer;
};

/// A consumer with `let_go` between its loops, unless its options say otherwise, and its producer.
struct Scene {
  explicit Scene(ConsumerOptions wanted = {.stream = "heap",
                                           .between_epochs = BetweenEpochs::let_go})
      : options(std::move(wanted)) {
    while (ring.produce(8) != 0) continue;
  }

  /// What the consumer has said since the last call; nothing where it was silent.
  template <class Message>
  [[nodiscard]] std::optional<Message> heard() {
    DoorMessage message;
    if (door.producer.receive(message, 0) != DoorRead::message) return std::nullopt;
    const ConsumerMessage said = decode_from_consumer(message.text);
    REQUIRE(std::holds_alternative<Message>(said));
    return std::get<Message>(said);
  }
  [[nodiscard]] bool is_silent() {
    DoorMessage message;
    return door.producer.receive(message, 0) == DoorRead::timed_out;
  }
  template <class Message>
  void answer(const Message& message) {
    REQUIRE(door.producer.send(encode(message)) == DoorSend::sent);
  }
  Loop begin_loop(int timeout_ms, For reason = For::loop) {
    return membership.begin_loop(timeout_ms, reason);
  }
  /// Joins a loop where the producer says.
  void join_at(std::uint64_t position) {
    answer(Rejoined{.position = position});
    REQUIRE(begin_loop(long_ms) == Loop::joined);
    REQUIRE(heard<Rejoin>());
  }
  void give_back(const Run& run) {
    if (consumer.reader->give_back(run.lease)) membership.leases_are_back();
  }

  HeapRing ring{64, epochs_of(8)};
  HeapConsumer consumer{ring, joining(Join::rewind)};
  ConsumerOptions options;
  detail::AttachedProcess process{"heap"};
  Door door;
  detail::ProducerLink link{process, std::move(door.consumer)};
  Membership membership{options, link, ring.board(), *consumer.reader};
};

}  // namespace

TEST_CASE("a consumer that holds its place is in every loop, and says nothing between two") {
  Scene scene(ConsumerOptions{});
  CHECK_FALSE(scene.membership.has_let_go());
  scene.membership.end_loop();
  CHECK_FALSE(scene.membership.has_let_go());
  CHECK(scene.is_silent());
}

TEST_CASE("a loop begins where the producer says, and its end pauses the consumer") {
  Scene scene(
      {.stream = "heap", .join = Join::next_epoch, .between_epochs = BetweenEpochs::let_go});
  CHECK(scene.membership.has_let_go());
  scene.answer(Rejoined{.position = 16});
  int left_ms = long_ms;
  CHECK(scene.membership.begin_loop(left_ms, For::loop) == Loop::joined);
  CHECK((left_ms > 0 && left_ms <= long_ms));
  CHECK(scene.heard<Rejoin>()->join == Join::next_epoch);
  CHECK(scene.consumer.reader->position() == 16);
  CHECK_FALSE(scene.membership.has_let_go());
  scene.membership.end_loop();
  CHECK(scene.heard<Pause>());
  CHECK(scene.membership.has_let_go());
  scene.membership.end_loop();  // it has paused already
  CHECK(scene.is_silent());
}

TEST_CASE("the pause waits for the last lease, which may come back on any thread") {
  Scene scene;
  scene.join_at(0);
  const Run first = take(scene.consumer, 2);
  const Run second = take(scene.consumer, 2);
  scene.membership.end_loop();
  CHECK(scene.membership.has_let_go());
  scene.give_back(second);
  CHECK(scene.is_silent());
  std::thread([&] { scene.give_back(first); }).join();
  CHECK(scene.heard<Pause>());
  CHECK(scene.membership.has_let_go());
}

TEST_CASE("a loop that begins while the last one's batches are held keeps the place") {
  Scene scene;
  scene.join_at(0);
  const Run held = take(scene.consumer, 2);
  scene.membership.end_loop();
  CHECK(scene.begin_loop(0) == Loop::joined);
  CHECK_FALSE(scene.membership.has_let_go());
  scene.give_back(held);
  CHECK(scene.is_silent());
  CHECK(scene.consumer.reader->position() == 2);
}

TEST_CASE("a loop that timed out is continued by the next call, which does not ask again") {
  Scene scene;
  CHECK(scene.begin_loop(soon_ms) == Loop::timed_out);
  CHECK(scene.heard<Rejoin>());
  CHECK(scene.begin_loop(soon_ms) == Loop::timed_out);
  CHECK(scene.is_silent());
  scene.answer(Rejoined{.position = 24});
  CHECK(scene.begin_loop(long_ms) == Loop::joined);
  CHECK(scene.is_silent());
  CHECK(scene.consumer.reader->position() == 24);
}

TEST_CASE("the answer to a loop that was given up is not taken for the next one's") {
  Scene scene;
  CHECK(scene.begin_loop(soon_ms) == Loop::timed_out);
  CHECK(scene.heard<Rejoin>());
  scene.membership.give_up_loop();
  CHECK(scene.heard<Pause>());  // the stream does not wait for it
  scene.membership.give_up_loop();
  CHECK(scene.is_silent());
  CHECK(scene.begin_loop(soon_ms) == Loop::timed_out);  // the first answer is still to come
  CHECK(scene.is_silent());
  scene.answer(Rejoined{.position = 8});
  scene.answer(Rejoined{.position = 32});
  CHECK(scene.begin_loop(long_ms) == Loop::joined);
  CHECK(scene.heard<Rejoin>());
  CHECK(scene.consumer.reader->position() == 32);
}

TEST_CASE("a cursor is where the first loop begins, and a look does not use it up") {
  Scene scene(
      {.stream = "heap", .join = Join::at, .cursor = 8, .between_epochs = BetweenEpochs::let_go});
  CHECK(scene.consumer.reader->position() == 8);  // before any loop
  for (const For reason : {For::look, For::loop}) {
    scene.answer(Rejoined{.position = 8});
    CHECK(scene.begin_loop(long_ms, reason) == Loop::joined);
    const auto asked = scene.heard<Rejoin>();
    CHECK((asked->join == Join::at && asked->cursor == RowPlace{8, 0}));
    scene.membership.end_loop();
    CHECK(scene.heard<Pause>());
  }
  scene.answer(Rejoined{.position = 16});
  CHECK(scene.begin_loop(long_ms) == Loop::joined);
  CHECK(scene.heard<Rejoin>()->join == Join::rewind);
}

TEST_CASE("a refusal ends a loop before it begins") {
  Scene scene;
  scene.answer(Refusal{RefusalKind::finished, "all is made"});
  CHECK(scene.begin_loop(long_ms) == Loop::stream_is_over);
  scene.answer(Refusal{RefusalKind::cursor_gone, "it is gone"});
  CHECK_THROWS_WITH(scene.begin_loop(long_ms), "it is gone");
  CHECK(scene.membership.has_let_go());
  CHECK(scene.heard<Rejoin>());
  CHECK(scene.heard<Rejoin>());
}

TEST_CASE("a door that closes says how the stream ended") {
  Scene scene;
  SECTION("stopped") {
    scene.ring.writer().stop("enough");
    scene.door.producer = DoorConnection();
    CHECK_THROWS_WITH(scene.begin_loop(long_ms),
                      Catch::Contains("was stopped between two loops: enough"));
  }
  SECTION("the producer died, with the question asked") {
    CHECK(scene.begin_loop(soon_ms) == Loop::timed_out);
    scene.door.producer = DoorConnection();
    CHECK_THROWS_AS(scene.begin_loop(long_ms), ProducerGone);
  }
  SECTION("the consumer was evicted") {
    scene.ring.writer().evict(scene.consumer.admitted.index, scene.consumer.admitted.consumer_id);
    CHECK_THROWS_AS(scene.begin_loop(long_ms), Revoked);
  }
  SECTION("what it says is no answer") {
    scene.answer(Forming{"rank 1"});
    CHECK_THROWS_AS(scene.begin_loop(long_ms), ProducerGone);
  }
}

TEST_CASE("a consumer that holds its place moves where the producer lets it") {
  Scene scene(ConsumerOptions{});
  Membership& membership = scene.membership;
  const auto position = [&] { return scene.consumer.reader->position(); };
  SECTION("it does, late") {
    CHECK(membership.move_to({24, 0}, soon_ms) == std::nullopt);
    const auto asked = scene.heard<Rejoin>();
    CHECK((asked->join == Join::at && asked->cursor == RowPlace{24, 0}));
    scene.answer(Rejoined{.position = 24});
    CHECK(membership.move_to({24, 0}, long_ms) == true);
    CHECK(scene.is_silent());
    CHECK(position() == 24);
  }
  SECTION("an older producer answers where it stands") {
    scene.answer(Rejoined{.position = 0});
    CHECK(membership.move_to({24, 0}, long_ms) == false);
    CHECK(position() == 0);
  }
  SECTION("the place is not there") {
    const RefusalKind kind = GENERATE(RefusalKind::cursor_gone, RefusalKind::finished);
    scene.answer(Refusal{kind, "not that place"});
    CHECK_THROWS_WITH(membership.move_to({24, 0}, long_ms), "not that place");
    CHECK(position() == 0);
  }
  SECTION("the producer does not do that") {
    scene.answer(Refusal{RefusalKind::bad_hello, "what?"});
    CHECK(membership.move_to({24, 0}, long_ms) == false);
  }
  SECTION("the door is closed") {
    scene.door.producer = DoorConnection();
    CHECK(membership.move_to({24, 0}, long_ms) == false);
  }
}

TEST_CASE("a consumer leaves once, with its last lease") {
  Scene scene(ConsumerOptions{});
  const bool holds = GENERATE(false, true);
  std::optional<Run> held;
  if (holds) held = take(scene.consumer, 2);
  scene.membership.leave();
  if (holds) {
    CHECK(scene.is_silent());
    scene.give_back(*held);
  }
  CHECK(scene.heard<Bye>());
  DoorMessage message;
  CHECK(scene.door.producer.receive(message, 0) == DoorRead::closed);
}

TEST_CASE("a consumer that leaves before its pause does not pause") {
  Scene scene;
  scene.join_at(0);
  const Run held = take(scene.consumer, 2);
  scene.membership.end_loop();
  scene.membership.leave();
  scene.give_back(held);
  CHECK(scene.heard<Bye>());
}

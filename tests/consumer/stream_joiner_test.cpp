// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Finding a stream and being let in: the test is the producer, behind a door that it opens itself.
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "join/bound_socket.hpp"
#include "join/producer_messages.hpp"

#include <batchcast/consumer/stream_joiner.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/join/unix_socket.hpp>
#include <batchcast/ring/layout.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace batchcast;
using batchcast::detail::Deadline;
using batchcast::detail::Joined;
using batchcast::detail::StreamJoiner;

namespace {

constexpr int long_ms = 10'000;

/// What the first thing said at the door was.
struct Visitor {
  DoorConnection connection;
  Hello hello;
  std::vector<FileDescriptor> descriptors;

  template <class Message>
  void answer(const Message& message, std::span<const int> fds = {}) {
    REQUIRE(connection.send(encode(message), fds) == DoorSend::sent);
  }
  [[nodiscard]] bool says_bye() {
    DoorMessage message;
    return connection.receive(message, 0, long_ms) == DoorRead::message &&
           std::holds_alternative<Bye>(decode_from_consumer(message.text));
  }
  /// It has hung up, so it will come again or has failed.
  [[nodiscard]] bool has_left() {
    DoorMessage message;
    return connection.receive(message, 0, long_ms) == DoorRead::closed;
  }
};

/// A stream's folder, the consumer that looks for it on a thread, and the door once it is open.
class Scene {
 public:
  Scene() {
    options.stream = "found";
    options.directory = folder_.path();
    options.log = [this](LogLevel, std::string_view text) { said_ += std::string(text) + "\n"; };
  }

  void open_door() {
    std::filesystem::create_directories(paths_.directory);
    socket_ = listen_at(paths_.door, SOCK_SEQPACKET, 0600).socket;
  }
  void start(int timeout_ms = long_ms, int group_timeout_ms = long_ms) {
    joined_ = std::async(std::launch::async, [=, this] {
      return StreamJoiner(options, "host", Deadline(timeout_ms), Deadline(group_timeout_ms)).join();
    });
  }
  /// The next consumer at the door, which has said hello.
  [[nodiscard]] Visitor visitor() {
    Visitor visitor{accept(), {}, {}};
    DoorMessage message;
    REQUIRE(visitor.connection.receive(message, 1, long_ms) == DoorRead::message);
    auto hello = decode_hello(message.text, layout_version);
    REQUIRE(std::holds_alternative<Hello>(hello));
    visitor.hello = std::get<Hello>(hello);
    visitor.descriptors = std::move(message.descriptors);
    return visitor;
  }
  /// The next consumer at the door, which is not heard.
  [[nodiscard]] DoorConnection accept() {
    REQUIRE(someone_knocks(long_ms));
    return DoorConnection(FileDescriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  }
  [[nodiscard]] bool someone_knocks(int timeout_ms) const {
    pollfd waits{socket_.get(), POLLIN, 0};
    return ::poll(&waits, 1, timeout_ms) == 1;
  }
  /// The consumer neither joined nor failed yet.
  [[nodiscard]] bool is_awaited() const {
    return joined_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }
  /// What came of it. Throws what `join` throws.
  [[nodiscard]] Joined joined() { return joined_.get(); }
  /// What the consumer has logged. Once it has joined or failed.
  [[nodiscard]] const std::string& said() const noexcept { return said_; }
  [[nodiscard]] const std::string& directory() const noexcept { return folder_.path(); }

  ConsumerOptions options;

 private:
  batchcast::testing::TemporaryFolder folder_;
  StreamPaths paths_ = stream_paths(folder_.path(), "found");
  FileDescriptor socket_;
  std::string said_;
  std::future<Joined> joined_;  // last: its thread uses what stands above
};

Welcome welcome() {
  return {.stream = "found", .consumer_id = 7, .name = "c", .position = 40, .segment_bytes = {8}};
}

}  // namespace

TEST_CASE("a hello says what the options say, and a welcome comes with its descriptors") {
  Scene scene;
  scene.options.name = "trainer";
  scene.options.batch_size = 48;
  scene.options.pace = Pace::free;
  scene.options.join = Join::at;
  scene.options.cursor = 96;
  scene.options.between_epochs = BetweenEpochs::let_go;
  scene.options.tail = Tail::pad;
  scene.open_door();
  scene.start();
  Visitor visitor = scene.visitor();
  const Hello& hello = visitor.hello;
  CHECK((hello.name == "trainer" && hello.batch_size == 48 && hello.pace == Pace::free));
  CHECK((hello.join == Join::at && hello.cursor == 96));
  CHECK((hello.between_epochs == BetweenEpochs::let_go && !hello.observes));
  CHECK((hello.pid == ::getpid() && hello.placement == "host"));
  CHECK((hello.group.empty() && hello.world == 0));
  REQUIRE(visitor.descriptors.size() == 1);
  CHECK_FALSE(is_dead(visitor.descriptors[0]));  // its pidfd
  const FileDescriptor fd(::eventfd(3, 0));
  visitor.answer(welcome(), std::array{fd.get(), fd.get()});
  const Joined joined = scene.joined();
  CHECK((joined.welcome.position == 40 && joined.welcome.consumer_id == 7));
  CHECK(joined.descriptors.size() == 2);
  std::uint64_t value = 0;
  CHECK(::read(joined.descriptors.at(0).get(), &value, sizeof value) == sizeof value);
  CHECK(value == 3);
  CHECK(static_cast<bool>(joined.door));
}

TEST_CASE("a rank says which it is, and has its group's name where it has none") {
  Scene scene;
  scene.options.group = {"ddp", 1, 4};
  scene.options.tail = Tail::drop;
  scene.open_door();
  scene.start();
  Visitor visitor = scene.visitor();
  CHECK((visitor.hello.group == "ddp" && visitor.hello.rank == 1 && visitor.hello.world == 4));
  CHECK((visitor.hello.tail == Tail::drop && visitor.hello.name == "ddp:1"));
  visitor.answer(welcome());
  CHECK(scene.joined().welcome.consumer_id == 7);
}

TEST_CASE("a name that is too long for a record is cut, and a rank keeps its number") {
  Scene scene;
  const std::string long_name(limits::consumer_name_bytes_max, 'g');
  const bool is_rank = GENERATE(false, true);
  if (is_rank) {
    scene.options.group = {long_name, 3, 4};
  } else {
    scene.options.name = long_name + "more";
  }
  scene.open_door();
  scene.start();
  Visitor visitor = scene.visitor();
  CHECK(visitor.hello.name.size() == limits::consumer_name_bytes_max);
  if (is_rank) CHECK(visitor.hello.name.ends_with(":3"));
  visitor.answer(welcome());
  static_cast<void>(scene.joined());
}

TEST_CASE("a stream that is not there is awaited until the deadline, and the error says where") {
  Scene scene;
  const auto began = std::chrono::steady_clock::now();
  scene.start(1'000);
  try {
    static_cast<void>(scene.joined());
    FAIL("it joined");
  } catch (const StreamNotFound& error) {
    const std::string text = error.what();
    CHECK_THAT(text, Catch::Contains("no producer serves a stream `found`"));
    CHECK_THAT(text, Catch::Contains("(waited 1."));
    CHECK_THAT(text, Catch::Contains(scene.directory()));
    CHECK_THAT(text, Catch::Contains("batchcast serve"));
  }
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::seconds(1));
  CHECK_THAT(scene.said(), Catch::Contains("waiting for a producer to serve stream `found`"));
}

TEST_CASE("a stream that comes while it is awaited is joined") {
  Scene scene;
  std::promise<void> looked;
  bool told = false;
  scene.options.while_waiting = [&] {
    if (!std::exchange(told, true)) looked.set_value();
  };
  scene.start();
  looked.get_future().wait();
  scene.open_door();
  scene.visitor().answer(welcome());
  CHECK(scene.joined().welcome.position == 40);
}

TEST_CASE("what `while_waiting` throws ends the search, and the wait for an answer") {
  struct GivenUp {};
  Scene scene;
  scene.options.while_waiting = [] { throw GivenUp(); };
  const bool has_door = GENERATE(false, true);
  if (has_door) scene.open_door();
  scene.start();
  CHECK_THROWS_AS(scene.joined(), GivenUp);
}

TEST_CASE("a refusal is an error at once, of the kind that it is") {
  Scene scene;
  scene.open_door();
  scene.start();
  Visitor visitor = scene.visitor();
  SECTION("finished") {
    visitor.answer(Refusal{RefusalKind::finished, "all is made"});
    CHECK_THROWS_AS(scene.joined(), StreamFinished);
  }
  SECTION("too small") {
    visitor.answer(Refusal{RefusalKind::ring_too_small, "a batch does not fit"});
    CHECK_THROWS_AS(scene.joined(), RingTooSmall);
  }
  SECTION("any other") {
    visitor.answer(Refusal{RefusalKind::full, "no place is left"});
    CHECK_THROWS_WITH(scene.joined(), "no place is left");
  }
}

TEST_CASE("a producer that is busy is asked again") {
  Scene scene;
  scene.open_door();
  const bool lets_in = GENERATE(true, false);
  scene.start(lets_in ? long_ms : 300);
  if (lets_in) {
    for (int times = 0; times < 2; ++times) {
      Visitor visitor = scene.visitor();
      visitor.answer(Refusal{RefusalKind::busy, "that name is still taken"});
      CHECK(visitor.has_left());
    }
    scene.visitor().answer(welcome());
    CHECK(scene.joined().welcome.consumer_id == 7);
    return;
  }
  while (scene.is_awaited()) {
    if (scene.someone_knocks(20)) {
      scene.visitor().answer(Refusal{RefusalKind::busy, "that name is still taken"});
    }
  }
  CHECK_THROWS_WITH(scene.joined(), "that name is still taken");
}

TEST_CASE("a producer that leaves without an answer is asked again") {
  Scene scene;
  scene.open_door();
  scene.start();
  static_cast<void>(scene.visitor());
  scene.visitor().answer(welcome());
  CHECK(scene.joined().welcome.consumer_id == 7);
}

TEST_CASE("a process that holds the door and says nothing is named") {
  Scene scene;
  scene.open_door();
  scene.start(300);
  const DoorConnection silent = scene.accept();
  try {
    static_cast<void>(scene.joined());
    FAIL("it joined");
  } catch (const StreamNotFound& error) {
    const std::string process = "process " + std::to_string(::getpid());
    CHECK_THAT(error.what(),
               Catch::Contains(process + " holds stream `found` and does not answer"));
  }
}

TEST_CASE("an answer that is none is an error") {
  Scene scene;
  scene.open_door();
  scene.start();
  Visitor visitor = scene.visitor();
  SECTION("another message") {
    visitor.answer(Farewell{"evicted"});
    CHECK_THROWS_WITH(scene.joined(), Catch::Contains("neither a welcome nor a refusal"));
  }
  SECTION("more descriptors than a stream can have") {
    const FileDescriptor fd(::eventfd(0, 0));
    const std::vector<int> many(200, fd.get());
    visitor.answer(welcome(), many);
    CHECK_THROWS_WITH(scene.joined(), Catch::Contains("did not arrive"));
  }
}

TEST_CASE("a rank waits until its group is complete") {
  Scene scene;
  scene.options.group = {"ddp", 0, 3};
  scene.open_door();
  SECTION("it is, in the end") {
    scene.start();
    Visitor visitor = scene.visitor();
    visitor.answer(Forming{"ranks 1 and 2 have not come"});
    visitor.answer(Forming{"rank 2 has not come"});
    visitor.answer(welcome());
    CHECK(scene.joined().welcome.consumer_id == 7);
  }
  SECTION("another rank is refused, and so is this one") {
    scene.start();
    Visitor visitor = scene.visitor();
    visitor.answer(Forming{"ranks 1 and 2 have not come"});
    visitor.answer(Refusal{RefusalKind::group, "rank 1 has another batch size"});
    CHECK_THROWS_WITH(scene.joined(), "rank 1 has another batch size");
  }
  SECTION("the deadline is the group's, and the place is free at once") {
    scene.start(long_ms, 1'000);
    Visitor visitor = scene.visitor();
    visitor.answer(Forming{"rank 2 has not come"});
    CHECK(visitor.says_bye());
    CHECK_THROWS_WITH(scene.joined(),
                      Catch::Contains("group `ddp` of stream `found` is not complete after 1.") &&
                          Catch::Contains("rank 2 has not come"));
    CHECK_THAT(scene.said(), Catch::Contains("waiting for the ranks of group `ddp`"));
  }
  SECTION("the producer goes meanwhile, and another one comes") {
    scene.start();
    {
      Visitor visitor = scene.visitor();
      visitor.answer(Forming{"rank 2 has not come"});
    }
    scene.visitor().answer(welcome());
    CHECK(scene.joined().welcome.consumer_id == 7);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "consumer_scene.hpp"
#include "door/listener.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/layout.hpp>
#include "join/producer_messages.hpp"
#include "stream/stream_directory.hpp"

#include <string>
#include <thread>
#include <variant>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

// What a consumer that asks for a GPU is told where it cannot have it.
namespace {

std::string message_of(const std::function<void()>& attach) {
  try {
    attach();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Answers the first hello at the door of stream `s` with these words.
class ForeignProducer {
 public:
  ForeignProducer(const std::string& directory, Welcome welcome)
      : directory_({"s", directory}),
        door_(directory_.paths().door, 0600),
        thread_([this, welcome = std::move(welcome)] { answer(welcome); }) {}
  ~ForeignProducer() { thread_.join(); }
  [[nodiscard]] const Hello& hello() const noexcept { return hello_; }

 private:
  void answer(const Welcome& welcome) {
    DoorConnection client;
    while (door_.accept(client) != DoorListener::Outcome::accepted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    DoorMessage message;
    if (client.receive(message, 1, 5'000) != DoorRead::message) return;
    auto hello = decode_hello(message.text, layout_version);
    if (auto* said = std::get_if<Hello>(&hello)) hello_ = *said;
    static_cast<void>(client.send(encode(welcome)));
  }

  StreamDirectory directory_;
  DoorListener door_;
  Hello hello_;
  std::thread thread_;
};

using Folder = batchcast::testing::TemporaryFolder;

ConsumerOptions consumer_in(const std::string& directory, const char* placement) {
  ConsumerOptions options;
  options.stream = "s";
  options.directory = directory;
  options.placement = placement;
  options.connect_timeout_ms = 5'000;
  return options;
}

Welcome some_welcome(const std::string& placement) {
  Welcome welcome;
  welcome.stream = "s";
  welcome.name = "c";
  welcome.board_bytes = welcome.desk_bytes = 4'096;
  welcome.segment_bytes = {4'096, 4'096};
  welcome.placement = placement;
  return welcome;
}

}  // namespace

TEST_CASE("a consumer that wants a GPU is told at once where there is none", "[gpu]") {
  const Folder folder;
  SECTION("no device") {
    const FakeSettings fake("devices=0");
    CHECK_THROWS_AS(Consumer(consumer_in(folder.path(), "cuda:0")), GpuUnavailable);
  }
  SECTION("for pinning") {
    const FakeSettings fake("devices=0");
    ConsumerOptions options = consumer_in(folder.path(), "host");
    options.pin = true;
    CHECK_THROWS_AS(Consumer(options), GpuUnavailable);
  }
}

// A driver that had no GPU when it was first asked is not asked again: this needs a process of its
// own, or an earlier test with one.
TEST_CASE("a consumer that wants a GPU which this process does not see is told at once", "[gpu]") {
  const Folder folder;
  const FakeSettings fake("devices=1");
  CHECK_THROWS_AS(Consumer(consumer_in(folder.path(), "cuda:3")), GpuUnavailable);
  CHECK_THAT(message_of([&] { Consumer(consumer_in(folder.path(), "cuda:3")); }),
             Contains("cuda:3"));
}

TEST_CASE("pinning that cannot be says why, and what to do instead", "[gpu]") {
  SECTION("it is refused") {
    const FakeSettings fake("granularity=4K read_only_register=1 register_fails=2");
    Scene scene(Where::pinned);
    const std::uint64_t pinned_before = batchcast_fake_cuda_count().registered_bytes;
    CHECK_THROWS_AS(Consumer(scene.consumer(16)), GpuError);
    CHECK(batchcast_fake_cuda_count().registered_bytes == pinned_before);
  }
  SECTION("its batches are on a GPU anyway") {
    const FakeSettings fake("granularity=4K");
    const Folder folder;
    ConsumerOptions options = consumer_in(folder.path(), "cuda:0");
    options.pin = true;
    CHECK_THROWS_AS(Consumer(options), InvalidArgument);
  }
}

TEST_CASE("a stream that is not served on a GPU is refused with the producer's words", "[gpu]") {
  const FakeSettings fake("granularity=4K");
  Scene scene(Where::pinned);
  ConsumerOptions options = scene.consumer(16);
  options.pin = false;
  options.placement = "cuda:0";
  CHECK_THROWS_AS(Consumer(options), Refused);
  CHECK_THAT(message_of([&] { Consumer consumer(options); }), Contains("--place"));
}

TEST_CASE("what a producer offers must be what was asked for", "[gpu]") {
  const FakeSettings fake("granularity=4K");
  const Folder folder;
  const auto refusal = [&](const Welcome& welcome, const char* placement) {
    const ForeignProducer producer(folder.path(), welcome);
    CHECK_THROWS_AS(Consumer(consumer_in(folder.path(), placement)), Refused);
    const ForeignProducer again(folder.path() + "/again", welcome);
    return message_of([&] { Consumer(consumer_in(folder.path() + "/again", placement)); });
  };
  SECTION("an older one knows no placements") {
    CHECK_THAT(refusal(some_welcome("host"), "cuda:0"), Contains("version that knows no GPUs"));
  }
  SECTION("device memory for a consumer on the host") {
    Welcome welcome = some_welcome("host");
    welcome.segment_kinds = {SegmentKind::cuda_fd, SegmentKind::memfd};
    static_cast<void>(refusal(welcome, "host"));
  }
}

TEST_CASE("a batch larger than the ring on the GPU says what memory that would take", "[gpu]") {
  const FakeSettings fake("granularity=4K");
  Scene scene(Where::device);
  Consumer consumer(scene.consumer(16));
  CHECK_THROWS_AS(consumer.set_batch_size(consumer.capacity() + 1), RingTooSmall);
  const std::uint64_t half = consumer.capacity();  // the memory is full of samples of 256 bytes
  CHECK_THAT(message_of([&] { consumer.set_batch_size(2 * half); }),
             Contains("--device-memory " + memory_argument(2 * half * 256)));
}

TEST_CASE("a field on the GPU cannot be looked at from the host by mistake", "[gpu]") {
  const FakeSettings fake("granularity=4K");
  Scene scene(Where::device);
  Consumer consumer(scene.consumer(16));
  REQUIRE(scene.publish(16) == 16);
  const std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  CHECK_THROWS_AS(batch->field<std::uint64_t>("x"), InvalidArgument);
  CHECK(batch->fields()[0].on_device);
  CHECK_FALSE(batch->fields()[1].on_device);
  CHECK(batch->sample_ids()[3] == 3);
}

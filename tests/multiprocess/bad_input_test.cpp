// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "door/listener.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/join/records.hpp>
#include <batchcast/ring/layout.hpp>
#include "join/producer_messages.hpp"
#include "stream/stream_directory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Kind and text of what the call throws; empty if it does not.
template <class Call>
std::string thrown_by(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return kind_of(error) + ": " + error.what();
  }
  return {};
}

std::string refusal_of(ConsumerOptions options) {
  return thrown_by([&] { const Consumer consumer(std::move(options)); });
}
std::string refusal_of(ProducerOptions options) {
  return thrown_by([&] { const Producer producer(std::move(options)); });
}

ConsumerOptions mine(std::uint64_t batch_size = 8) {
  ConsumerOptions options;
  options.stream = "s";
  options.batch_size = batch_size;
  options.connect_timeout_ms = 20'000;
  options.log = [](LogLevel, std::string_view) {};
  return options;
}

bool says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) {
      WARN("`" << part << "` is not in: " << text);
      return false;
    }
  }
  return true;
}

/// More consumers than this process may open files for.
int too_many_consumers(const Words&) {
  const rlimit few{256, 256};
  ::setrlimit(RLIMIT_NOFILE, &few);
  ProducerOptions options = producer_options();
  options.max_consumers = 1'000;
  say("refused " + refusal_of(std::move(options)));
  return 0;
}

const RoleRegistration role("too_many_consumers", too_many_consumers);

}  // namespace

TEST_CASE("a stream that nobody serves", "[input][short]") {
  const OwnDirectory directory;
  std::string noticed;
  ConsumerOptions options = mine();
  options.connect_timeout_ms = 500;
  options.log = [&](LogLevel, std::string_view text) { noticed += text; };
  CHECK(says(refusal_of(options), {"StreamNotFound", "`s`", directory.path(), "batchcast serve",
                                   "batchcast ls", "BATCHCAST_DIR"}));
  CHECK(says(noticed, {"waiting", "`s`"}));
}

TEST_CASE("names that cannot be", "[input][short]") {
  const OwnDirectory directory;
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string(60, 'x'), std::string(".x")}) {
    ProducerOptions options = producer_options();
    options.stream = name;
    CHECK(says(refusal_of(std::move(options)), {"InvalidArgument"}));
    ConsumerOptions consumer = mine();
    consumer.stream = name;
    CHECK(says(refusal_of(consumer), {"InvalidArgument"}));
  }
  ProducerOptions options = producer_options();
  options.directory = directory.path() + "/" + std::string(100, 'd');
  CHECK(says(refusal_of(std::move(options)), {"InvalidArgument", "107"}));
}

TEST_CASE("schemas that cannot be", "[input][short]") {
  const OwnDirectory directory;
  const std::vector<Schema> schemas = {
      {},
      {{"", DType::u8, {1}}},
      {{"a", DType::u8, {0}}},
      {{"a", DType::u8, {-1}}},
      {{"a", DType::f32, {1LL << 40, 1LL << 40}}},
      {{"a", DType::u8, {1}}, {"a", DType::u8, {1}}},
      {{"sample_id", DType::u64, {}}},
  };
  for (const Schema& schema : schemas) {
    ProducerOptions options = producer_options();
    options.schema = schema;
    CHECK(says(refusal_of(std::move(options)), {"InvalidArgument", "batchcast"}));
  }
}

TEST_CASE("memory that does not exist", "[input][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options();
  options.memory = std::uint64_t{1} << 50;
  CHECK(says(refusal_of(std::move(options)), {"OutOfMemory", "MiB", "--memory"}));
  options = producer_options();
  options.memory = 4'096;
  CHECK(says(refusal_of(std::move(options)), {"InvalidArgument", "--memory"}));
  CHECK(directory.entries() == 0);
}

TEST_CASE("more consumers than files can be opened for", "[input][short]") {
  const OwnDirectory directory;
  Process process("too_many_consumers", {});
  const auto line = process.line();
  REQUIRE(line);
  CHECK(says(*line, {"SystemError", "ulimit -Hn", "256", "--max-consumers"}));
}

TEST_CASE("a name that is taken", "[input][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  CHECK(says(refusal_of(producer_options()),
             {"StreamTaken", std::to_string(::getpid()), "batchcast stop s"}));
}

TEST_CASE("what a stream refuses its consumers", "[input][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("mixed", 1'009, 256 << 10);
  options.max_consumers = 2;
  Server server(std::move(options), {});
  const std::uint64_t capacity = server.producer().capacity();

  const std::string too_large = refusal_of(mine(capacity + 1));
  CHECK(says(too_large, {"RingTooSmall", std::to_string(capacity), "--memory"}));
  // The memory that it names must do.
  const auto at = too_large.find("--memory ") + std::string("--memory ").size();
  std::size_t digits = 0;
  const std::uint64_t kib = std::stoull(too_large.substr(at), &digits);
  REQUIRE(too_large.substr(at + digits).starts_with("KiB"));
  ProducerOptions larger = producer_options("mixed", 1'009, kib << 10);
  larger.stream = "larger";
  CHECK(Producer(std::move(larger)).capacity() >= capacity + 1);
  CHECK(says(refusal_of(mine(0)), {"InvalidArgument", "batch_size"}));

  Consumer first(mine());
  CHECK(says(thrown_by([&] { first.set_batch_size(capacity + 1); }), {"RingTooSmall", "--memory"}));
  CHECK(says(thrown_by([&] { static_cast<void>(first.next()->field<float>("nothing")); }),
             {"InvalidArgument", "nothing", "image"}));
  CHECK(says(thrown_by([&] { static_cast<void>(first.next()->field<float>("image")); }),
             {"InvalidArgument", "image", "u8"}));
  {
    const Consumer second(mine());
    CHECK(says(refusal_of(mine()), {"Refused", "places", "--max-consumers"}));
  }
  std::vector<Batch> held;
  const std::string too_many = thrown_by([&] {
    for (;;) {
      if (auto batch = first.next()) held.push_back(std::move(*batch));
    }
  });
  CHECK(says(too_many, {"RingTooSmall", "keeps", "--memory", "Drop batches"}));
}

TEST_CASE("a cursor that the ring has lost", "[input][short]") {
  const OwnDirectory directory;
  Server server(producer_options("mixed", 10'000, 64 << 10), {});
  Consumer consumer(mine());
  while (consumer.cursor() < 2'000) static_cast<void>(consumer.next());
  ConsumerOptions options = mine();
  options.join = Join::at;
  options.cursor = 5;
  CHECK(says(refusal_of(options), {"Refused", "5", "rewind", "memory"}));
}

TEST_CASE("a stream that is over", "[input][short]") {
  const OwnDirectory directory;
  ProducerOptions options = producer_options("small", 5'000, 32 << 10);
  options.epochs = 1;
  options.linger_ms = 60'000;
  Server server(std::move(options), {});
  Consumer slow(mine());
  while (auto batch = slow.next()) {
  }
  CHECK_FALSE(slow.has_next_epoch());
  CHECK(says(refusal_of(mine()), {"StreamFinished"}));
  CHECK(says(thrown_by([&] { static_cast<void>(slow.next()); }), {"StreamFinished"}));
}

TEST_CASE("at the door: a producer of another layout version", "[input][short]") {
  const OwnDirectory directory;
  StreamDirectory taken({.stream = "s", .base = directory.path()});
  DoorListener listener(taken.paths().door, 0600);
  std::atomic<bool> stop = false;
  std::string answer = encode(Refusal{RefusalKind::bad_hello, "it cannot be read"});
  answer[offsetof(RecordHead, layout_version)] = 9;
  std::thread producer([&] {
    while (!stop) {
      DoorConnection client;
      DoorMessage hello;
      if (listener.accept(client) != DoorListener::Outcome::accepted) {
        pause_us(1'000);
        continue;
      }
      static_cast<void>(client.receive(hello, 1, 1'000));
      static_cast<void>(client.send(answer));
    }
  });
  CHECK(says(refusal_of(mine()), {"Refused", "the producer speaks layout version 9",
                                  "the consumer version 3", "start the producer again"}));
  stop = true;
  producer.join();
}

TEST_CASE("at the door: ranks of groups, whatever they say", "[input][groups][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  const FileDescriptor pidfd = own_pidfd();
  const int descriptors[] = {pidfd.get()};
  const auto answer_to = [&](const Hello& hello) {
    DoorAttempt attempt = connect_door(find_stream("s").places.at(0).door);
    DoorMessage answer;
    REQUIRE(attempt.connection.ask(encode(hello), descriptors, answer, 64, 5'000) ==
            DoorRead::message);
    return std::pair(std::move(attempt.connection), decode_from_producer(answer.text));
  };
  Hello good;
  good.layout_version = layout_version;
  good.group = "pair";
  good.rank = 1;
  good.world = 2;
  auto [waits, told] = answer_to(good);
  CHECK(says(std::get<Forming>(told).missing, {"rank 0 of 2 has not come"}));
  const auto refusal_of_hello = [&](const Hello& hello) {
    return std::get<Refusal>(answer_to(hello).second).text;
  };
  Hello hello = good;
  hello.group = "";
  CHECK(says(refusal_of_hello(hello), {"has a name"}));
  hello = good;
  hello.pace = Pace::free;
  CHECK(says(refusal_of_hello(hello), {"lockstep"}));
  hello = good;
  hello.observes = true;
  CHECK(says(refusal_of_hello(hello), {"lockstep"}));
  hello = good;
  hello.world = ~0U;
  CHECK(says(refusal_of_hello(hello), {"4294967295 ranks", "--max-consumers"}));
  // What it says while it waits is not heard, or costs it its place.
  static_cast<void>(waits.send(encode(EpochEnd{.epoch = 1ULL << 60})));
  static_cast<void>(waits.send(encode(Pause{})));
  static_cast<void>(waits.send("rubbish"));
  CHECK(eventually([&] { return server.producer().stats().forming.empty(); }));
}

TEST_CASE("at the door: ranks that read late are welcomed", "[input][groups][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  const FileDescriptor pidfd = own_pidfd();
  const int descriptors[] = {pidfd.get()};
  constexpr std::uint32_t world = 60;  // a socket has room for 49 words of who is missing
  std::vector<DoorConnection> ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    DoorAttempt attempt = connect_door(find_stream("s").places.at(0).door);
    Hello hello;
    hello.layout_version = layout_version;
    hello.group = "many";
    hello.rank = rank;
    hello.world = world;
    REQUIRE(attempt.connection.send(encode(hello), descriptors) == DoorSend::sent);
    ranks.push_back(std::move(attempt.connection));
  }
  CHECK(eventually([&] { return server.producer().stats().consumers.size() == world; }));
  for (DoorConnection& rank : ranks) {
    ProducerMessage message = Forming{};
    while (std::holds_alternative<Forming>(message)) {
      DoorMessage answer;
      REQUIRE(rank.receive(answer, 64, 5'000) == DoorRead::message);
      message = decode_from_producer(answer.text);
    }
    CHECK(std::holds_alternative<Welcome>(message));
  }
}

TEST_CASE("at the door: another layout, and a mute producer", "[input]") {
  const OwnDirectory directory;
  {
    Server server(producer_options(), {});
    DoorAttempt attempt = connect_door(find_stream("s").places.at(0).door);
    Hello hello;
    hello.layout_version = layout_version + 1;
    const FileDescriptor pidfd = own_pidfd();
    const int descriptors[] = {pidfd.get()};
    DoorMessage answer;
    REQUIRE(attempt.connection.ask(encode(hello), descriptors, answer, 64, 5'000) ==
            DoorRead::message);
    const ProducerMessage message = decode_from_producer(answer.text);
    REQUIRE(std::holds_alternative<Refusal>(message));
    CHECK(says(std::get<Refusal>(message).text,
               {std::to_string(layout_version), std::to_string(layout_version + 1)}));
  }
  StreamDirectory taken({.stream = "s", .base = directory.path()});
  DoorListener mute(taken.paths().door, 0600);
  ConsumerOptions options = mine();
  options.connect_timeout_ms = 300;
  const std::uint64_t started_ns = now_ns();
  CHECK(says(refusal_of(options), {"StreamNotFound", "`s`"}));
  CHECK(seconds_from_ns(now_ns() - started_ns) < 12);
}

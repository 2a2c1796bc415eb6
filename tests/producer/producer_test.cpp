// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/join/absent_stream.hpp>
#include "join/bound_socket.hpp"

#include "catch.hpp"
#include "control/control_support.hpp"
#include "control/transport.hpp"
#include "temporary_folder.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

using namespace batchcast;

namespace {

using Directory = batchcast::testing::TemporaryFolder;

ProducerOptions serving(const Directory& directory, const std::string& stream) {
  return {.stream = stream,
          .schema = {{"value", DType::u64}},
          .memory = 64 << 10,
          .samples_per_epoch = 1'000,
          .linger_ms = 0,
          .directory = directory.path()};
}

ConsumerOptions taking(const Directory& directory, const std::string& stream) {
  ConsumerOptions options;
  options.stream = stream;
  options.batch_size = 8;
  options.connect_timeout_ms = 5'000;
  options.directory = directory.path();
  return options;
}

}  // namespace

TEST_CASE("a producer that takes over another one's stream ends its own in order") {
  const Directory directory;
  Producer producer(serving(directory, "old"));
  Consumer old(taking(directory, "old"));
  producer = Producer(serving(directory, "new"));
  CHECK(producer.stream() == "new");
  CHECK_THROWS_AS(old.try_next(5'000), Stopped);
  const Consumer consumer(taking(directory, "new"));
  Producer& same = producer;
  producer = std::move(same);
  CHECK(producer.stats().state == StreamState::starting);
}

TEST_CASE("the time to linger counts once the consumers of wait_for are there") {
  const Directory directory;
  ProducerOptions options = serving(directory, "s");
  options.samples_per_epoch = 8;
  options.epochs = 1;
  options.wait_for = 1;
  options.linger_ms = 10;
  Producer producer(options);
  producer.loan(8)->publish();
  auto finished = std::async(std::launch::async, [&] { return producer.finish(); });
  CHECK(finished.wait_for(std::chrono::milliseconds(300)) == std::future_status::timeout);
  SECTION("one comes") {
    Consumer consumer(taking(directory, "s"));
    CHECK(consumer.try_next(5'000).batch.size() == 8);
    static_cast<void>(finished.get());
  }
  SECTION("or the stream is stopped") {
    producer.stop("enough");
    static_cast<void>(finished.get());
    CHECK(producer.stats().state == StreamState::stopped);
  }
}

TEST_CASE("a producer whose loans may never come back gives up its name") {
  const Directory directory;
  std::optional<Producer> producer(serving(directory, "s"));
  Consumer old(taking(directory, "s"));
  std::optional<Loan> loan = producer->loan(8);  // of a thread that hangs
  producer->give_up_name("it hangs");
  CHECK_THROWS_WITH(old.try_next(5'000), Catch::Contains("it hangs"));
  CHECK_FALSE(std::filesystem::exists(directory.path("s")));
  Producer next(serving(directory, "s"));
  Consumer consumer(taking(directory, "s"));
  loan->publish();
  loan.reset();
  producer->give_up_name("once more");
  producer.reset();
  if (auto made = next.loan(8)) made->publish();
  CHECK(consumer.try_next(5'000).batch.position() == 0);
  CHECK_NOTHROW(Consumer(taking(directory, "s")));
}

TEST_CASE("a trainer that comes after a stream has failed is told why") {
  const Directory directory;
  const bool gives_up_name = GENERATE(false, true);
  {
    Producer producer(serving(directory, "s"));
    producer.fail("sample 7 cannot be read: images/7.jpg is cut short.");
    CHECK_THROWS_AS(Consumer(taking(directory, "s")), StreamFailed);
    CHECK_THROWS_WITH(Consumer(taking(directory, "s")),
                      "batchcast: stream `s`: it has failed: sample 7 cannot be read: "
                      "images/7.jpg is cut short.");
    if (gives_up_name) producer.give_up_name("it hangs");
  }
  ConsumerOptions late = taking(directory, "s");
  late.connect_timeout_ms = 50;
  CHECK_THROWS_AS(Consumer(late), StreamNotFound);
  CHECK_THROWS_WITH(
      Consumer(late),
      Catch::Contains("Its last producer (pid " + std::to_string(::getpid()) + ") failed ") &&
          Catch::Contains(" s ago: sample 7 cannot be read: images/7.jpg is cut "
                          "short. Looked in"));
  std::string warning;
  ConsumerOptions waiting = taking(directory, "s");
  waiting.connect_timeout_ms = 300;
  waiting.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) warning = line;
  };
  CHECK_THROWS_AS(Consumer(waiting), StreamNotFound);
  CHECK_THAT(warning, Catch::Contains("waiting for a producer") && Catch::Contains("7.jpg is cut"));
  {
    Producer next(serving(directory, "s"));
    CHECK_NOTHROW(Consumer(late));
  }
  CHECK_FALSE(std::filesystem::exists(directory.path("s")));
}

TEST_CASE("a trainer that comes after a stream has ended learns why") {
  const Directory directory;
  ProducerOptions options = serving(directory, "s");
  options.samples_per_epoch = 8;
  options.epochs = 1;
  options.linger_ms = 5'000;
  std::optional<Producer> producer(options);
  std::string why;
  SECTION("it was stopped") {
    producer->stop("`batchcast stop` was called.");
    why = "`batchcast stop` was called";
  }
  SECTION("it was stopped and gave up its name") {
    producer->give_up_name("it hangs");
    why = "it hangs";
  }
  SECTION("its samples were read") {
    Consumer consumer(taking(directory, "s"));
    producer->loan(8)->publish();
    CHECK(consumer.try_next(5'000).batch.size() == 8);
    CHECK(producer->finish());
    why = "its last epoch is made and was read";
  }
  SECTION("its samples were made") {
    producer->loan(8)->publish();
    CHECK_FALSE(producer->finish(0));
    producer->stop("its producer ended");
    why = "its last epoch was made";
  }
  SECTION("no consumer read what was made") {
    producer->loan(8)->publish();
    CHECK_FALSE(producer->finish(0));
    CHECK(producer->stop_if_unattended(0, "no consumer came"));
    producer->stop("its producer ended");
    why = "no consumer came";
  }
  SECTION("its program left it") { why = "the producer ended before its last epoch"; }
  producer.reset();
  CHECK_FALSE(std::filesystem::exists(directory.path("s")));
  ConsumerOptions late = taking(directory, "s");
  late.connect_timeout_ms = 300;  // it waits, as another may be about to come
  std::string notice;
  late.log = [&](LogLevel level, std::string_view line) {
    CHECK(level == LogLevel::info);
    notice = line;
  };
  CHECK_THROWS_AS(Consumer(late), StreamNotFound);
  CHECK_THROWS_WITH(Consumer(late), Catch::Contains("Its last producer ended ") &&
                                        Catch::Contains(" s ago: " + why + ". Looked in"));
  CHECK_THAT(notice, Catch::Contains("waiting for a producer to serve stream `s`. Its last "
                                     "producer ended ") &&
                         Catch::Contains(" s ago: " + why + "."));
  {
    const Producer next(options);
    CHECK(std::filesystem::directory_iterator(directory.path())->path() == directory.path("s"));
    CHECK_NOTHROW(Consumer(late));
  }
}

TEST_CASE("a stream that fails leaves no words of an end in order") {
  const Directory directory;
  Producer(serving(directory, "s")).stop("enough");
  Producer(serving(directory, "s")).fail("no disk");
  CHECK_FALSE(std::filesystem::exists(end_path(directory.path(), "s")));
  CHECK(std::filesystem::exists(stream_paths(directory.path(), "s").failure));
}

TEST_CASE("what a forked child does with a producer does nothing to its parent's stream") {
  const Directory directory;
  Producer producer(serving(directory, "s"));
  Consumer consumer(taking(directory, "s"));
  std::optional<Loan> loan = producer.loan(8);
  REQUIRE(loan);
  batchcast::test::Child child([&] {
    producer.stop("the child says so");
    producer.fail("the child says so");
    producer.give_up_name("the child says so");
    if (producer.stop_if_unattended(0, "the child says so")) return 2;
    const auto is_refused = [](const auto& call) {
      try {
        call();
      } catch (const Forked&) {
        return true;
      }
      return false;
    };
    if (!is_refused([&] { loan->publish(); })) return 3;
    if (!is_refused([&] { static_cast<void>(producer.stats()); })) return 4;
    if (!is_refused([&] { producer.evict(consumer.name(), "the child says so"); })) return 5;
    return 0;
  });
  CHECK(child.wait() == 0);
  CHECK(consumer.try_next(0).outcome == Outcome::timed_out);
  loan->publish();
  CHECK(consumer.try_next(5'000).batch.size() == 8);
}

TEST_CASE("a producer that cannot have its memory leaves no directory behind") {
  const Directory directory;
  ProducerOptions options = serving(directory, "s");
  options.memory = std::uint64_t{1} << 50;
  CHECK_THROWS_AS(Producer(options), OutOfMemory);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a rank without a name of its own is called after its group") {
  const Directory directory;
  const Producer producer(serving(directory, "s"));
  ConsumerOptions options = taking(directory, "s");
  options.group = "resnet:0/1";
  const Consumer rank(options);
  CHECK(rank.name() == "resnet:0");
  CHECK(producer.stats().consumers.at(0).name == "resnet:0");
  std::string name(63, 'x');
  options.group = {name, 0, 1};
  CHECK(Consumer(options).name() == name.replace(61, 2, ":0"));
  options.name = "named";
  options.group = "other:0/1";
  CHECK(Consumer(options).name() == "named");
}

TEST_CASE("a far cursor is no sample that was made") {
  const Directory directory;
  Producer producer(serving(directory, "far"));
  ConsumerOptions options = taking(directory, "far");
  options.join = Join::at;
  options.cursor = limits::cursor_limit - 1;
  Consumer consumer(options);
  for (int i = 0; i < 30; ++i) {
    if (auto loan = producer.try_loan(8, 100)) loan->publish();
    static_cast<void>(consumer.try_next(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const double rate = producer.stats().samples_per_second;
    REQUIRE(rate < 1e9);
    if (rate > 0) break;
  }
  CHECK(producer.stats().published >= limits::cursor_limit);
  CHECK(producer.stats().samples_per_second > 0);
}

TEST_CASE("cursors that no stream has are refused, and the producer goes on") {
  const Directory directory;
  Producer producer(serving(directory, "s"));
  for (const std::uint64_t cursor :
       {limits::cursor_limit, limits::position_max - 1, limits::position_max - 808,
        limits::position_max - 1'808, limits::position_max, ~std::uint64_t{0}}) {
    for (const bool lets_go : {false, true}) {
      ConsumerOptions options = taking(directory, "s");
      options.join = Join::at;
      options.cursor = cursor;
      options.between_epochs = lets_go ? BetweenEpochs::let_go : BetweenEpochs::hold;
      INFO(cursor);
      if (cursor < std::uint64_t{1} << 63) {
        CHECK_THROWS_AS(Consumer(options).try_next(10'000), Refused);
      } else {  // the door is not asked
        CHECK_THROWS_AS(Consumer(options).try_next(10'000), InvalidArgument);
      }
    }
  }
  Consumer consumer(taking(directory, "s"));
  if (auto loan = producer.loan(8)) loan->publish();
  CHECK(consumer.try_next(5'000).batch.position() == 0);
}

// Not with ThreadSanitizer: libpgm initialises one lock with each context of ZeroMQ.
#ifndef __SANITIZE_THREAD__
TEST_CASE("a producer waits for the end of an earlier one whose stream is over") {
  const Directory directory;
  ProducerOptions options = serving(directory, "s");
  options.samples_per_epoch = 8;
  options.epochs = 1;
  std::optional<Producer> first(options);
  first->loan(8)->publish();
  SECTION("it was stopped") { first->stop("enough"); }
  SECTION("its last epoch is made") { CHECK_FALSE(first->finish(0)); }
  SECTION("it answers no questions any more") {
    first->stop("enough");
    std::filesystem::remove(stream_paths(directory.path(), "s").control);
  }
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    first.reset();
  });
  CHECK_NOTHROW(Producer(options));
  end.join();
}
#endif

TEST_CASE("a producer does not wait for long, nor for a stream that goes on") {
  const Directory directory;
  Producer first(serving(directory, "s"));
  SECTION("it is starting") {}
  SECTION("it is running") { first.loan(8)->publish(); }
  SECTION("it stays after its stream") { first.stop("enough"); }
  CHECK_THROWS_WITH(Producer(serving(directory, "s")), Catch::Contains("already served by"));
}

TEST_CASE("a producer that lost its name leaves the sockets of the one that has it alone") {
  const Directory directory;
  std::atomic<bool> has_looked{false};
  ProducerOptions losing = serving(directory, "lost");
  losing.log = [&](LogLevel, std::string_view text) {
    if (text.find("already served") != std::string_view::npos) has_looked = true;
  };
  const Producer loser(std::move(losing));
  const StreamPaths paths = stream_paths(directory.path(), "lost");
  std::optional<Producer> winner;
  while (!winner) {  // the first one may have made the directory again
    std::error_code ignored;
    std::filesystem::remove_all(paths.directory, ignored);
    try {
      winner.emplace(serving(directory, "lost"));
    } catch (const StreamTaken&) {
    }
  }
  const auto sockets = [&] {
    return std::array{identity_at(paths.door), identity_at(paths.control),
                      identity_at(paths.events)};
  };
  const auto winners = sockets();
  CHECK(test::holds_within(5'000, [&] { return has_looked.load(); }));
  // Each of its threads looks every half second.
  CHECK_FALSE(test::holds_within(700, [&] { return sockets() != winners; }));
  const Consumer consumer(taking(directory, "lost"));
}

TEST_CASE("the door of a producer that cannot bind its other sockets never opens") {
  const Directory directory;
  const StreamPaths paths = stream_paths(directory.path(), "s");
  const bool is_control = GENERATE(true, false);
  const std::string blocked = is_control ? paths.control : paths.events;
  std::filesystem::create_directories(blocked + "/x");
  std::filesystem::permissions(paths.directory, std::filesystem::perms::owner_all);
  const FileDescriptor made(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(::inotify_add_watch(made.get(), paths.directory.c_str(), IN_CREATE) >= 0);
  CHECK_THROWS_WITH(Producer(serving(directory, "s")), Catch::Contains(blocked));
  std::array<char, 4'096> events{};
  const auto bytes = ::read(made.get(), events.data(), events.size());
  REQUIRE(bytes > 0);
  const std::string_view names(events.data(), static_cast<std::size_t>(bytes));
  CHECK(names.find("lock") != std::string_view::npos);
  CHECK(names.find("door") == std::string_view::npos);
}

TEST_CASE("a producer whose directory is removed has all its sockets back within a second") {
  const Directory directory;
  ProducerOptions options = serving(directory, "back");
  options.log = [](LogLevel, std::string_view) {};
  const Producer producer(std::move(options));
  const StreamPaths paths = stream_paths(directory.path(), "back");
  for (int round = 0; round < 2; ++round) {
    std::filesystem::remove_all(paths.directory);
    for (const std::string& path : {paths.door, paths.control, paths.events}) {
      INFO(path);
      CHECK(test::holds_within(5'000, [&] { return identity_at(path) != FileIdentity{}; }));
    }
    CHECK(test::holds_within(5'000,
                             [&] { return ask_control(paths.control, "{}", 1'000).has_value(); }));
  }
}

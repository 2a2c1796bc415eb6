// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/transport.hpp"

#include "control_support.hpp"
#include "join/bound_socket.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <zmq.hpp>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

/// Answers each command with itself, wrapped.
struct Echo {
  explicit Echo(int statistics_interval_ms = 1'000)
      : server({.control_path = base / "control",
                .events_path = base / "events",
                .handle =
                    [this](std::string_view command) {
                      ++commands;
                      if (command.find("throw") != std::string_view::npos) {
                        throw Error("cannot do that");
                      }
                      return "{\"echo\":" + std::string(command) + "}";
                    },
                .statistics = [this] { return "{\"n\":" + std::to_string(++statistics) + "}"; },
                .statistics_interval_ms = statistics_interval_ms,
                .log = [](LogLevel, std::string_view) {}}) {}

  [[nodiscard]] std::string ask(const std::string& command, int timeout_ms = 5'000) const {
    return ask_control(base / "control", command, timeout_ms).value_or("no answer");
  }

  TemporaryDirectory base;
  std::atomic<int> commands{0}, statistics{0};
  ControlServer server;
};

FileDescriptor raw_connection(const std::string& path) {
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

unsigned mode_of(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 0777U : ~0U;
}

}  // namespace

TEST_CASE("commands are answered, and only their owner can send them") {
  const ::mode_t before = ::umask(0);
  Echo echo;
  ::umask(before);
  CHECK(mode_of(echo.base / "control") == 0600);
  CHECK(mode_of(echo.base / "events") == 0600);
  CHECK(echo.ask(R"({"command":"stats"})") == R"({"echo":{"command":"stats"}})");
  CHECK(echo.commands == 1);
}

TEST_CASE("what is no command is answered with an error") {
  Echo echo;
  for (const char* bad : {"", "x", "[]", "7", "{", "{\"a\":}", "\xff"}) {
    CHECK_THAT(echo.ask(bad), Contains("error") && Contains("JSON object"));
  }
  CHECK_THAT(echo.ask(std::string(limits::message_bytes_max, '[')), Contains("16 deep"));
  std::string deep = "{\"a\":[\"[[\\\"[[\",";
  deep += std::string(limits::message_depth_max - 2, '[');
  CHECK_THAT(echo.ask(deep), Contains("JSON object"));  // as deep as may be, and no end
  CHECK_THAT(echo.ask(deep + "["), Contains("16 deep"));
  const std::string too_long = "{\"x\":\"" + std::string(limits::message_bytes_max, 'x') + "\"}";
  CHECK_THAT(echo.ask(too_long), Contains("error") && Contains("65536"));
  CHECK(echo.commands == 0);
  CHECK_THAT(echo.ask("{\"a\":\"throw\"}"), Contains("cannot do that"));
  // Far too long: ZeroMQ drops it with its connection, and goes on serving others.
  CHECK(echo.ask(std::string(1'000'000, ' '), 200) == "no answer");
  CHECK_THAT(echo.ask("{}"), Contains("echo"));
}

TEST_CASE("commands in any wrapping are answered or refused") {
  Echo echo;
  zmq::context_t context(1);
  const std::string address = "ipc://" + echo.base / "control";
  zmq::message_t answer;
  SECTION("REQ") {
    zmq::socket_t socket(context, zmq::socket_type::req);
    socket.set(zmq::sockopt::rcvtimeo, 5'000);
    socket.set(zmq::sockopt::linger, 0);
    socket.connect(address);
    socket.send(zmq::str_buffer("{}"));
    REQUIRE(socket.recv(answer));
    CHECK_THAT(answer.to_string(), Contains("echo"));
  }
  SECTION("too many frames") {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::rcvtimeo, 5'000);
    socket.set(zmq::sockopt::linger, 0);
    socket.connect(address);
    for (int i = 0; i < 100; ++i) socket.send(zmq::str_buffer("{}"), zmq::send_flags::sndmore);
    socket.send(zmq::str_buffer("{}"));
    REQUIRE(socket.recv(answer));
    CHECK_THAT(answer.to_string(), Contains("one frame"));
  }
  SECTION("not ZeroMQ at all") {
    const FileDescriptor raw = raw_connection(echo.base / "control");
    const std::string rubbish(10'000, '\x55');
    static_cast<void>(::send(raw.get(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL));
  }
  SECTION("gone before the answer") {
    for (int i = 0; i < 20; ++i) {
      zmq::socket_t socket(context, zmq::socket_type::dealer);
      socket.set(zmq::sockopt::linger, 100);
      socket.connect(address);
      socket.send(zmq::str_buffer("{}"));
    }
  }
  CHECK_THAT(echo.ask("{\"still\":1}"), Contains("still"));
}

TEST_CASE("asking where no producer answers ends in time") {
  const TemporaryDirectory base;
  CHECK(ask_control(base / "control", "{}", 10'000) == std::nullopt);
  { Echo echo; }
  std::atomic<bool> gave_up{false};
  const ControlServer mute({.control_path = base / "control",
                            .events_path = base / "events",
                            .handle = [&](std::string_view) {
                              while (!gave_up) {
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              }
                              return std::string("{}");
                            }});
  CHECK(ask_control(base / "control", "{}", 20) == std::nullopt);
  gave_up = true;
  CHECK_THROWS_AS(ask_control("/" + std::string(107, 'x'), "{}", 10), InvalidArgument);
  CHECK_THROWS_AS(EventListener("/" + std::string(107, 'x')), InvalidArgument);
}

TEST_CASE("events and statistics reach the clients that listen") {
  Echo echo(20);
  EventListener listener(echo.base / "events");
  const auto first = listener.next(5'000);
  REQUIRE(first);
  CHECK_THAT(*first, Contains("\"n\""));
  echo.server.publish_event("{\"event\":1}");
  const auto arrived = [&] { return listener.next(1'000).value_or("") == "{\"event\":1}"; };
  CHECK(holds_within(5'000, arrived));
}

TEST_CASE("control sockets that vanish are made again within a second") {
  Echo echo(20);
  EventListener before(echo.base / "events");
  REQUIRE(before.next(5'000));
  std::filesystem::remove(echo.base / "control");
  std::filesystem::remove(echo.base / "events");
  CHECK(holds_within(1'000, [&] { return echo.ask("{\"a\":1}", 1'000) != "no answer"; }));
  CHECK(holds_within(1'000, [&] { return EventListener(echo.base / "events").next(500); }));
  std::filesystem::remove_all(echo.base.path());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  std::filesystem::create_directory(echo.base.path());
  CHECK(holds_within(1'000, [&] { return echo.ask("{\"a\":1}", 1'000) != "no answer"; }));
}

TEST_CASE("what lies at the paths of control sockets is not replaced where it is another's") {
  std::atomic<int> looks{0};
  std::atomic<bool> owns{false};
  const TemporaryDirectory base;
  const ControlServer server({.control_path = base / "control",
                              .events_path = base / "events",
                              .handle = [](std::string_view) { return std::string("{}"); },
                              .owns_paths =
                                  [&] {
                                    ++looks;
                                    return owns.load();
                                  },
                              .log = [](LogLevel, std::string_view) {}});
  std::filesystem::remove(base / "control");
  const BoundSocket others = listen_at(base / "control", SOCK_STREAM, 0600);
  CHECK(holds_within(5'000, [&] { return looks.load() >= 2; }));
  CHECK(identity_at(base / "control") == others.identity);
  owns = true;
  CHECK(holds_within(5'000, [&] { return identity_at(base / "control") != others.identity; }));
}

TEST_CASE("a socket that cannot be bound is an exception, with the path") {
  const TemporaryDirectory base;
  const auto serve_at = [](const std::string& control) {
    return ControlServer({.control_path = control,
                          .events_path = control + "e",
                          .handle = [](std::string_view) { return std::string("{}"); }});
  };
  CHECK_THROWS_WITH(serve_at(base / "no/control"), Contains("no/control"));
  CHECK_THROWS_AS(serve_at("/" + std::string(107, 'x')), InvalidArgument);
}

TEST_CASE("stopping is quick, and callbacks end with it") {
  Echo seldom(60'000);  // whose next statistics it does not wait for
  CHECK_THAT(seldom.ask("{}"), Contains("echo"));
  const std::uint64_t before_ns = now_ns();
  seldom.server.stop();
  CHECK(seconds_from_ns(now_ns() - before_ns) < 5);
  Echo echo(5);
  CHECK_THAT(echo.ask("{}"), Contains("echo"));
  echo.server.stop();
  const int statistics = echo.statistics;
  CHECK(echo.ask("{}", 100) == "no answer");
  CHECK(echo.statistics == statistics);
}

TEST_CASE("a forked child leaves the server alone") {
  Echo echo;
  Child child([&] {
    echo.server.~ControlServer();
    return 0;
  });
  CHECK(child.wait() == 0);
  CHECK_THAT(echo.ask("{}"), Contains("echo"));
}

#ifndef __SANITIZE_THREAD__
TEST_CASE("commands are answered although the program has no file descriptor left") {
  const TemporaryDirectory base;
  const Pipe ready;
  Child server([&] {
    const ControlServer control({.control_path = base / "control",
                                 .events_path = base / "events",
                                 .handle = [](std::string_view) { return std::string("{}"); }});
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    }
    ready.put('x');
    ::pause();
    return 0;
  });
  static_cast<void>(ready.get<char>());
  for (int i = 0; i < 3; ++i) CHECK(ask_control(base / "control", "{}", 5'000) == "{}");
}

TEST_CASE("a server survives clients that come while its program may open no file") {
  const TemporaryDirectory base;
  const Pipe told, go_on;
  Child server([&] {
    const ControlServer control({.control_path = base / "control",
                                 .events_path = base / "events",
                                 .handle = [](std::string_view) { return std::string("{}"); },
                                 .log =
                                     [&](LogLevel, std::string_view text) {
                                       if (text.find("too few files") != text.npos) told.put('f');
                                     }});
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = std::exchange(limit.rlim_cur, 4);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    static_cast<void>(go_on.get<char>());
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    static_cast<void>(go_on.get<char>());
    return 0;
  });
  // A server that does not look at the limit says nothing.
  static_cast<void>(holds_within(5'000, [&] { return told.has_some(); }));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(ask_control(base / "control", "{}", 200));
  go_on.put('x');
  CHECK(holds_within(5'000, [&] { return ask_control(base / "control", "{}", 200) == "{}"; }));
  go_on.put('x');
  CHECK(server.wait() == 0);
}

TEST_CASE("a client that may open no file gets an exception") {
  const TemporaryDirectory base;
  const Pipe serving;
  // The client is forked before the server has threads, one of which might hold a lock then.
  Child client([&] {
    static_cast<void>(serving.get<char>());
    const FileDescriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(next.get()) + 4;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const auto is_told = [](const auto& ask) {
      try {
        ask();
      } catch (const SystemError& error) {
        return error.code() == EMFILE &&
               std::string_view(error.what()).find("ulimit -n") != std::string_view::npos;
      }
      return false;
    };
    if (!is_told([&] { static_cast<void>(ask_control(base / "control", "{}", 1'000)); })) return 2;
    return is_told([&] { EventListener(base / "events"); }) ? 0 : 3;
  });
  const ControlServer control({.control_path = base / "control",
                               .events_path = base / "events",
                               .handle = [](std::string_view) { return std::string("{}"); }});
  serving.put('x');
  CHECK(client.wait() == 0);
}

TEST_CASE("the program's own descriptors are not kept open by the server") {
  const TemporaryDirectory base;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  FileDescriptor read(ends[0]), write(ends[1]);
  const ControlServer control({.control_path = base / "control",
                               .events_path = base / "events",
                               .handle = [](std::string_view) { return std::string("{}"); }});
  write.reset();
  char byte = 0;
  CHECK(::read(read.get(), &byte, 1) == 0);  // no other process holds the other end
}
#endif

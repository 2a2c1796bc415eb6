// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/control_support.hpp"
#include "door/listener.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <fstream>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

struct Ends {
  DoorConnection a, b;
};

Ends connected_pair() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {DoorConnection(FileDescriptor(ends[0])), DoorConnection(FileDescriptor(ends[1]))};
}

FileDescriptor counter(unsigned value) { return FileDescriptor(::eventfd(value, EFD_NONBLOCK)); }

std::uint64_t value_of(const FileDescriptor& fd) {
  std::uint64_t value = 0;
  return ::read(fd.get(), &value, sizeof value) == sizeof value ? value : 0;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd"), end;
  return static_cast<std::size_t>(std::distance(all, end));
}

FileDescriptor pidfd_of(pid_t pid) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

TEST_CASE("text and descriptors go through the door together") {
  Ends ends = connected_pair();
  const FileDescriptor three = counter(3), five = counter(5);
  CHECK(ends.a.send("hello", std::array{three.get(), five.get()}) == DoorSend::sent);
  DoorMessage message;
  REQUIRE(ends.b.receive(message, 2) == DoorRead::message);
  CHECK(message.text == "hello");
  CHECK_FALSE(message.descriptors_lost);
  REQUIRE(message.descriptors.size() == 2);
  CHECK(value_of(message.descriptors[0]) == 3);
  CHECK(value_of(message.descriptors[1]) == 5);
  CHECK((::fcntl(message.descriptors[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(ends.b.receive(message, 2) == DoorRead::timed_out);
}

TEST_CASE("descriptors beyond those asked for are reported and do not leak") {
  Ends ends = connected_pair();
  const FileDescriptor fd = counter(1);
  const std::vector<int> many(200, fd.get());
  const std::size_t before = open_descriptors();
  for (const std::size_t wanted : {0U, 1U, 2U, 3U}) {
    CHECK(ends.a.send("x", many) == DoorSend::sent);
    DoorMessage message;
    REQUIRE(ends.b.receive(message, wanted) == DoorRead::message);
    CHECK(message.descriptors_lost);
    CHECK(message.descriptors.size() == wanted);
  }
  // One more than asked for would fit into the padding of the control message.
  CHECK(ends.a.send("x", std::array{fd.get(), fd.get()}) == DoorSend::sent);
  DoorMessage message;
  REQUIRE(ends.b.receive(message, 1) == DoorRead::message);
  CHECK(message.descriptors_lost);
  CHECK(message.descriptors.size() == 1);
  message = {};
  CHECK(open_descriptors() == before);
}

TEST_CASE("datagrams have a limit at both ends") {
  Ends ends = connected_pair();
  const std::string largest(limits::producer_record_bytes_max, 'x');
  CHECK(ends.a.send(largest) == DoorSend::sent);
  DoorMessage message;
  REQUIRE(ends.b.receive(message, 0) == DoorRead::message);
  CHECK(message.text == largest);
  CHECK_THROWS_AS(ends.a.send(largest + "x"), InvalidArgument);

  const std::string above = largest + "x";
  const FileDescriptor fd = counter(1);
  const std::size_t before = open_descriptors();
  REQUIRE(::send(ends.a.native_handle(), above.data(), above.size(), 0) ==
          static_cast<ssize_t>(above.size()));
  CHECK(ends.b.receive(message, 4) == DoorRead::oversized);
  CHECK(message.text.empty());
  CHECK(open_descriptors() == before);
}

TEST_CASE("the producer's end takes no more of a datagram than a consumer's record has") {
  const TemporaryDirectory base;
  DoorListener listener(base / "door", 0600);
  DoorAttempt attempt = connect_door(base / "door");
  DoorConnection accepted;
  REQUIRE(listener.accept(accepted) == DoorListener::Outcome::accepted);
  DoorMessage message;
  CHECK(attempt.connection.send(std::string(limits::consumer_record_bytes_max, 'x')) ==
        DoorSend::sent);
  CHECK(accepted.receive(message, 0) == DoorRead::message);
  CHECK(attempt.connection.send(std::string(limits::consumer_record_bytes_max + 1, 'x')) ==
        DoorSend::sent);
  CHECK(accepted.receive(message, 0) == DoorRead::oversized);
  CHECK(accepted.send(std::string(limits::producer_record_bytes_max, 'x')) == DoorSend::sent);
  CHECK(attempt.connection.receive(message, 0) == DoorRead::message);
}

TEST_CASE("what was said last arrives although its sender is gone") {
  Ends ends = connected_pair();
  CHECK(ends.b.send("never read") == DoorSend::sent);
  CHECK(ends.a.send("farewell") == DoorSend::sent);
  ends.a = DoorConnection();  // closes with unread data: the other side gets a reset first
  DoorMessage message;
  CHECK(ends.b.send("x") == DoorSend::closed);
  REQUIRE(ends.b.receive(message, 0) == DoorRead::message);
  CHECK(message.text == "farewell");
  CHECK(ends.b.receive(message, 0, 1'000) == DoorRead::closed);
}

TEST_CASE("sending to somebody who does not read ends at the time-out") {
  Ends ends = connected_pair();
  const std::string text(limits::producer_record_bytes_max, 'x');
  DoorSend result = DoorSend::sent;
  for (int i = 0; i < 1'000 && result == DoorSend::sent; ++i) result = ends.a.send(text, {}, 5);
  CHECK(result == DoorSend::timed_out);
}

TEST_CASE("shutdown is seen although a forked child holds the socket") {
  Ends ends = connected_pair();
  const Pipe up;
  Child child([&] {
    up.put('x');
    ::pause();
    return 0;
  });
  static_cast<void>(up.get<char>());
  DoorMessage message;
  ends.a.shutdown();
  CHECK(ends.b.receive(message, 0, 5'000) == DoorRead::closed);
}

TEST_CASE("a door that is not there is a value") {
  const TemporaryDirectory base;
  CHECK(connect_door(base / "door").answer == DoorAnswer::absent);
  CHECK(connect_door(base / "no/door").answer == DoorAnswer::absent);
  { const DoorListener listener(base / "door", 0600); }
  CHECK(connect_door(base / "door").answer == DoorAnswer::unserved);
  std::ofstream(base / "file") << "x";
  CHECK(connect_door(base / "file").answer == DoorAnswer::unserved);
  CHECK_THROWS_AS(connect_door("/" + std::string(107, 'x')), InvalidArgument);
  CHECK_THROWS_AS(DoorListener("/" + std::string(107, 'x'), 0600), InvalidArgument);
}

TEST_CASE("a listener knows whether its path still leads to it") {
  const TemporaryDirectory base;
  const ::mode_t before = ::umask(0077);
  const DoorListener listener(base / "door", 0666);
  ::umask(before);
  struct stat status;
  REQUIRE(::lstat((base / "door").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0666);
  CHECK(listener.intact());
  const DoorListener other(base / "door", 0600);
  CHECK_FALSE(listener.intact());
  CHECK(other.intact());
  std::filesystem::remove(base / "door");
  CHECK_FALSE(other.intact());
}

TEST_CASE("the kernel says who is at the door") {
  Ends ends = connected_pair();
  const PeerIdentity peer = peer_identity(ends.a);
  CHECK(peer.uid == ::geteuid());
  CHECK(peer.pid == ::getpid());
  if (peer.pidfd) CHECK_FALSE(is_dead(peer.pidfd));
  CHECK_FALSE(peer_identity(ends.a, PidfdSource::from_hello).pidfd);
}

TEST_CASE("a pidfd from a hello is taken only if it is that process's") {
  Ends ends = connected_pair();
  PeerIdentity peer = peer_identity(ends.a, PidfdSource::from_hello);
  Child other([] {
    ::pause();
    return 0;
  });
  CHECK_THAT(adopt_pidfd(peer, pidfd_of(other.pid())).value_or(""),
             Contains("of process " + std::to_string(other.pid())));
  CHECK_THAT(adopt_pidfd(peer, counter(0)).value_or(""), Contains("no pidfd"));
  CHECK_THAT(adopt_pidfd(peer, FileDescriptor(::open("/dev/null", O_RDONLY))).value_or(""),
             Contains("no pidfd"));
  FileDescriptor gone = pidfd_of(other.pid());
  other.kill();
  other.wait();
  CHECK(is_dead(gone));
  CHECK_THAT(adopt_pidfd(peer, std::move(gone)).value_or(""), Contains("gone"));
  CHECK_FALSE(peer.pidfd);
  CHECK(adopt_pidfd(peer, own_pidfd()) == std::nullopt);
  CHECK(peer.pidfd);
  CHECK_FALSE(is_dead(peer.pidfd));
}

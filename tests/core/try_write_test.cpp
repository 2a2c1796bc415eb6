// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/try_write.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <string>

using namespace batchcast;
using detail::try_write;

namespace {

struct Ends {
  FileDescriptor read;
  FileDescriptor write;
};

Ends new_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Ends new_sockets() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::string taken_from(int fd, std::size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Until it takes nothing more.
std::size_t fill(int fd) {
  const std::string kibibyte(1'024, 'x');
  std::size_t bytes = 0;
  while (try_write(fd, kibibyte)) bytes += kibibyte.size();
  return bytes;
}

}  // namespace

TEST_CASE("what a full pipe or socket does not take is lost, and nobody waits") {
  const bool socket = GENERATE(false, true);
  const Ends ends = socket ? new_sockets() : new_pipe();
  REQUIRE(try_write(ends.write.get(), "first\n"));
  const std::size_t filled = fill(ends.write.get());
  CHECK(filled > 4'096);
  CHECK_FALSE(try_write(ends.write.get(), std::string(100'000, 'y')));
  // Other processes write to the same end, and may want to wait.
  CHECK((::fcntl(ends.write.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK(taken_from(ends.read.get(), 6) == "first\n");
  for (std::size_t left = filled; left > filled / 2;) {
    left -= std::min(left, taken_from(ends.read.get(), left).size());
  }
  CHECK(try_write(ends.write.get(), "again\n"));
}

TEST_CASE("a pipe without a reader raises no signal") {
  Ends ends = new_pipe();
  ends.read.reset();
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  CHECK_FALSE(try_write(ends.write.get(), "lost\n"));
  std::signal(SIGPIPE, before);
}

TEST_CASE("a file takes all, and a closed descriptor nothing") {
  const FileDescriptor file(::memfd_create("file", MFD_CLOEXEC));
  const std::string text(100'000, 'z');
  CHECK(try_write(file.get(), text));
  struct stat status;
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK(status.st_size == 100'000);
  CHECK_FALSE(try_write(-1, "nowhere"));
  const FileDescriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  CHECK(try_write(null.get(), text));
}

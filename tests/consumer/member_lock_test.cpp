// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/consumer/member_lock.hpp>
#include <batchcast/consumer/stream_joiner.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <thread>
#include <utility>

using namespace batchcast;
using batchcast::detail::Joined;
using batchcast::detail::MemberLock;

namespace {

/// In a child: whether the descriptor is open there.
bool is_open_in_child(int descriptor) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::fcntl(descriptor, F_GETFD) >= 0 ? 1 : 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

FileDescriptor any_file() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

TEST_CASE("a child has no lock of a member that has only joined", "[member-lock]") {
  FileDescriptor file = any_file();
  const int descriptor = file.get();
  CHECK(is_open_in_child(descriptor));
  std::optional<Joined> joined(std::in_place);
  joined->member_lock.take(std::move(file));
  CHECK_FALSE(is_open_in_child(descriptor));
  const Joined moved = std::move(*joined);
  joined.reset();
  CHECK(::fcntl(descriptor, F_GETFD) >= 0);
  CHECK_FALSE(is_open_in_child(descriptor));
}

TEST_CASE("a child whose parent moves locks on another thread may have locks too",
          "[member-lock]") {
  std::optional<MemberLock> outlives(std::in_place, any_file());
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  std::array<int, 2> ready{};
  REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
  const FileDescriptor ready_read(ready[0]);
  const FileDescriptor ready_write(ready[1]);
  char byte = 0;
  std::thread other([&] {
    const MemberLock on_its_stack(any_file());
    static_cast<void>(::write(ready_write.get(), "x", 1));
    char end = 0;
    static_cast<void>(::read(read.get(), &end, 1));
  });
  REQUIRE(::read(ready_read.get(), &byte, 1) == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    // The stack of that thread is used again.
    std::thread overwrites([] {
      std::array<volatile char, 4'096> bytes;
      for (volatile char& one : bytes) one = 1;
    });
    overwrites.join();
    outlives.reset();
    { const MemberLock fresh(any_file()); }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  write.reset();
  other.join();
}

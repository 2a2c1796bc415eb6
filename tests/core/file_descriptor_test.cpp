// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../ring/child.hpp"

#include <batchcast/core/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

using batchcast::FileDescriptor;

namespace {

FileDescriptor opened() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

TEST_CASE("a file descriptor is closed once, by its last owner") {
  int fd = -1;
  {
    FileDescriptor first = opened();
    REQUIRE(first);
    fd = first.get();
    const FileDescriptor second(std::move(first));
    CHECK_FALSE(first);
    CHECK(second.get() == fd);
    CHECK(is_open(fd));
  }
  CHECK_FALSE(is_open(fd));
}

TEST_CASE("assigning closes what was there") {
  FileDescriptor one = opened();
  FileDescriptor two = opened();
  const int fd_one = one.get();
  const int fd_two = two.get();
  one = std::move(two);
  CHECK_FALSE(is_open(fd_one));
  CHECK(is_open(fd_two));
  FileDescriptor& same = one;
  one = std::move(same);
  CHECK(is_open(fd_two));
}

TEST_CASE("releasing gives up ownership, and closing leaves errno alone") {
  FileDescriptor owner = opened();
  const int fd = owner.release();
  CHECK_FALSE(owner);
  CHECK(is_open(fd));
  FileDescriptor again(fd);
  errno = EXDEV;
  again.reset();
  CHECK(errno == EXDEV);
  CHECK_FALSE(is_open(fd));
  again.reset();
  FileDescriptor never(123'456'789);
  errno = EXDEV;
  never.reset();
  CHECK(errno == EXDEV);
}

TEST_CASE("no descriptor takes the place of a closed standard stream") {
  const auto end = batchcast::testing::in_child([] {
    for (int fd = 0; fd <= 2; ++fd) ::close(fd);
    const FileDescriptor first = opened();
    const FileDescriptor second = opened();
    const bool above = first.get() > 2 && second.get() > 2 && first.get() != second.get();
    const bool private_to_us = (::fcntl(first.get(), F_GETFD) & FD_CLOEXEC) != 0;
    return above && private_to_us && !is_open(0) && !is_open(1) && !is_open(2) ? 0 : 1;
  });
  CHECK(end.exited_with(0));
}

TEST_CASE("where no other number is free, there is no descriptor") {
  const auto end = batchcast::testing::in_child([] {
    ::close(0);
    const rlimit three{3, 3};
    if (::setrlimit(RLIMIT_NOFILE, &three) != 0) return 1;
    const FileDescriptor none = opened();
    return !none && errno == EMFILE && !is_open(0) ? 0 : 2;
  });
  CHECK(end.exited_with(0));
}

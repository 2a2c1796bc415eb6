// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/try_write.hpp>

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/inline.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>

namespace batchcast::inline v0_1::detail {
namespace try_write_parts {

/// Whether `fd` takes at least PIPE_BUF bytes at once, if it is a pipe.
inline bool has_room(int fd) noexcept {
  pollfd asked{fd, POLLOUT, 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLOUT | POLLERR)) == POLLOUT;
}

/// Opens the pipe that `fd` refers to once more, with flags that no other process shares.
inline FileDescriptor opened_again(int fd) noexcept {
  std::array<char, 48> path{};
  static_cast<void>(std::snprintf(path.data(), path.size(), "/proc/thread-self/fd/%d", fd));
  return FileDescriptor(::open(path.data(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

/// `write` takes a part of the text, and returns how many of its bytes were written.
template <class Write>
bool write_parts(std::string_view text, std::size_t part_max, Write&& write) noexcept {
  while (!text.empty()) {
    const ssize_t bytes = write(text.substr(0, part_max));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

}  // namespace try_write_parts

BATCHCAST_INLINE bool try_write(int fd, std::string_view text) noexcept {
  namespace parts = try_write_parts;
  struct stat status;
  if (::fstat(fd, &status) != 0) return false;
  if (S_ISSOCK(status.st_mode)) {
    return parts::write_parts(text, text.size(), [fd](std::string_view part) {
      return ::send(fd, part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    });
  }
  if (S_ISREG(status.st_mode)) {
    return parts::write_parts(text, text.size(), [fd](std::string_view part) {
      return ::write(fd, part.data(), part.size());
    });
  }
  const FileDescriptor own = S_ISFIFO(status.st_mode) ? parts::opened_again(fd) : FileDescriptor();
  const int to = own ? own.get() : fd;
  return parts::write_parts(text, PIPE_BUF, [to](std::string_view part) -> ssize_t {
    return parts::has_room(to) ? ::write(to, part.data(), part.size()) : 0;
  });
}

}  // namespace batchcast::inline v0_1::detail

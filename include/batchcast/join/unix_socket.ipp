// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/unix_socket.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE FileIdentity identity_at(const std::string& path) noexcept {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

BATCHCAST_INLINE void check_socket_path(const std::string& path) {
  if (path.size() <= limits::socket_path_bytes_max) return;
  throw InvalidArgument(
      text("batchcast: the socket path {} takes {} bytes, and a socket's may take {}. Set "
           "BATCHCAST_DIR to a shorter directory, or shorten the stream's name.",
           path, path.size(), limits::socket_path_bytes_max));
}

BATCHCAST_INLINE sockaddr_un socket_address(const std::string& path) {
  check_socket_path(path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

BATCHCAST_INLINE BoundSocket listen_at(const std::string& path, int type, unsigned mode) {
  const sockaddr_un address = socket_address(path);
  const auto fail = [&path](const char* what) {
    throw SystemError(text("batchcast: {} the socket {}", what, path), errno);
  };
  FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("cannot make");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("cannot replace");
  // The file takes the socket's mode less the umask: never wider than asked for, and widened below.
  if (::fchmod(socket.get(), mode) != 0) fail("cannot set the mode of");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("cannot bind");
  }
  if (::chmod(path.c_str(), mode) != 0) fail("cannot set the mode of");
  // A connection waits for all that came before it. A longer queue would let a flood of connections
  // delay the consumers for longer.
  constexpr int waiting_max = 256;
  if (::listen(socket.get(), waiting_max) != 0) fail("cannot listen on");
  const FileIdentity identity = identity_at(path);
  return {std::move(socket), identity};
}

}  // namespace batchcast::inline v0_1

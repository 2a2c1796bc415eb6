// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "join/bound_socket.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/unix_socket.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace batchcast::inline v0_1 {

FileIdentity identity_at(const std::string& path) noexcept {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

BoundSocket listen_at(const std::string& path, int type, unsigned mode) {
  const sockaddr_un address = socket_address(path);
  const auto fail = [&path](const char* what) {
    throw SystemError(text("batchcast: {} the socket {}", what, path), errno);
  };
  FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("cannot make");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("cannot replace");
  // The file takes the socket's mode less the umask: never too wide. It is widened below.
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

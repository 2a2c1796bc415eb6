// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/unix_socket.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>

#include <sys/socket.h>

#include <cstring>

namespace batchcast::inline v0_1 {

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

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "door/listener.hpp"

#include <batchcast/core/limits.hpp>
#include "join/bound_socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace batchcast::inline v0_1 {

DoorListener::DoorListener(std::string path, unsigned mode) : path_(std::move(path)) {
  socket_.hold([&] {
    BoundSocket bound = listen_at(path_, SOCK_SEQPACKET, mode);
    device_ = bound.identity.device;
    inode_ = bound.identity.inode;
    return std::move(bound.socket);
  });
}

bool DoorListener::intact() const noexcept {
  return identity_at(path_) == FileIdentity{device_, inode_};
}

DoorListener::Outcome DoorListener::accept(DoorConnection& connection) {
  while (true) {
    FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      connection = DoorConnection(std::move(socket), limits::consumer_record_bytes_max);
      return Outcome::accepted;
    }
    if (errno == EAGAIN) return Outcome::none;
    if (errno != EINTR && errno != ECONNABORTED) return Outcome::exhausted;
  }
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

// One descriptor from one process of a test to another.
namespace batchcast::testing {

inline sockaddr_un address_of_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// Where descriptors are fetched.
inline FileDescriptor listen_at(const std::string& path) {
  FileDescriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of_socket(path);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 8) != 0) {
    throw SystemError("a test's socket", errno);
  }
  return listener;
}

/// Waits for one who fetches it.
inline void hand_over(const FileDescriptor& listener, int descriptor) {
  const FileDescriptor peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  char byte = 'd';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (::sendmsg(peer.get(), &message, MSG_NOSIGNAL) != 1) {
    throw SystemError("a test's descriptor", errno);
  }
}

inline FileDescriptor fetch_from(const std::string& path) {
  const FileDescriptor peer(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of_socket(path);
  if (::connect(peer.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw SystemError("a test's socket", errno);
  }
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(peer.get(), &message, MSG_CMSG_CLOEXEC) != 1) {
    throw SystemError("a test's descriptor", errno);
  }
  int descriptor = -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) throw Error("no descriptor came");
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return FileDescriptor(descriptor);
}

}  // namespace batchcast::testing

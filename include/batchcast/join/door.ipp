// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/door.hpp>

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>

#include <batchcast/join/unix_socket.hpp>

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace batchcast::inline v0_1 {
namespace detail::door {

inline constexpr std::size_t descriptors_limit = 253;  // SCM_MAX_FD

/// False at the deadline.
inline bool wait_for(int socket, short events, const Deadline& deadline) {
  while (true) {
    const int left_ms = deadline.left_ms();
    pollfd entry{socket, events, 0};
    const int ready = ::poll(&entry, 1, left_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw SystemError("batchcast: cannot wait at the door", errno);
    if (ready == 0 && left_ms >= 0 && deadline.left_ms() == 0) return false;
  }
}

using ControlBuffer = std::array<std::byte, CMSG_SPACE(descriptors_limit * sizeof(int))>;

inline void take_descriptors(msghdr& header, std::vector<FileDescriptor>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace detail::door

BATCHCAST_INLINE DoorConnection::DoorConnection(FileDescriptor socket,
                                                std::size_t receives_max) noexcept
    : socket_(std::move(socket)),
      receives_max_(std::min(receives_max, limits::producer_record_bytes_max)) {}

BATCHCAST_INLINE DoorSend DoorConnection::send(std::string_view text,
                                               std::span<const int> descriptors, int timeout_ms) {
  if (text.size() > limits::producer_record_bytes_max ||
      descriptors.size() > detail::door::descriptors_limit) {
    throw InvalidArgument(batchcast::text(
        "batchcast: a message of {} bytes and {} descriptors does not fit through the door",
        text.size(), descriptors.size()));
  }
  alignas(cmsghdr) detail::door::ControlBuffer control{};
  iovec body{const_cast<char*>(text.data()), text.size()};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  const detail::Deadline deadline(timeout_ms);
  while (::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return DoorSend::closed;
    if (errno != EAGAIN) throw SystemError("batchcast: cannot send through the door", errno);
    if (!detail::door::wait_for(socket_.get(), POLLOUT, deadline)) return DoorSend::timed_out;
  }
  return DoorSend::sent;
}

BATCHCAST_INLINE DoorRead DoorConnection::receive(DoorMessage& message, std::size_t descriptors_max,
                                                  int timeout_ms) {
  const detail::Deadline deadline(timeout_ms);
  bool reset = false;
  std::array<char, limits::producer_record_bytes_max> bytes_read;  // NOLINT: the kernel fills it
  while (true) {
    message.descriptors.clear();
    message.text.clear();
    alignas(cmsghdr) detail::door::ControlBuffer control;  // NOLINT: the kernel fills it
    iovec body{bytes_read.data(), receives_max_};
    msghdr header{};
    header.msg_iov = &body;
    header.msg_iovlen = 1;
    if (descriptors_max > 0) {
      // CMSG_SPACE rounds up, which would let one descriptor more in.
      header.msg_control = control.data();
      header.msg_controllen =
          CMSG_LEN(std::min(descriptors_max, detail::door::descriptors_limit) * sizeof(int));
    }
    const ssize_t bytes = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (bytes < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      // The other side left without reading all that we sent. What it sent can still be read.
      if (error == ECONNRESET && !std::exchange(reset, true)) continue;
      if (error == ECONNRESET || error == ENOTCONN) return DoorRead::closed;
      if (error != EAGAIN) throw SystemError("batchcast: cannot receive at the door", error);
      if (!detail::door::wait_for(socket_.get(), POLLIN, deadline)) return DoorRead::timed_out;
      continue;
    }
    detail::door::take_descriptors(header, message.descriptors);
    message.descriptors_lost = (header.msg_flags & MSG_CTRUNC) != 0;
    if ((header.msg_flags & MSG_TRUNC) != 0) {
      message = {};
      return DoorRead::oversized;
    }
    if (bytes == 0) {  // no message is empty: the kernel says 0 when the other side has left
      message = {};
      return DoorRead::closed;
    }
    message.text.assign(bytes_read.data(), static_cast<std::size_t>(bytes));
    return DoorRead::message;
  }
}

BATCHCAST_INLINE DoorRead DoorConnection::ask(std::string_view text,
                                              std::span<const int> descriptors, DoorMessage& answer,
                                              std::size_t descriptors_max, int timeout_ms) {
  const detail::Deadline deadline(timeout_ms);
  if (send(text, descriptors, timeout_ms) == DoorSend::timed_out) return DoorRead::timed_out;
  return receive(answer, descriptors_max, deadline.left_ms());
}

BATCHCAST_INLINE bool DoorConnection::is_left() const noexcept {
  pollfd entry{socket_.get(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP)) != 0;
}

BATCHCAST_INLINE std::size_t DoorConnection::unread_bytes() const noexcept {
  int bytes = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

BATCHCAST_INLINE void DoorConnection::shutdown() noexcept {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

BATCHCAST_INLINE DoorAttempt connect_door(const std::string& path, int timeout_ms) {
  const sockaddr_un address = socket_address(path);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) throw SystemError("batchcast: cannot make a socket", errno);
  // A nonblocking connect() does not wait for room in the backlog, and neither can poll().
  const int wait_ms = std::max(timeout_ms, 1);
  const timeval limit{wait_ms / 1000, wait_ms % 1000 * 1000L};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    return {DoorAnswer::open, DoorConnection(std::move(socket))};
  }
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return {DoorAnswer::absent, {}};
    case ECONNREFUSED:
    case EPROTOTYPE:
      return {DoorAnswer::unserved, {}};
    case EAGAIN:
    case EINTR:
      return {DoorAnswer::crowded, {}};
    case EACCES:
    case EPERM:
      return {DoorAnswer::denied, {}};
    default:
      throw SystemError(text("batchcast: cannot connect to {}", path), errno);
  }
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/door.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace batchcast::inline v0_1 {
namespace detail::peer {

// asm-generic's number, from Linux 6.5 on; missing from Debian 12's headers.
inline constexpr int so_peerpidfd = 77;

/// The pid that the kernel shows for a pidfd: -1 if its process is gone, 0 if no namespace that we
/// see has it. Nothing for a descriptor of another kind.
inline std::optional<std::int32_t> pid_of(const FileDescriptor& fd) {
  const std::string path = text("/proc/self/fdinfo/{}", fd.get());
  const FileDescriptor info(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!info) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t bytes = ::read(info.get(), text.data(), text.size() - 1);
  if (bytes <= 0) return std::nullopt;
  constexpr std::string_view key = "\nPid:\t";
  const std::string_view all(text.data(), static_cast<std::size_t>(bytes));
  const std::size_t at = all.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::int32_t pid = 0;
  const char* digits = all.data() + at + key.size();
  if (std::from_chars(digits, all.data() + all.size(), pid).ec != std::errc{}) return std::nullopt;
  return pid;
}

}  // namespace detail::peer

BATCHCAST_INLINE PeerIdentity peer_identity(const DoorConnection& connection, PidfdSource source) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (::getsockopt(connection.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) !=
      0) {
    throw SystemError("batchcast: cannot tell which process is at the door", errno);
  }
  PeerIdentity peer{credentials.uid, credentials.pid, {}};
  if (source == PidfdSource::from_hello) return peer;
  int fd = -1;
  bytes = sizeof fd;
  if (::getsockopt(connection.native_handle(), SOL_SOCKET, detail::peer::so_peerpidfd, &fd,
                   &bytes) == 0) {
    peer.pidfd = FileDescriptor(fd);
  } else if (errno == EMFILE || errno == ENFILE) {
    throw SystemError("batchcast: no file descriptor free to watch a consumer", errno);
  }
  return peer;
}

BATCHCAST_INLINE std::optional<std::string> adopt_pidfd(PeerIdentity& peer,
                                                        FileDescriptor offered) {
  const std::optional<std::int32_t> pid = detail::peer::pid_of(offered);
  if (!pid) return "the descriptor that came with the hello is no pidfd";
  if (*pid < 0) return "the process that came with the hello is gone";
  if (peer.pid > 0 && *pid != peer.pid) {
    return text("the pidfd that came with the hello is of process {}, and the hello of process {}",
                *pid, peer.pid);
  }
  peer.pidfd = std::move(offered);
  return std::nullopt;
}

BATCHCAST_INLINE FileDescriptor own_pidfd() {
  FileDescriptor fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!fd) {
    throw SystemError("batchcast: cannot open this process's pidfd (Linux 5.4 or newer is needed)",
                      errno);
  }
  return fd;
}

BATCHCAST_INLINE bool is_dead(const FileDescriptor& pidfd) noexcept {
  pollfd entry{pidfd.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0;
}

}  // namespace batchcast::inline v0_1

// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/listening.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

namespace batchcast::inline v0_1::metrics {
namespace {

constexpr int systemd_first = 3;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const noexcept { ::freeaddrinfo(addresses); }
};

template <class Number>
std::optional<Number> number_in(std::string_view text) noexcept {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

std::string shown(const ListenAddress& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return text("{}{}{}:{}", is_v6 ? "[" : "", printable(address.host), is_v6 ? "]" : "",
              address.port);
}

FileDescriptor listen_on(const addrinfo& one, const ListenAddress& address) {
  FileDescriptor socket(::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw SystemError("batchcast: cannot make a socket", errno);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), one.ai_addr, one.ai_addrlen) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0) {
    return socket;
  }
  const int reason = errno;
  if (reason == EADDRINUSE) {
    throw SystemError(text("batchcast: the port {} of {} is taken by another process. Port 0 takes "
                           "one that is free",
                           address.port, printable(address.host)),
                      reason);
  }
  throw SystemError(text("batchcast: cannot listen at {}", shown(address)), reason);
}

std::string url_of_port(const char* host, in_port_t port) {
  return text("http://{}:{}", host, ntohs(port));
}

}  // namespace

ListenAddress parse_listen_address(std::string_view given) {
  const auto refuse = [&](const char* why) -> InvalidArgument {
    return InvalidArgument(
        text("batchcast: --listen {}: {}. Write ADDRESS:PORT, such as 127.0.0.1:9764, or [::1]:0 "
             "for a port that is free.",
             printable(given), why));
  };
  const std::size_t colon = given.rfind(':');
  if (colon == std::string_view::npos) throw refuse("there is no port");
  const auto port = number_in<std::uint16_t>(given.substr(colon + 1));
  if (!port) throw refuse("the port is no number from 0 to 65535");
  std::string_view host = given.substr(0, colon);
  const bool in_brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  if (host.empty()) throw refuse("there is no address");
  if (!in_brackets && host.find(':') != std::string_view::npos) {
    throw refuse("an IPv6 address stands in brackets");
  }
  return {std::string(host), *port};
}

FileDescriptor listen_at(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    throw InvalidArgument(text("batchcast: --listen {}: `{}` is no address of this machine: {}.",
                               shown(address), printable(address.host), ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  return listen_on(*addresses, address);
}

std::optional<FileDescriptor> socket_from_systemd() {
  const char* const pid = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr) return std::nullopt;
  const auto for_process = number_in<int>(pid);
  const auto sockets = number_in<int>(count);
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  if (for_process != ::getpid() || !sockets || *sockets < 1) return std::nullopt;
  if (*sockets != 1) {
    throw InvalidArgument(
        text("batchcast: systemd gave {} sockets; this takes one. Leave one "
             "ListenStream in the socket's unit.",
             *sockets));
  }
  FileDescriptor socket(systemd_first);
  int listens = 0;
  int type = 0;
  socklen_t size = sizeof listens;
  const bool is_ready =
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
      ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
  if (!is_ready) {
    throw InvalidArgument(
        "batchcast: the descriptor from systemd is no socket that listens. The socket's unit needs "
        "ListenStream and Accept=no.");
  }
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return socket;
}

std::string url_of(const FileDescriptor& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw SystemError("batchcast: cannot ask a socket for its address", errno);
  }
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    if (v4.sin_addr.s_addr == INADDR_ANY) return url_of_port("127.0.0.1", v4.sin_port);
    ::inet_ntop(AF_INET, &v4.sin_addr, host.data(), host.size());
    return url_of_port(host.data(), v4.sin_port);
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) return url_of_port("[::1]", v6.sin6_port);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host.data(), host.size());
    return url_of_port(text("[{}]", host.data()).c_str(), v6.sin6_port);
  }
  const auto& of_unix = reinterpret_cast<const sockaddr_un&>(address);
  return text("unix:{}", printable(of_unix.sun_path));
}

}  // namespace batchcast::inline v0_1::metrics

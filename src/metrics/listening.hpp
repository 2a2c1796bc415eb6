// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Where a server listens.
namespace batchcast::inline v0_1::metrics {

/// `127.0.0.1:9764`, `[::1]:0` or `localhost:9764`. Port 0: one that is free.
struct ListenAddress {
  std::string host = {};
  std::uint16_t port = 0;
};
/// Throws InvalidArgument, whose text shows how an address is written.
[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

/// A socket that listens. Throws InvalidArgument where the host is no address of this machine, and
/// SystemError where the port is taken or may not be had.
[[nodiscard]] FileDescriptor listen_at(const ListenAddress& address);

/// The socket that systemd has opened for this process, if it has: by LISTEN_PID and LISTEN_FDS,
/// which are removed from the environment. Throws InvalidArgument where there are several, or where
/// it does not listen for a stream of bytes. Before any thread is made.
[[nodiscard]] std::optional<FileDescriptor> socket_from_systemd();

/// `http://127.0.0.1:38211`, for a browser on this machine: a socket that listens everywhere is
/// reached by the loopback. Of a Unix socket `unix:PATH`.
[[nodiscard]] std::string url_of(const FileDescriptor& listening);

}  // namespace batchcast::inline v0_1::metrics
